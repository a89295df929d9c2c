"""Memory and time: what was current when, whatever became of it since."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import psycopg
import pytest

from idetic import Claim, EntryState, Idetic, Observation
from idetic.library.handles import Memory
from tests.conftest import TestDatabase, World, make_world
from tests.support.chain import read_chain
from tests.support.clock import START, SettableClock

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Timed:
    """A world whose clock the test holds."""

    world: World
    clock: SettableClock
    database: TestDatabase

    @property
    def memory(self) -> Memory:
        return self.world.operator

    async def at(self, moment: datetime) -> dict[str, EntryState]:
        """What was current at a moment, and the state each entry shows."""
        return {entry.body_text: entry.state for entry in await self.memory.as_of(moment)}

    async def names(self, moment: datetime) -> list[str]:
        return [entry.body_text for entry in await self.memory.as_of(moment)]


@pytest.fixture
async def timed(database: TestDatabase) -> AsyncIterator[Timed]:
    clock = SettableClock()
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock) as db:
        world = await make_world(db, await db.agent("world_agent"))
        yield Timed(world, clock, database)


async def test_each_moment_shows_what_was_current_then(timed: Timed) -> None:
    brief = await timed.memory.prefer("Brief.", claim=Claim("output", "style", "brief"))
    english = await timed.memory.prefer("English.", claim=Claim("output", "language", "en"))
    monday = timed.clock.moment
    tuesday = timed.clock.advance(days=1)
    await timed.memory.prefer("Full.", claim=Claim("output", "style", "full"))
    wednesday = timed.clock.advance(days=1)
    await timed.memory.archive(english.entry_id, reason="obsolete")  # type: ignore[arg-type]

    before, second = monday - timedelta(microseconds=1), timedelta(seconds=1)
    assert await timed.names(before) == []
    assert await timed.names(monday) == ["English.", "Brief."]
    assert await timed.names(tuesday - second) == ["English.", "Brief."]
    assert await timed.names(tuesday) == ["Full.", "English."]
    assert await timed.names(wednesday - second) == ["Full.", "English."]
    assert await timed.names(wednesday) == ["Full."]
    assert await timed.names(wednesday + timedelta(days=9000)) == ["Full."]
    assert [e.body_text for e in await timed.memory.list()] == ["Full."]
    assert (await timed.memory.get(brief.entry_id)).state is EntryState.SUPERSEDED  # type: ignore[arg-type]


async def test_an_entry_of_the_past_shows_no_trace_of_its_future(timed: Timed) -> None:
    brief = await timed.memory.prefer("Brief.", claim=Claim("output", "style", "brief"))
    language = await timed.memory.prefer("English.", claim=Claim("output", "language", "en"))
    then = timed.clock.moment
    timed.clock.advance(hours=1)
    await timed.memory.exempt(brief.entry_id, reason="house rule")  # type: ignore[arg-type]
    timed.clock.advance(hours=1)
    await timed.memory.prefer("Full.", claim=Claim("output", "style", "full"))
    await timed.memory.archive(language.entry_id, reason="obsolete")  # type: ignore[arg-type]
    past = await timed.memory.as_of(then)
    assert {e.body_text for e in past} == {"Brief.", "English."}
    for entry in past:
        assert entry.state is EntryState.CURRENT
        ends = (entry.superseded_at, entry.superseded_by, entry.archived_at, entry.exempt_at)
        assert ends == (None, None, None, None)
    later = await timed.memory.as_of(then + timedelta(hours=1))
    assert [e.exempt_at for e in later if e.body_text == "Brief."] == [then + timedelta(hours=1)]


async def test_moments_are_the_same_in_every_time_zone(timed: Timed) -> None:
    await timed.memory.prefer("Brief.")
    for zone in ("UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati"):
        here = timed.clock.moment.astimezone(ZoneInfo(zone))
        assert await timed.names(here) == ["Brief."]
        assert await timed.names(here - timedelta(microseconds=1)) == []


async def test_times_are_kept_to_the_microsecond(timed: Timed) -> None:
    timed.clock.moment = START.replace(microsecond=123_456)
    valid = datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    session = await timed.memory.session().open()
    seen = await session.observe("Precisely.", valid_at=valid)
    entry = await timed.memory.get(seen.entry_id)  # type: ignore[arg-type]
    assert entry.created_at == seen.at == timed.clock.moment
    assert entry.valid_at == valid, "when it held is not when we learned it"


async def test_pages_of_the_past_are_complete_and_in_order(timed: Timed) -> None:
    session = await timed.memory.session().open()
    await session.observe_many([Observation(f"Note {n}.") for n in range(7)])
    then = timed.clock.moment
    timed.clock.advance(days=1)
    session = await timed.memory.session().open()
    await session.observe("Later.")
    seen: list[str] = []
    before = None
    while page := await timed.memory.as_of(then, limit=3, before=before):
        seen += [entry.body_text for entry in page]
        before = page[-1].id
    assert seen == [f"Note {n}." for n in reversed(range(7))]


async def test_a_clock_that_goes_backwards_keeps_the_ledger_in_order(timed: Timed) -> None:
    first = await timed.memory.prefer("First.")
    timed.clock.advance(days=-30)
    session = await timed.memory.session().open()
    second = await session.observe("Second.")
    batch = await session.observe_many([Observation("Third."), Observation("Fourth.")])
    archived = await timed.memory.archive(first.entry_id, reason="old")  # type: ignore[arg-type]
    times = [first.at, second.at, *(r.at for r in batch), archived.at]
    assert times == sorted(times)
    assert times[-1] == START, "time stands still until the clock catches up"
    timed.clock.moment = START + timedelta(minutes=5)
    caught_up = await timed.memory.prefer("Fifth.")
    assert caught_up.at == timed.clock.moment

    anchor = {"org_id": timed.world.org_id, "domain_id": timed.world.domain_id}
    with psycopg.connect(timed.database.admin_dsn) as connection:
        chain = read_chain(connection, "worlds", "world_agent", anchor)
    assert chain.faults() == []
    assert [row["at"] for row in chain.rows] == sorted(row["at"] for row in chain.rows)


async def test_what_a_backward_clock_wrote_is_current_from_when_it_was_written(
    timed: Timed,
) -> None:
    await timed.memory.prefer("First.")
    timed.clock.advance(days=-30)
    await timed.memory.prefer("Second.")
    assert await timed.names(START - timedelta(days=1)) == [], "nothing was known then"
    assert await timed.names(START) == ["Second.", "First."]


async def test_two_anchors_keep_their_own_time(timed: Timed) -> None:
    world, domain = timed.world, uuid4()
    await world.worlds.register(world.org_id, domain, "Cards")
    there = world.agent.bind(
        principal=timed.memory.scope.principal, org_id=world.org_id, domain_id=domain
    )
    await timed.memory.prefer("Here.")
    earlier = timed.clock.advance(days=-30)
    assert (await timed.memory.prefer("Here too.")).at == START
    assert (await there.prefer("There.")).at == earlier


async def test_a_history_is_in_the_order_in_which_things_happened(timed: Timed) -> None:
    entry = (await timed.memory.prefer("Brief.", claim=Claim("o", "s", "brief"))).entry_id
    assert entry
    timed.clock.advance(days=-1)
    await timed.memory.exempt(entry, reason="house rule")
    timed.clock.advance(days=3)
    await timed.memory.prefer("Brief.", claim=Claim("o", "s", "brief"))
    timed.clock.advance(days=1)
    await timed.memory.prefer("Full.", claim=Claim("o", "s", "full"))
    history = await timed.memory.history(entry)
    assert [link.transition for link in history] == [
        "preferred", "exempted", "preferred", "superseded",
    ]  # fmt: skip
    positions = [link.position for link in history]
    assert positions == sorted(positions)
    assert [link.at for link in history] == [
        START, START, START + timedelta(days=2), START + timedelta(days=3),
    ]  # fmt: skip
    assert [link.decision for link in history] == ["ADD", "UPDATE", "NOOP", "UPDATE"]


async def test_every_write_is_read_by_the_next_read(timed: Timed) -> None:
    """On any connection of the pool, from any handle, as soon as the receipt is there."""
    reader = timed.world.memory
    async with timed.memory.session() as session:
        for n in range(20):
            seen = await session.observe(f"Note {n}.")
            assert seen.entry_id
            assert (await reader.get(seen.entry_id)).body_text == f"Note {n}."
            assert (await reader.list(limit=1))[0].id == seen.entry_id
            assert (await reader.as_of(seen.at, limit=1))[0].id == seen.entry_id
            assert (await reader.history(seen.entry_id))[-1].position == seen.position
