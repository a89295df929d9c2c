"""Much text at once crosses a gate beside the event loop, so that nobody else waits for it.

The interpreter still runs one thread at a time, so the thread beside the loop gives way to requests
that are under way: between two texts it sleeps until they are answered, or has slept its share.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from anyio import CapacityLimiter, Semaphore, to_thread
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
_turns: RunVar[Turns] = RunVar("idetic_turns")
# Whose work it is. Of each tenant one waits for the thread: it goes round, whoever asks most.
_tenant: ContextVar[str] = ContextVar("idetic_tenant", default="")
# How many times as long as it worked a crossing may sleep for others: their requests without end
# make it five times as long, and no longer.
SHARE = 4.0
_NAP = 0.001
# What is under way and short: one object each, since adding and removing one needs no lock.
_hasty: set[object] = set()
_own: ContextVar[object] = ContextVar("idetic_haste")
_beside = threading.local()


class Turns:
    """How many requests of one tenant are worked on at once; the next one waits for its turn."""

    def __init__(self, at_once: int):
        self._at_once = at_once
        self._tenants: dict[str, tuple[Semaphore, int]] = {}

    @asynccontextmanager
    async def taken(self, tenant: str) -> AsyncIterator[None]:
        """A turn of one tenant; a tenant of whom nobody is here takes no room."""
        turns, here = self._tenants.get(tenant, (Semaphore(self._at_once), 0))
        self._tenants[tenant] = (turns, here + 1)
        try:
            async with turns:
                yield
        finally:
            here = self._tenants[tenant][1] - 1
            self._tenants[tenant] = (turns, here)
            if not here:
                del self._tenants[tenant]


@dataclass(slots=True)
class _Crossing:
    """One crossing beside the event loop: since when, and how long it slept for others."""

    begun: float = field(default_factory=time.monotonic)
    slept: float = 0.0

    def may_sleep(self) -> bool:
        """Whether its share is not used up."""
        return self.slept < SHARE * (time.monotonic() - self.begun - self.slept)


@contextmanager
def on_behalf_of(tenant: str) -> Iterator[None]:
    """While it lasts, what crosses is the work of a tenant."""
    token = _tenant.set(tenant)
    try:
        yield
    finally:
        _tenant.reset(token)


@contextmanager
def in_haste() -> Iterator[None]:
    """A short request: while it lasts, what crosses beside the event loop gives way."""
    own = object()
    token = _own.set(own)
    _hasty.add(own)
    try:
        yield
    finally:
        _hasty.discard(own)
        _own.reset(token)


def give_way() -> None:
    """Between two texts: sleep while short requests are under way; on the event loop, go on."""
    crossing: _Crossing | None = getattr(_beside, "crossing", None)
    while crossing is not None and _hasty and crossing.may_sleep():
        before = time.monotonic()
        time.sleep(_NAP)
        crossing.slept += time.monotonic() - before


async def cross(characters: int, work: Callable[[], Made]) -> Made:
    """Do work on so many characters: here if they are few, else in a thread."""
    if characters <= INLINE:
        return work()
    limiter = _limiter.get(None)
    turns = _turns.get(None)
    if limiter is None or turns is None:
        limiter, turns = CapacityLimiter(_ONE), Turns(_ONE)
        _limiter.set(limiter)
        _turns.set(turns)

    def worked() -> Made:
        """The work, in its thread."""
        _beside.crossing = _Crossing()
        try:
            return work()
        finally:
            _beside.crossing = None

    # Who waits for the thread is not in its way.
    _hasty.discard(_own.get(None))
    async with turns.taken(_tenant.get()):
        return await to_thread.run_sync(worked, limiter=limiter)


def check_amount(characters: int, what: str) -> int:
    """How many characters one call brings; more than it may is refused before any is read."""
    if characters > MOST:
        raise InputError(
            f"{what} have {characters:,} characters in all; the bound of one call is {MOST:,}.",
            remedy="Split them into several calls; nothing was written.",
        )
    return characters
