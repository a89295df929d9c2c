"""`Idetic.under`: the same database under another clock."""

from __future__ import annotations

from datetime import UTC, datetime

from idetic import Identity, Idetic, Principal
from idetic.persona.events import EventKind
from tests.conftest import World
from tests.support.clock import SettableClock

THEN = datetime(2025, 6, 1, 12, tzinfo=UTC)


async def test_what_is_written_there_is_dated_by_its_clock(db: Idetic, world: World) -> None:
    past = db.under(SettableClock(THEN))
    agent = await past.agent("world_agent")
    memory = agent.bind(
        org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
    )
    written = await memory.prefer("Report in one sentence.")
    now = await world.operator.prefer("Report with a count.")
    assert written.at == THEN
    assert now.at > THEN
    assert len(await world.operator.list()) == 2, "it is the same database"


async def test_closing_it_leaves_the_database_open(db: Idetic, world: World) -> None:
    async with db.under(SettableClock(THEN)) as past:
        memory = await past.persona(Identity(agent_id="desk"), tenant="north")
        async with memory.loop("a task") as loop:
            event = await loop.append(EventKind.USER_INPUT, "Is anybody there?")
        assert event.ts == THEN
    assert await world.operator.list() == []
    same = await db.persona(Identity(agent_id="desk"), tenant="north")
    assert await same.actor.get_by_id(event.id) == event
