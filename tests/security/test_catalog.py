"""What the server's catalogs tell the Actor's role of the Subconscious's tables: nothing.

Each way of asking is tried on a database whose catalogs are closed, and on one where they are not:
the control, in which it tells how much the Subconscious remembers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from idetic import Idetic
from idetic.persona.events import Persona
from idetic.persona.persona_memory import PersonaMemory
from idetic.store.catalog import open_ways
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import pool_of, remembering, table_of, task, thought

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

LOG = table_of("subconscious", "log")
# By the table's id, which anybody can look up: its schema is closed to the Actor anyway.
OID = "(SELECT c.oid FROM pg_class c WHERE c.relname = 'persona_agent_subconscious_log')"
WAYS = {
    "size": f"SELECT pg_relation_size({OID}::regclass)",
    "total size": f"SELECT pg_total_relation_size({OID}::regclass)",
    "pages": f"SELECT relpages FROM pg_class WHERE oid = {OID}",  # noqa: S608
    "rows": f"SELECT reltuples FROM pg_class WHERE oid = {OID}",  # noqa: S608
    "inserts": f"SELECT n_tup_ins FROM pg_stat_all_tables WHERE relid = {OID}",  # noqa: S608
    "scans": f"SELECT seq_scan FROM pg_stat_all_tables WHERE relid = {OID}",  # noqa: S608
    "reads": f"SELECT heap_blks_hit FROM pg_statio_all_tables WHERE relid = {OID}",  # noqa: S608
    "live rows": f"SELECT pg_stat_get_live_tuples({OID})",
    "locks": "SELECT count(*) FROM pg_locks",
    "sessions": "SELECT count(*) FROM pg_stat_activity",
    "written bytes": "SELECT pg_current_wal_lsn()",
}


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


@pytest.fixture
async def memory(db: Idetic, database: TestDatabase) -> PersonaMemory:
    memory = await remembering(db)
    await task(memory, "When does it leave?", "At noon.")
    await thought(memory, "They ask a lot about trains.")
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(f"ANALYZE {LOG}")
    return memory


async def told(memory: PersonaMemory) -> set[str]:
    """By which ways the Actor's role learns anything."""
    found = set()
    async with pool_of(memory, Persona.ACTOR).reading() as connection:
        for way, statement in WAYS.items():
            try:
                async with connection.transaction():
                    cursor = await connection.execute(statement.encode())
                    if await cursor.fetchone() is not None:
                        found.add(way)
            except psycopg.errors.InsufficientPrivilege:
                continue
    return found


async def test_closed_catalogs_tell_the_actor_nothing(db: Idetic, memory: PersonaMemory) -> None:
    assert await db.close_catalog() != []
    assert await told(memory) == set()
    assert await db.close_catalog() == [], "twice is once"
    await task(memory, "Does it still work?", "It does.")
    await memory.dream()
    assert (await memory.actor.verify()).whole


async def test_control_open_catalogs_tell_all_of_it(memory: PersonaMemory) -> None:
    assert await told(memory) == set(WAYS)


async def test_every_way_that_is_open_is_listed(db: Idetic) -> None:
    async with db.administration.connection() as connection:
        found = await open_ways(connection)
        assert {"pg_lock_status()", "pg_class.reltuples"} <= set(found)
        await connection.execute("REVOKE EXECUTE ON FUNCTION pg_lock_status() FROM PUBLIC")
        assert set(found) - set(await open_ways(connection)) == {"pg_lock_status()"}
