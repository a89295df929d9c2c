"""Much text at once crosses a gate beside the event loop, so that nobody else waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from idetic.errors import InputError

Made = TypeVar("Made")

# Up to here the gates take about 2 ms of prose; a thread for less would cost more than it frees.
INLINE = 4_000
# What one call may bring; as much as a request's body holds.
MOST = 4_000_000
# One at a time: the interpreter runs one thread, and two that compute would starve the loop.
_ONE = 1
_limiter: RunVar[CapacityLimiter] = RunVar("idetic_crossing")


async def cross(characters: int, work: Callable[[], Made]) -> Made:
    """Do work on so many characters: here if they are few, else in a thread."""
    if characters <= INLINE:
        return work()
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = CapacityLimiter(_ONE)
        _limiter.set(limiter)
    return await to_thread.run_sync(work, limiter=limiter)


def check_amount(characters: int, what: str) -> int:
    """How many characters one call brings; more than it may is refused before any is read."""
    if characters > MOST:
        raise InputError(
            f"{what} have {characters:,} characters in all; the bound of one call is {MOST:,}.",
            remedy="Split them into several calls; nothing was written.",
        )
    return characters
