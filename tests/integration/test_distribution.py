"""An agent's tables go to Citus as its rules ask: planned anywhere, refused in words, done once.

Citus itself is not here; tests/support/citus_stand_in.sql says what stands in for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from idetic import Idetic, Observation, Principal, errors, open_sync
from idetic.context import Worlds
from idetic.spec.loader import load, shipped
from idetic.store import templates
from idetic.store.connect import set_up
from idetic.store.distribution_plan import Distribution, TablePlace, plan_distribution
from idetic.store.family import Family, families
from tests.conftest import RULE_TEXT, TestDatabase, make_world
from tests.support.citus import placed, roles_kept, stand_in
from tests.support.databases import copy_of
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio

CATALOG = """SELECT n.nspname || '.' || c.relname FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'"""
FOREIGN_KEYS = """SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
    WHERE contype = 'f' AND conrelid <> confrelid"""


def in_place(plan: Distribution, place: TablePlace) -> list[str]:
    return [t.table for t in plan.tables if t.place is place]


@pytest.fixture(autouse=True)
def _roles_of_the_server(server: TestServer, template: str) -> Iterator[None]:
    with roles_kept(server.dsn()):
        yield


@pytest.fixture
def cluster(server: TestServer, template: str) -> Iterator[TestDatabase]:
    """A database of its own with the World Agent, that looks as if it had Citus."""
    with copy_of(server, template) as database:
        stand_in(database)
        yield database


@pytest.fixture
async def on_cluster(cluster: TestDatabase) -> AsyncIterator[Idetic]:
    async with Idetic.open(cluster.dsn, admin_dsn=cluster.admin_dsn) as db:
        yield db


# --- the plan ------------------------------------------------------------------------------------


async def test_every_table_of_every_shipped_agent_has_its_place_and_gets_there(
    db: Idetic, database: TestDatabase
) -> None:
    for name in shipped():
        await db.agent(name)
    plans = {name: await db.distribute(name, dry_run=True) for name in shipped()}
    with psycopg.connect(database.admin_dsn) as connection:
        catalog = {row[0] for row in connection.execute(CATALOG)}
        keys = connection.execute(FOREIGN_KEYS).fetchall()
    assert {t.table for plan in plans.values() for t in plan.tables} == catalog
    for name, plan in plans.items():
        assert (plan.agents, plan.broken, plan.loaded, plan.citus) == ((name,), (), (), False)
        order = in_place(plan, TablePlace.DISTRIBUTED)
        assert len(order) == len(set(order))
        for family in families(load(name)):
            assert {f"{family.schema}.{t}" for t in family.tables()} <= {*order}
        for table, other in keys:
            assert table not in order or order.index(other) < order.index(table)
        own = any(t.startswith("persona_subconscious.") for t in order)
        assert own == (name == "persona_agent"), "both personas go"
        makers = [t for t in plan.tables if t.tenant and t.beside == "none"]
        assert len(makers) == len({t.tenant for t in plan.tables if t.tenant})
        assert all(
            t.startswith(("idetic.", "idetic_jobs.")) for t in in_place(plan, TablePlace.LOCAL)
        )

    stand_in(database)
    for name, plan in plans.items():
        done = await db.distribute(name)
        assert in_place(done, TablePlace.DISTRIBUTED) == in_place(plan, TablePlace.DISTRIBUTED)
    groups = {table.split(".")[0]: group for table, key, group in placed(database) if key}
    assert len(set(groups.values())) == 5
    assert groups["persona_actor"] == groups["persona_subconscious"]


async def test_agents_that_refer_to_the_same_tables_go_together(db: Idetic) -> None:
    data = load("world_agent").as_data()
    data["agent"] = data["backend"]["family"] = "second_agent"
    await db.agent(data)
    plan = await db.distribute("second_agent", dry_run=True)
    assert plan.agents == ("second_agent", "world_agent")
    both = [one for spec in ("world_agent", data) for one in families(load(spec))]
    tables = {f"{family.schema}.{table}" for family in both for table in family.tables()}
    assert tables <= {*in_place(plan, TablePlace.DISTRIBUTED)}


def test_it_can_be_planned_without_an_event_loop(database: TestDatabase) -> None:
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        assert db.distribute("world_agent", dry_run=True).pending


# --- the rules -----------------------------------------------------------------------------------

RULE = "CONSTRAINT t_rule FOREIGN KEY (org_id, rule_id) REFERENCES worlds.rules"
COLUMNS = "id uuid NOT NULL, rule_id uuid"
KEPT = "CONSTRAINT t_pk PRIMARY KEY (org_id, id)"


