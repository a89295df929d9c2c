"""A database and the release that opens it: it fits, or it is refused and left alone."""

from __future__ import annotations

import psycopg
import pytest

from idetic import Idetic, errors
from idetic.context import shipped_contexts
from idetic.store.connect import admin_connection, set_up
from idetic.store.migrator import digest_of, migrations
from idetic.store.upgrade import plan_upgrade
from tests.conftest import TestDatabase
from tests.support.schema_lines import schema_lines

pytestmark = pytest.mark.anyio


def applied(database: TestDatabase) -> list[tuple[int, str, str]]:
    with psycopg.connect(database.admin_dsn) as connection:
        return connection.execute(
            "SELECT number, name, digest FROM idetic.migrations ORDER BY number"
        ).fetchall()


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


# --- how schemas are compared --------------------------------------------------------------------

SABOTAGE = {
    "a column": "ALTER TABLE worlds.world_agent_memory ADD COLUMN x int",
    "a type": "ALTER TABLE worlds.world_agent_memory_reads ALTER read_by TYPE varchar",
    "a bound": "ALTER TABLE worlds.world_agent_memory "
    "DROP CONSTRAINT world_agent_memory_consistent",
    "an index": "DROP INDEX worlds.world_agent_claim_idx",
    "a body": "CREATE OR REPLACE FUNCTION idetic.genesis_hash_v1(family text, anchor jsonb) "
    "RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT NULL::bytea'",
    "a trigger": "ALTER TABLE worlds.world_agent_memory_ledger DISABLE TRIGGER append_only",
    "a policy": "DROP POLICY anchor_scope ON worlds.world_agent_memory",
    "forced": "ALTER TABLE worlds.world_agent_memory NO FORCE ROW LEVEL SECURITY",
    "a grant": "GRANT DELETE ON worlds.world_agent_memory TO idetic_app",
    "a column's grant": "GRANT UPDATE (body_text) ON worlds.world_agent_memory TO idetic_app",
    "a function's grant": "GRANT EXECUTE ON FUNCTION idetic.anchor_id_v1 TO PUBLIC",
    "an owner": "ALTER TABLE worlds.world_agent_memory OWNER TO CURRENT_USER",
    "a view": "ALTER VIEW worlds.world_agent_memory_current RESET (security_invoker)",
    "a domain": "ALTER DOMAIN idetic.trust DROP CONSTRAINT trust_bounded",
    "a word": "ALTER TYPE idetic.origin ADD VALUE 'nobody'",
}


@pytest.mark.parametrize("what", SABOTAGE)
def test_a_comparison_of_schemas_sees(database: TestDatabase, what: str) -> None:
    before = schema_lines(database.admin_dsn)
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        connection.execute(SABOTAGE[what].encode())
    assert schema_lines(database.admin_dsn) != before
