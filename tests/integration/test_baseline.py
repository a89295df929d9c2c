"""The baseline, restored from its dump, and a later release that brings it over.

The later release is the package itself with a core migration and two family migrations more. Every
migration that the tree has since the baseline runs here, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from idetic import Idetic
from idetic.context import shipped_contexts
from idetic.store.connect import admin_connection
from idetic.store.upgrade import run_upgrade
from tests.conftest import TestDatabase
from tests.support import baseline_dump, freeze
from tests.support.baseline_dump import AGENTS, BASELINE, DOMAIN, NOTES, ORG
from tests.support.later_release import CORE, FAMILY, LAST, VERSION, LaterRelease
from tests.support.logins import login
from tests.support.schema_lines import schema_lines
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio
SCOPE = ("--agent", "world_agent", "--anchor", f"org_id={ORG}", "--anchor", f"domain_id={DOMAIN}")
# Whoever sets Idetic up becomes a member of all its roles.
ROLES = (
    "idetic_owner, idetic_app, idetic_guard, idetic_curator, idetic_auditor, idetic_keeper, "
    "idetic_worker, idetic_keys, idetic_mover, idetic_actor, idetic_subconscious, idetic_steward"
)
# What a part of a schema is called that a migration has to bring, and nothing else would.
BROUGHT = ("later_by", "later_at", "later_name", "idetic.later_v1", "claim_idx", "memory_current")


def of_core(database: TestDatabase) -> str:
    """The last core migration."""
    with psycopg.connect(database.admin_dsn) as connection:
        found = connection.execute(
            "SELECT name FROM idetic.migrations ORDER BY number DESC LIMIT 1"
        ).fetchone()
    return str(found and found[0])


def of_families(database: TestDatabase) -> list[tuple[str, str]]:
    """The later release's migrations that each family has."""
    with psycopg.connect(database.admin_dsn) as connection:
        return connection.execute(
            """SELECT agent, name FROM idetic.family_migrations
               WHERE name = ANY (%s) ORDER BY agent, number""",
            ([FAMILY, LAST],),
        ).fetchall()


@pytest.fixture
def later(tmp_path: Path) -> LaterRelease:
    return LaterRelease(tmp_path)


@pytest.fixture
def baseline(empty_database: TestDatabase) -> TestDatabase:
    baseline_dump.restore(empty_database.admin_dsn)
    return empty_database


@pytest.fixture
def new_database(server: TestServer) -> Iterator[TestDatabase]:
    """A second one, to compare with."""
    name = f"test_{uuid4().hex}"
    server.create(name)
    yield TestDatabase(server.dsn(user="idetic_app", dbname=name), server.dsn(dbname=name))
    server.drop(name)


def test_the_dump_is_what_the_baseline_froze(baseline: TestDatabase) -> None:
    """It stays as it is: whatever comes later has to lead on from there."""
    frozen = freeze.frozen()[BASELINE]
    with psycopg.connect(baseline.admin_dsn) as connection:
        core = connection.execute("SELECT name, digest FROM idetic.migrations").fetchall()
        made = connection.execute(
            """SELECT agent, kind || ' ' || name, digest FROM idetic.compiled_objects
               WHERE kind IN ('table', 'index')"""
        ).fetchall()
    assert dict(core) == frozen["core"]
    for agent in AGENTS:
        assert {name: digest for of, name, digest in made if of == agent} == frozen["tables"][agent]


async def test_this_release_leads_from_the_baseline_to_the_schema_of_a_new_database(
    baseline: TestDatabase, new_database: TestDatabase
) -> None:
    """If it does not: a table, an index or a function changed or went, and no migration says so."""
    async with admin_connection(baseline.admin_dsn) as connection:
        await run_upgrade(
            connection, shipped_contexts(), by="a test", at=datetime.now(UTC), say=print
        )
    async with Idetic.open(new_database.dsn, admin_dsn=new_database.admin_dsn) as db:
        for agent in AGENTS:
            await db.agent(agent)
    assert schema_lines(baseline.admin_dsn) == schema_lines(new_database.admin_dsn)