def host(org_id: str = "org_id uuid NOT NULL", *parts: str, rule: str = RULE) -> str:
    return f"CREATE TABLE host.t ({', '.join((org_id, COLUMNS, *parts, rule))});"


GOOD = host("org_id uuid NOT NULL", KEPT)
OTHER = "CREATE TABLE host.u (org_id uuid NOT NULL, id uuid NOT NULL, PRIMARY KEY (org_id, id));"
BREAKS: dict[str, tuple[str, set[str]]] = {
    "nothing": (GOOD, set()),
    "restrict an update": (host(rule=f"{KEPT}, {RULE} ON UPDATE RESTRICT"), set()),
    "no tenant": (
        "CREATE TABLE host.lookup (id uuid PRIMARY KEY);"
        + host("org_id uuid NOT NULL", KEPT, "look_id uuid REFERENCES host.lookup"),
        {"host.lookup tenant_column"},
    ),
    "a type of its own": (
        "CREATE DOMAIN host.org AS uuid;" + host("org_id host.org NOT NULL", KEPT),
        {"host.t tenant_type"},
    ),
    "a nullable tenant": (host("org_id uuid"), {"host.t tenant_null", "host.t primary_key"}),
    "a generated tenant": (
        host("src uuid, org_id uuid GENERATED ALWAYS AS (src) STORED", KEPT),
        {"host.t tenant_generated"},
    ),
    "no primary key": (host(), {"host.t primary_key"}),
    "another first column": (
        host("org_id uuid NOT NULL", "PRIMARY KEY (id, org_id)"),
        {"host.t key_lead"},
    ),
    "a unique index": (GOOD + "CREATE UNIQUE INDEX ON host.t (lower(id::text));",
                       {"host.t key_lead"}),
    "an exclusion": (GOOD + "ALTER TABLE host.t ADD EXCLUDE USING gist (id WITH =);",
                     {"host.t key_lead"}),
    "a foreign key by id": (
        OTHER + "CREATE UNIQUE INDEX u_id ON host.u (id);"
        + host("org_id uuid NOT NULL", KEPT, "u_id uuid REFERENCES host.u (id)"),
        {"host.t foreign_lead", "host.u key_lead"},
    ),
    "set null": (host(rule=f"{KEPT}, {RULE} ON DELETE SET NULL (rule_id)"),
                 {"host.t foreign_action"}),
    "cascade an update": (host(rule=f"{KEPT}, {RULE} ON UPDATE CASCADE"),
                          {"host.t foreign_action"}),
    "deferrable": (host(rule=f"{KEPT}, {RULE} DEFERRABLE"), {"host.t foreign_action"}),
    "a policy that asks": (
        GOOD + "CREATE POLICY p ON host.t USING (EXISTS (TABLE worlds.worlds));",
        {"host.t policy_subquery"},
    ),
    "a trigger that always fires": (
        GOOD + "CREATE TRIGGER always BEFORE DELETE ON host.t FOR EACH ROW EXECUTE FUNCTION"
        " idetic.refuse_change_v1(); ALTER TABLE host.t ENABLE ALWAYS TRIGGER always;",
        {"host.t trigger_always"},
    ),
    "a circle": (
        OTHER + host("org_id uuid NOT NULL", KEPT, "u_id uuid",
                     "FOREIGN KEY (org_id, u_id) REFERENCES host.u")
        + "ALTER TABLE host.u ADD t_id uuid, ADD FOREIGN KEY (org_id, t_id) REFERENCES host.t;",
        {"host.t cycle"},
    ),
    "a table that is gone": (
        "ALTER TABLE worlds.world_agent_memory_marks RENAME TO gone;",
        {"worlds.world_agent_memory_marks missing"},
    ),
}  # fmt: skip


async def test_a_broken_rule_is_found_by_table_with_a_remedy(database: TestDatabase) -> None:
    """Each in a transaction that is undone, on one database."""
    specs = {"world_agent": load("world_agent")}
    async with await psycopg.AsyncConnection.connect(database.admin_dsn) as connection:
        for about, (ddl, rules) in BREAKS.items():
            await connection.execute(f"CREATE SCHEMA host; {ddl}".encode())
            plan = await plan_distribution(connection, "world_agent", specs)
            found = {f"{b.table} {b.rule}" for b in plan.broken}
            # A circle has no beginning: either of its tables may be told.
            assert found == rules or (found == {"host.u cycle"} and about == "a circle"), about
            assert all("{" not in b.message + b.remedy and b.remedy for b in plan.broken)
            assert ("host.t" in in_place(plan, TablePlace.DISTRIBUTED)) == ("gone" not in about), (
                about
            )
            await connection.rollback()


