"""What framework adapters share: the bridge to the database's loop, and messages as notes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any, TypeVar

from idetic.errors import DatabaseClosed, InputError
from idetic.library.handles import Memory
from idetic.model import Observation, Origin
from idetic.surfaces.documents import path_of
from idetic.verbs.arguments import SHORT
from idetic.verbs.handle import SyncHandle

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]


class BlockingRefused(InputError, asyncio.InvalidStateError, code="blocking_call"):
    """This call would block the event loop that it waits for."""

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

    def begun(self, call: Call[T]) -> Future[T]:
        """The call under way, for code that neither awaits it nor waits for it."""
        self._check_open()
        return asyncio.run_coroutine_threadsafe(call(), self._loop)

    def _check_open(self) -> None:
        """A loop that has ended took its database with it."""
        if self._loop.is_closed():
            raise DatabaseClosed


def message_notes(
    text: str,
    *,
    bound: int,
    namespace: Sequence[str],
    author: str,
    by_user: bool = False,
    at: datetime | None = None,
    name: str | None = None,
) -> Iterator[Observation]:
    """One message as observations, several if it is long; with a `name` it is kept once.

    A user's words keep the origin and the trust of a user, whoever hands them over.
    """
    for number, part in enumerate(_parts(text, bound)):
        key = None if name is None else f"{name}\n{number}"
        yield Observation(
            part,
            {"namespace": path_of(namespace), "author": author[:SHORT] or "unknown"},
            valid_at=at,
            heard_from=Origin.USER if by_user else None,
            idempotency_key=None if key is None else hashlib.sha256(key.encode()).hexdigest(),
        )


def _parts(text: str, bound: int) -> Iterator[str]:
    """The text in pieces of at most `bound` characters, between words where there are any."""
    rest = text.replace("\x00", "").encode(errors="replace").decode().strip()
    while rest:
        end = len(rest) if len(rest) <= bound else rest.rfind(" ", 1, bound + 1)
        piece, rest = (rest[:end], rest[end:]) if end > 0 else (rest[:bound], rest[bound:])
        rest = rest.lstrip()
        yield piece
