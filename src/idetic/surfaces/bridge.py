"""The bridge from a framework's calls, blocking or not, to the loop that the database lives on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from idetic.errors import DatabaseClosed, InputError
from idetic.library.handles import Memory
from idetic.verbs.handle import SyncHandle

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]


class BlockingRefused(InputError, asyncio.InvalidStateError):
    """This call would block the event loop that it waits for."""

    code = "blocking_call"
    remedy = "Await the asynchronous form of the method, or call it from a thread."


class Bridge:
    """Runs calls where the memory's database was opened, from any thread and any other loop.

    Made from a `Memory` within its event loop, or from one of `open_sync` anywhere.
    """

    def __init__(self, memory: Memory | SyncHandle):
        self.memory: Memory
        self._loop: asyncio.AbstractEventLoop
        if isinstance(memory, SyncHandle):
            self.memory, self._loop = memory.asynchronous()
            return
        self.memory = memory
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise InputError(
                "An asynchronous memory was given outside of an event loop.",
                remedy="Make the adapter within `async with Idetic.open()`, or use `open_sync`.",
            ) from None

    async def awaited(self, call: Call[T]) -> T:
        """The call's result, for code that can await it."""
        if asyncio.get_running_loop() is self._loop:
            return await call()
        self._check_open()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), self._loop))

    def blocking(self, call: Call[T]) -> T:
        """The call's result, for code that cannot."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self._loop:
            raise BlockingRefused
        self._check_open()
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def _check_open(self) -> None:
        """A loop that has ended took its database with it."""
        if self._loop.is_closed():
            raise DatabaseClosed