# --- refusals ------------------------------------------------------------------------------------


async def test_a_server_without_citus_is_told_apart(db: Idetic) -> None:
    with pytest.raises(errors.DatabaseUnsupported, match="no Citus") as caught:
        await db.distribute("world_agent")
    assert "move-to-citus" in caught.value.remedy


async def test_an_agent_that_is_not_held_is_told_so(db: Idetic) -> None:
    unknown: list[Any] = ["nobody", "", "a\x00b", "\ud800", "x" * 100_000, None, 5]
    for agent in unknown:
        with pytest.raises((errors.SpecNotFound, errors.InputError)) as caught:
            await db.distribute(agent)
        assert len(str(caught.value)) < 500


async def test_tables_with_rows_are_refused_by_name(
    on_cluster: Idetic, cluster: TestDatabase
) -> None:
    org_id = uuid4()
    worlds = Worlds(on_cluster)
    await worlds.put_rule(org_id, await worlds.register(org_id, uuid4(), "Payments"), RULE_TEXT)
    with pytest.raises(errors.DistributionRefused, match=r"worlds\.rules") as caught:
        await on_cluster.distribute("world_agent")
    assert "--section=pre-data" in caught.value.remedy
    assert RULE_TEXT not in str(caught.value)
    assert placed(cluster) == []


async def test_a_broken_rule_is_refused_with_every_problem(
    on_cluster: Idetic, cluster: TestDatabase
) -> None:
    with psycopg.connect(cluster.admin_dsn) as connection:
        connection.execute(f"CREATE SCHEMA host; {host()}".encode())
    with pytest.raises(errors.DistributionRefused, match=r"host\.t: It has no primary") as caught:
        await on_cluster.distribute("world_agent")
    (problem,) = caught.value.detail["problems"]
    assert problem["path"] == "host.t"
    assert placed(cluster) == []


@pytest.mark.parametrize("asked", [True, False], ids=["protected", "sabotaged"])
async def test_rows_that_a_login_cannot_see_are_not_taken_for_none(
    db: Idetic, database: TestDatabase, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    """The owner is bound by row-level security too; without the setting tables look empty to it."""
    world = await make_world(db, await db.agent("world_agent"))
    await world.operator.prefer("Ask before a transfer is released.")
    if not asked:
        original = templates.query
        monkeypatch.setattr(
            templates, "query", lambda f, q: "SELECT" if q == "see_all" else original(f, q)
        )
    with login_of(database, "IN ROLE idetic_owner") as login:
        async with Idetic.open(database.dsn, admin_dsn=login) as other:
            if asked:
                with pytest.raises(errors.DatabaseUnsupported, match="see every row"):
                    await other.distribute("world_agent", dry_run=True)
            else:
                plan = await other.distribute("world_agent", dry_run=True)
                assert "worlds.world_agent_memory" not in plan.loaded


async def test_a_login_that_owns_nothing_is_told_what_it_lacks(
    on_cluster: Idetic, cluster: TestDatabase
) -> None:
    await on_cluster.apply("world_agent")
    with login_of(cluster, "BYPASSRLS IN ROLE pg_read_all_data") as login:
        async with Idetic.open(cluster.dsn, admin_dsn=login) as other:
            with pytest.raises(errors.DatabaseUnsupported, match=r"distribute idetic\.api_keys"):
                await other.distribute("world_agent")
    assert placed(cluster) == []


@contextmanager
def login_of(database: TestDatabase, rights: LiteralString) -> Iterator[str]:
    """An admin login that has these rights and no more."""
    role, password = f"admin_{uuid4().hex}", uuid4().hex
    made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} " + rights)
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        connection.execute(made.format(sql.Identifier(role), password))
        yield make_conninfo(database.admin_dsn, user=role, password=password)
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


# --- doing it ------------------------------------------------------------------------------------


async def test_it_is_done_in_order_once_and_memory_works_after(
    on_cluster: Idetic, cluster: TestDatabase
) -> None:
    assert not (await on_cluster.plan("world_agent")).empty
    plan = await on_cluster.distribute("world_agent")
    done = placed(cluster)
    assert [table for table, _, _ in done] == [t.table for t in plan.pending]
    assert {(key, group) for _, key, group in done if key} == {("org_id", 10_000)}
    # The compiler has seen Citus: what does not run there is replaced.
    assert (await on_cluster.plan("world_agent")).empty

    again = await on_cluster.distribute("world_agent")
    assert (again.pending, again.statements) == ((), ())
    assert all(t.done for t in again.tables if t.place is not TablePlace.LOCAL)
    assert placed(cluster) == done

    world = await make_world(on_cluster, await on_cluster.agent("world_agent"))
    async with world.memory.session() as session, session.interaction() as turn:
        await turn.observe_many([Observation(f"Note {n}.") for n in range(3)])
    assert (await world.bind(Principal.auditor("eve")).verify()).intact
    # Rows in tables that are distributed already are in no one's way.
    assert (await on_cluster.distribute("world_agent")).loaded == ()