def test_every_later_migration_leads_from_the_baseline_to_the_schema_of_a_new_database(
    baseline: TestDatabase, new_database: TestDatabase, later: LaterRelease
) -> None:
    old = schema_lines(baseline.admin_dsn)
    done = later.run(baseline, "upgrade", "--yes")
    assert (done.code, done.err) == (0, "")
    assert later.run(new_database, "upgrade").code == 0
    for agent in AGENTS:
        assert later.run(new_database, "spec", "apply", agent).code == 0

    assert schema_lines(baseline.admin_dsn) == schema_lines(new_database.admin_dsn)
    changed = set(schema_lines(baseline.admin_dsn)) ^ set(old)
    assert [part for part in BROUGHT if not any(part in line for line in changed)] == []
    assert of_families(baseline) == [(agent, name) for agent in AGENTS for name in (FAMILY, LAST)]
    assert of_families(baseline) == of_families(new_database), "a new family has all at once"

    with psycopg.connect(baseline.admin_dsn) as connection:
        rows = connection.execute(
            "SELECT later_by, created_by FROM worlds.world_agent_memory"
        ).fetchall()
    assert rows
    assert all(later_by == created_by for later_by, created_by in rows)
    listed = later.run(baseline, "list", *SCOPE, "--as", "operator:ada")
    assert all(note in listed.out for note in NOTES)
    written = later.run(baseline, "observe", "The day desk is quick.", *SCOPE, "--as", "agent:a")
    assert (written.code, written.err) == (0, "")
    verified = later.run(baseline, "verify", *SCOPE, "--as", "auditor:eve")
    assert (verified.code, verified.err) == (0, "")

    again = later.run(baseline, "upgrade", "--json")
    assert (again.json()["empty"], again.json()["upgraded"]) == (True, False)
    assert later.run(baseline, "upgrade").out.splitlines()[-1] == "Nothing to do."


