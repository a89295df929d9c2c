"""The sync API: the async core behind a portal. No class is written twice.

`open_sync()` gives the same handles, each behind a proxy that runs coroutines on an event
loop in a thread of its own and hands everything else through.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from idetic.errors import DatabaseClosed, IdeticError
from idetic.library.handles import Agent, Interaction, Memory, Session
from idetic.library.idetic import Idetic
from idetic.library.keys import Keys
from idetic.persona.agent import PersonaAgent
from idetic.persona.loops import Loop
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.views import ActorMemoryView, SubconsciousMemoryView


class Sync:
    """A handle seen from synchronous code: same names, no `await`."""

    handles: ClassVar[tuple[type, ...]] = (
        *(Idetic, Keys, Agent, Memory, Session, Interaction),
        *(PersonaMemory, ActorMemoryView, SubconsciousMemoryView, Loop, PersonaAgent),
    )
    closed: ClassVar[type[IdeticError]] = DatabaseClosed

    def __init__(self, target: Any, portal: BlockingPortal):
        self._target = target
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if inspect.iscoroutinefunction(value):
            return self._blocking(value)
        return self._wrapped(value) if not callable(value) else self._calling(value)

    def asynchronous(self) -> tuple[Any, asyncio.AbstractEventLoop]:
        """The async handle behind this one, and the loop it lives on: for framework adapters."""
        return self._target, self._portal.call(_running_loop)

    def __repr__(self) -> str:
        return f"Sync({self._target!r})"

    def __enter__(self) -> Any:
        return self._run(self._target.__aenter__)

    def __exit__(self, *error: Any) -> None:
        self._run(self._target.__aexit__, *error)

    def _run(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            made = self._portal.call(functools.partial(method, *args, **kwargs))
        except RuntimeError as error:
            # The portal ends with the `with` block that opened the database.
            if "portal is not running" in str(error):
                raise self.closed from None
            raise
        return self._wrapped(made)

    def _blocking(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._run(method, *args, **kwargs)

        return call

    def _calling(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._wrapped(method(*args, **kwargs))

        return call

    def _wrapped(self, value: Any) -> Any:
        handle = isinstance(value, self.handles)
        return type(self)(value, self._portal) if handle else value


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


@contextmanager
def open_sync(dsn: str | None = None, **options: Any) -> Iterator[Any]:
    """`with open_sync() as db`: as `Idetic.open`, for code without an event loop."""
    with start_blocking_portal() as portal, Sync(Idetic.open(dsn, **options), portal) as db:
        yield db