WORKER_IS_GONE = (
    """CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'no worker answers' USING ERRCODE = '08006'; END $$""",
    """CREATE TRIGGER gone BEFORE INSERT ON pg_dist_partition FOR EACH ROW
       WHEN (NEW.logicalrelid = 'worlds.rules'::regclass) EXECUTE FUNCTION gone()""",
)


async def test_what_citus_refuses_leaves_nothing_and_can_be_tried_again(
    on_cluster: Idetic, cluster: TestDatabase
) -> None:
    with psycopg.connect(cluster.admin_dsn, autocommit=True) as connection:
        for line in WORKER_IS_GONE:
            connection.execute(line)
        with pytest.raises(errors.DistributionRefused, match=r"worlds\.rules: no worker") as caught:
            await on_cluster.distribute("world_agent")
        assert "SELECT" not in str(caught.value)
        assert placed(cluster) == []
        connection.execute("DROP TRIGGER gone ON pg_dist_partition")
    assert (await on_cluster.distribute("world_agent")).pending


async def test_what_is_distributed_already_takes_the_others_in(
    on_cluster: Idetic, cluster: TestDatabase
) -> None:
    place = "INSERT INTO pg_dist_partition VALUES ('worlds.rules', 'h', {}, 7, 's')"
    with psycopg.connect(cluster.admin_dsn, autocommit=True) as connection:
        # Rules refer to worlds, so those have to come first: by hand, nobody would be asked.
        connection.execute(sql.SQL(place).format("rule_id"))
        with pytest.raises(errors.DistributionRefused, match="in the group of the others"):
            await on_cluster.distribute("world_agent")
        connection.execute("TRUNCATE pg_dist_partition")
        connection.execute(sql.SQL(place).format("org_id"))
    await on_cluster.distribute("world_agent")
    assert {group for _, key, group in placed(cluster) if key} == {7}


async def test_what_is_applied_later_is_distributed_with_the_rest(
    on_cluster: Idetic, cluster: TestDatabase
) -> None:
    """Another agent, whose tables are filled from rules that are there, and then a changed spec."""
    await on_cluster.distribute("world_agent")
    await make_world(on_cluster, await on_cluster.agent("world_agent"))
    data = load("world_agent").as_data()
    data["agent"] = data["backend"]["family"] = "second_agent"
    agent = await on_cluster.agent(data)
    tables = {f"worlds.{table}" for table in Family(load(data)).tables()}
    assert tables <= {table for table, key, _ in placed(cluster) if key}
    assert (await on_cluster.plan(data)).empty
    with psycopg.connect(cluster.admin_dsn) as connection:
        prints = connection.execute("SELECT count(*) FROM worlds.second_agent_rule_prints")
        assert prints.fetchone() != (0,)
        # A function that is made anew is known to no node.
        connection.execute("DELETE FROM pg_dist_object")
        connection.execute("DELETE FROM idetic.compiled_objects WHERE kind = 'function'")
    await on_cluster.agent(agent.spec, apply=True)
    with psycopg.connect(cluster.admin_dsn) as connection:
        known = connection.execute(
            "SELECT count(*) FROM pg_dist_object WHERE distribution_argument_index IS NOT NULL"
        )
        assert known.fetchone() != (0,)


async def test_control_on_a_plain_server_nothing_is_distributed(
    db: Idetic, database: TestDatabase
) -> None:
    await db.apply("world_agent")
    with psycopg.connect(database.admin_dsn) as connection:
        assert connection.execute("SELECT to_regclass('pg_dist_partition')").fetchone() == (None,)


async def test_roles_that_are_here_already_are_made_known_to_every_node(
    empty_database: TestDatabase,
) -> None:
    stand_in(empty_database)
    await set_up(empty_database.admin_dsn)
    with psycopg.connect(empty_database.admin_dsn) as connection:
        # The function that took them along is gone again; that it was distributed is on record.
        found = connection.execute(
            """SELECT count(*) FROM pg_dist_object o LEFT JOIN pg_proc p ON p.oid = o.objid
               WHERE p.oid IS NULL AND o.classid = 'pg_proc'::regclass"""
        ).fetchone()
        assert found == (1,)
        assert connection.execute("SELECT to_regprocedure('idetic.roles_v1()')").fetchone() == (
            None,
        )
