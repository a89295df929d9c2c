"""What takes long for one caller runs beside the event loop, where nobody else waits for it."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from idetic import Decision, Idetic, Observation
from idetic.gates import crossing
from idetic.gates.reading import ReadingGate
from idetic.lifecycle import duplicates, echoes, promotion
from tests.conftest import World, make_world
from tests.security.test_reading_gate import PHONE, gated

pytestmark = pytest.mark.anyio
SHARED = True

LONG = "The second check of the wire was late again, as it is on most days. " * 10
inline = pytest.mark.parametrize("beside", [True, False], ids=["as it is", "control"])


class Threads:
    """The threads that a function was called in."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str, *, beside: bool):
        self.seen: set[int] = set()
        real = getattr(owner, name)

        def noted(*given: Any, **named: Any) -> Any:
            self.seen.add(threading.get_ident())
            return real(*given, **named)

        patch.setattr(owner, name, noted)
        if not beside:
            patch.setattr(crossing, "INLINE", 10**9)

    @property
    def on_the_loop(self) -> bool:
        """Whether the event loop's own thread was one of them."""
        assert self.seen, "it was called, or nothing would be shown"
        return threading.get_ident() in self.seen


async def close_much(world: World) -> None:
    """A session with much text in it and in its interaction, written and closed."""
    async with world.memory.session() as session, session.interaction() as turn:
        for place in (session, turn):
            await place.observe_many([Observation(f"{n}: {LONG}") for n in range(10)])


@inline
@pytest.mark.parametrize(
    ("owner", "name"),
    [(duplicates, "_reading"), (promotion.PromotionPass, "settle")],
    ids=["what says the same", "its gates"],
)
async def test_a_close_compares_beside_the_loop(
    world: World, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, beside: bool
) -> None:
    seen = Threads(monkeypatch, owner, name, beside=beside)
    await close_much(world)
    assert seen.on_the_loop is not beside


@inline
async def test_an_observation_is_compared_with_what_was_shown_beside_the_loop(
    world: World, monkeypatch: pytest.MonkeyPatch, *, beside: bool
) -> None:
    """After 500 long notes that a session was shown, each short one took 2 s of everybody's."""
    async with world.memory.session() as session:
        await session.observe_many([Observation(f"{n}: {LONG}") for n in range(10)])
        await session.list()
        seen = Threads(monkeypatch, echoes, "read", beside=beside)
        again = await session.observe(f"3: {LONG}")
        assert again.decision is Decision.NOOP
        assert seen.on_the_loop is not beside


@pytest.mark.parametrize("named", [True, False], ids=["as it is", "control"])
async def test_who_asks_most_does_not_wait_less(*, named: bool) -> None:
    """Of each tenant one waits for the thread, so a second tenant's work is the next but one."""
    done: list[str] = []

    async def work(tenant: str) -> None:
        with crossing.on_behalf_of(tenant if named else ""):
            await crossing.cross(10**6, lambda: done.append(tenant))

    async with anyio.create_task_group() as tasks:
        for tenant in ("greedy", "greedy", "greedy", "greedy", "modest"):
            tasks.start_soon(work, tenant)
            await anyio.lowlevel.checkpoint()
    assert (done.index("modest") < len(done) - 1) is named


@inline
@pytest.mark.alone
async def test_a_readers_gate_takes_much_out_beside_the_loop(
    db: Idetic, monkeypatch: pytest.MonkeyPatch, *, beside: bool
) -> None:
    world = await make_world(db, await db.agent(gated(["hedge", "pii"]), apply=True))
    for number in range(10):
        await world.operator.prefer(f"{number}: {LONG} Call {PHONE}.")
    seen = Threads(monkeypatch, ReadingGate, "passed", beside=beside)
    listed = await world.operator.list()
    assert PHONE not in str(listed)
    assert seen.on_the_loop is not beside
