"""The sweeper of a store: archives what has expired, again and again, until it is stopped.

LangGraph has two stores, one for code that awaits and one for code that cannot, and each has these
three methods in its own way. Here one store serves both: in a coroutine they are awaited, and in
blocking code they have done their work when they return.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from idetic.surfaces.bridge import Bridge

T = TypeVar("T")
Sweeping = asyncio.Task[None] | Future[None]


def is_blocking() -> bool:
    """Whether this code runs in no event loop, and so can await nothing."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


class Sweeper:
    """Sweeps every so often where the database was opened, at most once at a time."""

    def __init__(self, bridge: Bridge, sweep: Callable[[], Coroutine[Any, Any, int]]):
        self._bridge = bridge
        self._sweep = sweep
        self._sweeping: Sweeping | None = None

    def once(self) -> int | Awaitable[int]:
        """Sweep now; how many items that were, or what can be awaited for it."""
        if is_blocking():
            return self._bridge.blocking(self._sweep)
        return self._bridge.awaited(self._sweep)

    def start(self, seconds: float) -> Sweeping | Awaitable[Sweeping]:
        """Sweep now and after each pause; the same sweeping, if one goes on already."""
        if is_blocking():
            if self._sweeping is None or self._sweeping.done():
                self._sweeping = self._bridge.begun(lambda: self._forever(seconds))
            return self._sweeping
        return self._started(seconds)

    def stop(self, timeout: float | None) -> bool | Awaitable[bool]:
        """Stop sweeping; whether it ended in time, or what can be awaited for it."""
        sweeping, self._sweeping = self._sweeping, None
        if not is_blocking():
            return _awaited(sweeping, timeout)
        if sweeping is None:
            return True
        if isinstance(sweeping, Future):
            sweeping.cancel()
            return bool(wait([sweeping], timeout).done)
        return self._bridge.blocking(lambda: _awaited(sweeping, timeout))

    async def _started(self, seconds: float) -> Sweeping:
        """The sweeping as a task of the loop that asks for it."""
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._forever(seconds))
        return self._sweeping

    async def _forever(self, seconds: float) -> None:
        """Sweep at once and then after each pause, until it is cancelled."""
        while True:
            await self._bridge.awaited(self._sweep)
            await asyncio.sleep(seconds)


async def _awaited(sweeping: Sweeping | None, seconds: float | None) -> bool:
    """Whether a sweeping that is cancelled now ends in time."""
    if sweeping is None:
        return True
    sweeping.cancel()
    ending = asyncio.wrap_future(sweeping) if isinstance(sweeping, Future) else sweeping
    done, _ = await asyncio.wait([ending], timeout=seconds)
    return ending in done
