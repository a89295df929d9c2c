"""What crosses beside the event loop gives way to short requests, for its share of the time."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

from idetic.gates import crossing
from idetic.gates.crossing import INLINE, cross, give_way, in_haste

pytestmark = pytest.mark.anyio
LONG = INLINE + 1
WORK = 0.05


def works(stretches: int = 5) -> float:
    """Computes for a while between two chances to give way; how long it slept, as a share."""
    slept = 0.0
    begun = time.monotonic()
    for _ in range(stretches):
        until = time.monotonic() + WORK / stretches
        while time.monotonic() < until:
            pass
        before = time.monotonic()
        give_way()
        slept += time.monotonic() - before
    return slept / (time.monotonic() - begun - slept)


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "_hasty", set())


async def beside(done: list[float]) -> None:
    done.append(await cross(LONG, works))


@pytest.mark.parametrize("hasty", [True, False], ids=["in haste", "control"])
async def test_it_sleeps_while_a_short_request_is_under_way_and_no_longer_than_its_share(
    *, hasty: bool
) -> None:
    """The request lasts until the crossing is done: without its share it never would be."""
    done: list[float] = []
    async with anyio.create_task_group() as group:
        group.start_soon(beside, done)
        if hasty:
            with in_haste():
                while not done:  # noqa: ASYNC110 - what ends it is another thread
                    await anyio.sleep(0.01)
    assert (done[0] > crossing.SHARE / 2) is hasty


async def test_it_goes_on_when_the_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "SHARE", 1_000.0)
    done: list[float] = []
    async with anyio.create_task_group() as group:
        # Begun outside: a request does not wait for itself.
        group.start_soon(beside, done)
        with in_haste():
            await anyio.sleep(0.2)
            assert not done
    assert done


async def test_a_request_does_not_wait_for_itself() -> None:
    with in_haste():
        assert await cross(LONG, works) < 1


async def test_on_the_event_loop_nobody_sleeps() -> None:
    with in_haste():
        assert await cross(INLINE, lambda: threading.current_thread() is threading.main_thread())
        assert works() < 1
