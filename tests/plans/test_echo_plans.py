"""What a session was shown is looked up by index, however much was read, as the app role."""

from __future__ import annotations

import psycopg
import pytest

from idetic import Idetic, Observation
from idetic.model import Place, Scope
from idetic.store import shown as shown_module
from idetic.store.family import Family
from idetic.store.scope import settings
from idetic.store.shown import Showing
from tests.conftest import TestDatabase, make_world

pytestmark = pytest.mark.anyio

# A session that was shown ten entries two hundred times, among two hundred other sessions.
_READS = """
INSERT INTO worlds.world_agent_memory_reads
    (org_id, domain_id, read_id, memory_id, session_id, interaction_id, read_at, read_by)
SELECT m.org_id, m.domain_id, gen_random_uuid(), m.memory_id,
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
        showing = Showing(db.database, Family(world.agent.spec))
        place = Place(session.id)
        assert len(await showing.shown(world.memory.scope, place)) == 10
        told = explained(database, showing, world.memory.scope, place)
    assert "Seq Scan" not in told
    assert "world_agent_reads_session_idx" in told
    looked = [line for line in told.split("\n") if "world_agent_reads_session_idx" in line]
    assert all("rows=1." in line or "rows=0." in line or "rows=1 " in line for line in looked), told


def explained(database: TestDatabase, showing: Showing, scope: Scope, place: Place) -> str:
    statement = showing.statement(scope, place)
    with psycopg.connect(database.dsn, autocommit=True) as app:
        assert app.info.user == "idetic_app"
        message = f"{settings(scope)}; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {statement}"
        cursor = app.execute(message.encode())
        while cursor.nextset():
            pass
        return "\n".join(line for (line,) in cursor.fetchall())


async def test_no_more_than_the_bound_is_compared_with(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_module, "MOST", 3)
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        world = await make_world(db, await db.agent("world_agent"))
        async with world.memory.session() as session:
            notes = [await session.observe(f"Note {n} of branch {n}.") for n in range(5)]
            await session.context("note")
            showing = Showing(db.database, Family(world.agent.spec))
            found = await showing.shown(world.memory.scope, Place(session.id))
    assert [one.entry_id for one in found] == [note.entry_id for note in reversed(notes)][:3]
