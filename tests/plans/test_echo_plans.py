"""What a session was shown is looked up by index, however much was read, as the app role."""

from __future__ import annotations

import psycopg
import pytest

from idetic import Idetic, Observation
from idetic.model import Place, Scope
from idetic.store import entries as entries_module
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.templates import Statement
from tests.conftest import TestDatabase, make_world

pytestmark = pytest.mark.anyio

# A session that was shown ten entries two hundred times, among two hundred other sessions.
_READS = """
INSERT INTO worlds.world_agent_memory_reads
    (org_id, anchor_id, read_id, memory_id, session_id, interaction_id, read_at, read_by)
SELECT m.org_id, m.anchor_id, gen_random_uuid(), m.memory_id,
    CASE WHEN n <= 200 THEN m.session_id ELSE md5(n::text)::uuid END, NULL, now(), 'agent:x'
FROM worlds.world_agent_memory m, generate_series(1, 400) n WHERE m.body_text LIKE 'Note %'
"""


async def test_one_look_into_the_index_for_each_entry(database: TestDatabase) -> None:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        world = await make_world(db, await db.agent("world_agent"))
        session = await world.memory.session().open()
        await session.observe_many([Observation(f"Note {n}.") for n in range(10)])
        other = await world.memory.session().open()
        await other.observe_many([Observation(f"Another note {n}.") for n in range(1_500)])
        with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
            admin.execute(_READS)
            admin.execute("VACUUM ANALYZE")
        entries = Entries(db.database, Family(world.agent.spec))
        place = Place(session.id)
        assert len(await entries.shown(world.memory.scope, place)) == 10
        told = await explained(db.database, entries, world.memory.scope, place)
    assert "Seq Scan on world_agent_memory_reads" not in told
    assert "world_agent_reads_session_idx" in told
    looked = [line for line in told.split("\n") if "world_agent_reads_session_idx" in line]
    assert all("rows=1." in line or "rows=0." in line or "rows=1 " in line for line in looked), told


async def explained(database: Database, entries: Entries, scope: Scope, place: Place) -> str:
    """How the application role runs the very statement that asks what was shown."""
    assert await database.run(scope, Statement("SELECT current_user::text")) == [("idetic_app",)]
    call = entries.shown_call(scope, place)
    asked = f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {call.statement.text}"
    rows = await database.run(scope, Statement(asked, call.statement.names), call.values)
    return "\n".join(line for (line,) in rows)


async def test_no_more_than_the_bound_is_compared_with(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries_module, "MOST_SHOWN", 3)
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        world = await make_world(db, await db.agent("world_agent"))
        async with world.memory.session() as session:
            notes = [await session.observe(f"Note {n} of branch {n}.") for n in range(5)]
            await session.context("note")
            entries = Entries(db.database, Family(world.agent.spec))
            found = await entries.shown(world.memory.scope, Place(session.id))
    assert [one.entry_id for one in found] == [note.entry_id for note in reversed(notes)][:3]
