"""A clock far from the database server's dates nothing: an anchor's time never goes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from idetic import Idetic, Principal, errors
from idetic.ids import SystemClock
from idetic.library.handles import Memory
from idetic.model import Observation
from idetic.persona.events import EventKind
from idetic.store import server_time
from idetic.store.database import Database
from idetic.store.server_time import ServerTime
from idetic.transfer import import_checks
from tests.conftest import TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.databases import copy_of
from tests.support.moving import Elsewhere, copy_canon, exported, written
from tests.support.persona import remembering
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"
DAYS = timedelta(days=400)
KEEPER = Principal.maintenance("keeper")


class ShiftedClock:
    """The machine's clock, as somebody set it; it does not say that it is simulated."""

    def __init__(self, by: timedelta = timedelta(0)):
        self.by = by

    def now(self) -> datetime:
        return datetime.now(UTC) + self.by


def opened(database: TestDatabase, clock: ShiftedClock | SettableClock) -> Idetic:
    return Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock)


@pytest.mark.parametrize("by", [DAYS, -DAYS, timedelta(minutes=11), timedelta(minutes=-11)])
async def test_a_database_is_not_opened_by_it(database: TestDatabase, by: timedelta) -> None:
    db = opened(database, ShiftedClock(by))
    direction = "ahead of" if by > timedelta(0) else "behind"
    with pytest.raises(errors.ClockRefused, match=direction) as refused:
        await db.start()
    assert "NTP" in refused.value.remedy
    with pytest.raises(errors.DatabaseClosed):
        _ = db.database


async def test_a_clock_that_is_off_by_less_is_taken(database: TestDatabase) -> None:
    async with opened(database, ShiftedClock(timedelta(minutes=9))) as db:
        world = await make_world(db, await db.agent("world_agent"))
        assert (await world.operator.prefer("Ask first.")).entry_id


def _keeper(world: World) -> Memory:
    return world.bind(KEEPER)


async def _observed(world: World, _: Idetic) -> object:
    return await (await world.memory.session().open()).observe("Wires leave at noon.")


async def _many(world: World, _: Idetic) -> object:
    session = world.memory.session(None).resume()
    return await session.observe_many([Observation("One."), Observation("Two.")])


async def _preferred(world: World, _: Idetic) -> object:
    return await world.operator.prefer("Ask first.")


async def _archived(world: World, _: Idetic) -> object:
    (entry, *_rest) = await world.operator.list()
    return await world.operator.archive(entry.id, reason="no longer")


async def _promoted(world: World, _: Idetic) -> object:
    (entry, *_rest) = await world.operator.list()
    return await world.operator.corroborate(entry.id)


async def _ruled(world: World, _: Idetic) -> object:
    return await world.worlds.put_rule(world.org_id, world.world_id, "Two people look at it.")


async def _said(_: World, db: Idetic) -> object:
    async with (await remembering(db)).loop("a task") as loop:
        return await loop.append(EventKind.USER_INPUT, "When does it leave?")


WRITES: tuple[Callable[[World, Idetic], Awaitable[object]], ...] = (
    *(_observed, _many, _preferred, _archived, _promoted, _ruled, _said),
)


@pytest.mark.parametrize("write", WRITES, ids=lambda one: one.__name__.strip("_"))
async def test_nothing_is_written_once_it_moves(
    database: TestDatabase, write: Callable[[World, Idetic], Awaitable[object]]
) -> None:
    clock = ShiftedClock()
    async with opened(database, clock) as db:
        world = await make_world(db, await db.agent("world_agent"))
        await world.operator.prefer("Call before noon.")
        before = await _keeper(world).head()
        clock.by = DAYS
        with pytest.raises(errors.ClockRefused, match="400 days"):
            await write(world, db)
        clock.by = timedelta(0)
        assert await _keeper(world).head() == before
        said = await world.operator.prefer("Ask twice.")
        assert said.at < datetime.now(UTC) + timedelta(minutes=1)


async def test_control_without_the_check_one_write_pins_the_anchors_time(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unchecked(*_: object) -> None:
        return None

    monkeypatch.setattr(Database, "check_clock", unchecked)
    clock = ShiftedClock(DAYS)
    async with opened(database, clock) as db:
        world = await make_world(db, await db.agent("world_agent"))
        await world.operator.prefer("Call before noon.")
        clock.by = timedelta(0)
        said = await world.operator.prefer("Ask twice.")
        assert said.at > datetime.now(UTC) + timedelta(days=399), "until the present comes up to it"


async def test_a_simulated_clock_says_so_and_is_taken(database: TestDatabase) -> None:
    async with opened(database, SettableClock()) as db:
        world = await make_world(db, await db.agent("world_agent"))
        said = await world.operator.prefer("Call before noon.")
        assert said.at == SettableClock().now()


async def test_a_view_under_another_clock_is_held_to_it(db: Idetic) -> None:
    other = db.under(ShiftedClock(DAYS))
    world = await make_world(db, await other.agent("world_agent"))
    with pytest.raises(errors.ClockRefused):
        await world.operator.prefer("Call before noon.")


async def test_a_reading_serves_many_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No write pays a round trip for it; and before a refusal the server is asked anew."""
    asked: list[datetime] = []

    async def ask() -> datetime:
        asked.append(datetime.now(UTC))
        return asked[-1]

    clock, told = ShiftedClock(), ServerTime(ask)
    for _ in range(20):
        await told.check(clock)
    assert len(asked) == 1
    clock.by = DAYS
    with pytest.raises(errors.ClockRefused):
        await told.check(clock)
    assert len(asked) == 2
    monkeypatch.setattr(server_time, "_SERVES", -1.0)
    await told.check(ShiftedClock())
    assert len(asked) == 3, "a reading does not serve for ever"


async def test_an_import_brings_no_future(
    server: TestServer,
    persona_template: str,
    database: TestDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead = SettableClock(SystemClock().now() + DAYS)
    async with opened(database, ahead) as db:
        world = await make_world(db, await db.agent("world_agent"))
        await world.operator.prefer("Call before noon.")
        file = written(tmp_path / "a.jsonl", await exported(world.operator))
    with copy_of(server, persona_template) as other:
        copy_canon(database, other)
        async with Idetic.open(other.dsn, admin_dsn=other.admin_dsn) as db:
            there = Elsewhere(other, db, await db.agent("world_agent")).bind(world)
            with pytest.raises(errors.ExportRefused, match="dated ahead of now"):
                await there.import_from(file)
            keeper = Elsewhere(other, db, there.agent).bind(world, KEEPER)
            assert (await keeper.head()).position == 0
            # The control: without the look, its time is the anchor's.
            monkeypatch.setattr(import_checks, "FAR", 2 * DAYS)
            await there.import_from(file)
            assert (await there.prefer("Ask.")).at > datetime.now(UTC) + timedelta(days=399)
