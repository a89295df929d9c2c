"""A database and the release that opens it: it fits, or it is refused and `upgrade` mends that.

The later release is the package itself with a core migration and two family migrations more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from idetic import Idetic, errors
from idetic.context import shipped_contexts
from idetic.store.connect import admin_connection, set_up
from idetic.store.migrator import digest_of, migrations
from idetic.store.upgrade import plan_upgrade
from tests.conftest import TestDatabase
from tests.support import baseline_dump
from tests.support.baseline_dump import AGENTS, DOMAIN, NOTES, ORG
from tests.support.later_release import CORE, FAMILY, LAST, VERSION, LaterRelease
from tests.support.schema_lines import schema_lines
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio
SCOPE = ("--agent", "world_agent", "--anchor", f"org_id={ORG}", "--anchor", f"domain_id={DOMAIN}")
# What a part of a schema is called that a migration has to bring, and nothing else would.
BROUGHT = ("later_by", "later_at", "later_name", "idetic.later_v1", "claim_idx", "memory_current")


def applied(database: TestDatabase) -> list[tuple[int, str, str]]:
    with psycopg.connect(database.admin_dsn) as connection:
        return connection.execute(
            "SELECT number, name, digest FROM idetic.migrations ORDER BY number"
        ).fetchall()


def of_families(database: TestDatabase) -> list[tuple[str, str]]:
    with psycopg.connect(database.admin_dsn) as connection:
        return connection.execute(
            "SELECT agent, name FROM idetic.family_migrations ORDER BY agent, number"
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


# --- opening ------------------------------------------------------------------------------------


async def test_a_database_keeps_the_digest_of_every_core_file(database: TestDatabase) -> None:
    expected = [(number, name, digest_of(name)) for number, name in migrations()]
    assert applied(database) == expected


@pytest.mark.parametrize("number", [number for number, _ in migrations()])
async def test_a_database_that_other_files_made_is_refused_and_left_alone(
    database: TestDatabase, number: int
) -> None:
    name = dict(migrations())[number]
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(
            "UPDATE idetic.migrations SET digest = repeat('0', 64) WHERE number = %s", (number,)
        )
    before = applied(database)
    with pytest.raises(errors.DatabaseUnsupported, match=name) as refused:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn):
            pass
    assert "idetic export" in str(refused.value)
    async with admin_connection(database.admin_dsn) as connection:
        with pytest.raises(errors.DatabaseUnsupported, match=name):
            await plan_upgrade(connection, shipped_contexts())
    assert applied(database) == before


async def test_a_database_of_a_newer_release_is_refused(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(
            "INSERT INTO idetic.migrations (number, name, digest) VALUES (9999, 'later', '')"
        )
    with pytest.raises(errors.DatabaseUnsupported, match="newer Idetic"):
        await set_up(database.admin_dsn)


async def test_a_family_of_a_newer_release_is_refused(db: Idetic, database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(
            """INSERT INTO idetic.family_migrations (agent, number, name, digest)
               VALUES ('world_agent', 9999, 'later', '')"""
        )
    with pytest.raises(errors.DatabaseUnsupported, match=r"newer Idetic \(family of world_agent"):
        await db.agent("world_agent")


async def test_what_is_missing_is_applied_once(empty_database: TestDatabase) -> None:
    await set_up(empty_database.admin_dsn)
    before = applied(empty_database)
    await set_up(empty_database.admin_dsn)
    assert applied(empty_database) == before
    assert [number for number, *_ in before] == [number for number, _ in migrations()]


async def test_an_older_database_is_refused_with_the_remedy_and_left_alone(
    database: TestDatabase,
) -> None:
    *older, (last, name) = migrations()
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute("DELETE FROM idetic.migrations WHERE number = %s", (last,))
    before = schema_lines(database.admin_dsn)
    with pytest.raises(errors.UpgradeNeeded, match=f"has core {older[-1][0]}, .* core {last}") as e:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn):
            pass
    assert "idetic upgrade" in e.value.remedy
    assert "Back it up" in e.value.remedy
    assert schema_lines(database.admin_dsn) == before
    assert [number for number, *_ in applied(database)] == [number for number, _ in older]
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute("INSERT INTO idetic.migrations (number, name, digest) "
                           "VALUES (%s, %s, %s)", (last, name, digest_of(name)))  # fmt: skip
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        assert (await db.agent("world_agent")).version == 1, "control: with the row it opens"


# --- the baseline, and a later release ------------------------------------------------------------


async def test_the_dump_is_the_baseline(baseline: TestDatabase, new_database: TestDatabase) -> None:
    """If this fails although nothing was edited, make the dump anew: `make baseline-dump`."""
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
    assert of_families(baseline)[-2:] == [("world_agent", FAMILY), ("world_agent", LAST)]
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


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("SELECT 1 / 0;", "upgrade_stopped"),
        ("SELECT pg_terminate_backend(pg_backend_pid());", "database_unavailable"),
    ],
    ids=["an error", "a lost connection"],
)
def test_an_upgrade_that_stops_goes_on_where_it_was(
    baseline: TestDatabase, later: LaterRelease, fault: str, code: str
) -> None:
    whole = (later.sql / "family_migrations" / LAST).read_text("utf-8")
    later.write(f"family_migrations/{LAST}", whole + fault)
    stopped = later.run(baseline, "upgrade", "--yes", "--json")
    assert (stopped.code, stopped.error()["code"]) == (6, code)
    assert applied(baseline)[-1][1] == CORE
    assert of_families(baseline) == [(AGENTS[0], FAMILY)], "all before it stands, and nothing of it"

    # Neither agent opens: one has the first of two migrations, the other none.
    for agent in AGENTS:
        refused = later.run(baseline, "spec", "apply", agent, "--yes", "--json")
        assert refused.error()["code"] == "upgrade_needed"
        assert LAST in refused.error()["message"]
    checked = later.run(baseline, "doctor", "--json").json()["checks"]
    assert {c["name"]: c["verdict"] for c in checked}["versions"] == "bad"

    later.write(f"family_migrations/{LAST}", whole)
    done = later.run(baseline, "upgrade", "--yes", "--json").json()["done"]
    assert done[0] == f"{AGENTS[0]}: {LAST}"
    assert not any(CORE in line or "set up" in line for line in done)
    assert len(of_families(baseline)) == 4
    assert later.run(baseline, "upgrade", "--json").json()["empty"]
    assert later.run(baseline, "verify", *SCOPE, "--as", "auditor:eve").code == 0


def test_two_that_upgrade_at_once_do_each_thing_once(
    baseline: TestDatabase, later: LaterRelease
) -> None:
    both = later.run_all(baseline, [("upgrade", "--yes", "--json")] * 2)
    assert [ran.code for ran in both] == [0, 0], [ran.err for ran in both]
    done = [line for ran in both for line in ran.json()["done"]]
    migrated = [line for line in done if line.endswith(".sql")]
    assert len(migrated) == len(set(migrated)) == 5
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