def test_an_admin_login_that_row_level_security_binds_fills_every_row(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    with owner_of(baseline) as bound:
        done = later.run(bound, "upgrade", "--yes")
    assert (done.code, done.err) == (0, "")
    with psycopg.connect(baseline.admin_dsn) as connection:
        found = connection.execute(
            """SELECT DISTINCT m.later_by = m.created_by, c.relforcerowsecurity
               FROM worlds.world_agent_memory m JOIN pg_class c ON c.oid = m.tableoid"""
        ).fetchall()
    assert found == [(True, True)]


def test_rows_that_such_a_login_does_not_see_stop_it_and_are_not_passed_over(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    """The migration does not say that it alters this table, so row-level security holds there."""
    text = (later.sql / "family_migrations" / FAMILY).read_text("utf-8")
    fill = "UPDATE {family}_memory_anchors SET at = at;"
    later.write(f"family_migrations/{FAMILY}", text + fill)
    with owner_of(baseline) as bound:
        stopped = later.run(bound, "upgrade", "--yes", "--json")
    assert (stopped.code, stopped.error()["code"]) == (6, "upgrade_stopped")
    assert "row-level security" in stopped.error()["message"]
    assert later.run(baseline, "upgrade", "--yes").code == 0, "control: a superuser sees them all"


@contextmanager
def owner_of(database: TestDatabase) -> Iterator[TestDatabase]:
    """The same database, administered by a login that owns it and is no superuser."""
    about = conninfo_to_dict(database.admin_dsn)
    name = sql.Identifier(str(about["dbname"]))
    change = sql.SQL("ALTER DATABASE {} OWNER TO {}")
    with (
        login(database, "IN ROLE " + ROLES) as (role, dsn),
        psycopg.connect(database.admin_dsn, autocommit=True) as admin,
    ):
        admin.execute(change.format(name, sql.Identifier(role)))
        try:
            yield TestDatabase(database.dsn, dsn)
        finally:
            admin.execute(change.format(name, sql.SQL("CURRENT_USER")))
            made = schema_lines(database.admin_dsn)
            admin.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
            assert schema_lines(database.admin_dsn) == made, "nothing stayed the login's own"


def test_an_older_database_is_refused_by_a_later_release_until_it_is_upgraded(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    before = schema_lines(baseline.admin_dsn)
    look = ("list", *SCOPE, "--as", "operator:ada", "--json")
    refused = later.run(baseline, *look)
    assert (refused.code, refused.error()["code"]) == (6, "upgrade_needed")
    assert "idetic upgrade" in refused.error()["remedy"]
    checked = later.run(baseline, "doctor", "--json")
    (found,) = (c for c in checked.json()["checks"] if c["name"] == "database")
    assert (checked.code, "older Idetic" in found["found"]) == (1, True)
    planned = later.run(baseline, "upgrade", "--plan").out.splitlines()
    assert planned[0] == f"Idetic {VERSION}"
    assert f"  migrate {CORE}" in planned
    assert f"  migrate {LAST}" in planned
    silent = later.run(baseline, "upgrade")
    assert (silent.code, "--yes" in silent.err) == (2, True)
    assert schema_lines(baseline.admin_dsn) == before

    assert later.run(baseline, "upgrade", "--yes").code == 0
    assert later.run(baseline, *look).code == 0, "control"


def stopped_by(baseline: TestDatabase, later: LaterRelease, fault: str) -> str:
    """What an upgrade says that a fault in its last migration stops; the fault is gone after it."""
    whole = (later.sql / "family_migrations" / LAST).read_text("utf-8")
    later.write(f"family_migrations/{LAST}", whole + fault)
    stopped = later.run(baseline, "upgrade", "--yes", "--json")
    assert stopped.code == 6
    assert of_core(baseline) == CORE
    assert of_families(baseline) == [(AGENTS[0], FAMILY)], "all before it stands, and nothing of it"
    later.write(f"family_migrations/{LAST}", whole)
    return str(stopped.error()["code"])


def goes_on(baseline: TestDatabase, later: LaterRelease) -> None:
    """It does what is left, and nothing once more."""
    done = later.run(baseline, "upgrade", "--yes", "--json").json()["done"]
    assert done[0] == f"{AGENTS[0]}: {LAST}"
    assert not any(CORE in line or "set up" in line for line in done)
    assert len(of_families(baseline)) == 2 * len(AGENTS)


def test_an_upgrade_that_stops_goes_on_where_it_was(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    assert stopped_by(baseline, later, "SELECT 1 / 0;") == "upgrade_stopped"
    # No agent opens: one has the first of two migrations, the others none.
    for agent in AGENTS:
        refused = later.run(baseline, "spec", "apply", agent, "--yes", "--json")
        assert refused.error()["code"] == "upgrade_needed"
        assert LAST in refused.error()["message"]
    looked = later.run(baseline, "list", *SCOPE, "--as", "operator:ada", "--json")
    assert looked.error()["code"] == "upgrade_needed"
    checked = later.run(baseline, "doctor", "--json").json()["checks"]
    assert {c["name"]: c["verdict"] for c in checked}["versions"] == "bad"
    goes_on(baseline, later)
    assert later.run(baseline, "upgrade", "--json").json()["empty"]
    assert later.run(baseline, "verify", *SCOPE, "--as", "auditor:eve").code == 0


def test_one_that_loses_its_connection_goes_on_too(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    lost = stopped_by(baseline, later, "SELECT pg_terminate_backend(pg_backend_pid());")
    assert lost == "database_unavailable"
    goes_on(baseline, later)


def test_a_later_release_may_change_a_frozen_table_that_its_migration_alters(
    later: LaterRelease,
) -> None:
    assert later.frozen_problems() == []
    (later.sql / "family_migrations" / LAST).unlink()
    wrong = later.frozen_problems()
    assert wrong, "control"
    assert all("_refs of " in each and "-- alters: table " in each for each in wrong)


def test_two_that_upgrade_at_once_do_each_thing_once(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    both = later.run_all(baseline, [("upgrade", "--yes", "--json")] * 2)
    assert [ran.code for ran in both] == [0, 0], [ran.err for ran in both]
    done = [line for ran in both for line in ran.json()["done"]]
    migrated = [line for line in done if line.endswith((CORE, FAMILY, LAST))]
    assert len(migrated) == len(set(migrated)) == 1 + 2 * len(AGENTS)
    assert later.run(baseline, "upgrade", "--json").json()["empty"]


def test_a_table_that_no_migration_accounts_for_is_refused_before_anything_is_done(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    (later.sql / "family_migrations" / LAST).unlink()
    before = schema_lines(baseline.admin_dsn)
    refused = later.run(baseline, "upgrade", "--yes", "--json")
    assert (refused.code, refused.error()["code"]) == (5, "plan_refused")
    assert "world_agent_memory_rule_refs" in refused.error()["message"]
    assert schema_lines(baseline.admin_dsn) == before
