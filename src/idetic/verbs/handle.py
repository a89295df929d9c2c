"""What a verb is called on: a handle, and the transport that carries the call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from idetic.errors import DatabaseClosed, IdeticError

if TYPE_CHECKING:
    import asyncio

    from anyio.from_thread import BlockingPortal

    from idetic.model import Place
    from idetic.verbs.declaration import Verb


H = TypeVar("H", bound="SyncHandle")


class Transport(Protocol):
    """Carries a call to where memory is: in this process, or over HTTP."""

    async def perform(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> Any:
        """Run a verb at the place of a handle; its answer."""
        ...

    def stream(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> AsyncIterator[bytes]:
        """Run a verb whose answer comes in pieces."""
        ...

    async def close(self) -> None:
        """Give back what the transport holds."""
        ...


class AsyncHandle:
    """A place in memory that verbs are called on."""

    def __init__(self, transport: Transport, place: Place):
        self.transport = transport
        self.place = place

    def __repr__(self) -> str:
        place = self.place
        within = {"session": place.session_id, "interaction": place.interaction_id}
        parts = [str(self.transport), *(f"{name} {id_}" for name, id_ in within.items() if id_)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def check_open(self) -> None:
        """Persistent memory is always open; sessions and interactions override this."""

    def bound(self, verb: Verb[..., Any]) -> Callable[..., Any]:
        """A verb as a method of this handle."""
        carry = self.transport.stream if verb.streams else self.transport.perform
        return _named(partial(carry, verb, self), verb)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A verb that was declared outside the package; a type checker sees only our own."""
            from idetic.verbs.declaration import VERBS  # noqa: PLC0415 - it imports this module

            if name in VERBS:
                return self.bound(VERBS[name])
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class SyncHandle:
    """A handle seen from code without an event loop: the same verbs, without `await`.

    Calls run on the event loop of a portal, which lives in a thread of its own.
    """

    def __init__(
        self, target: Any, portal: BlockingPortal, closed: type[IdeticError] = DatabaseClosed
    ):
        self.target = target
        self._portal = portal
        # What a call raises once the `with` block that opened it has ended.
        self._closed = closed

    def beside(self, kind: type[H], target: Any) -> H:
        """Another handle on the same event loop."""
        return kind(target, self._portal, self._closed)

    def asynchronous(self) -> tuple[Any, asyncio.AbstractEventLoop]:
        """The async handle behind this one, and the loop it lives on: for framework adapters."""
        return self.target, self._portal.call(_running_loop)

    def bound(self, verb: Verb[..., Any]) -> Callable[..., Any]:
        """A verb as a method of this handle; a stream comes whole."""
        method = self.target.bound(verb)
        return _named(partial(self.run, partial(_whole, method) if verb.streams else method), verb)

    def run(self, method: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a coroutine function on the portal's event loop."""
        try:
            return self._portal.call(partial(method, *args, **kwargs))
        except RuntimeError as error:
            if "portal is not running" in str(error):
                raise self._closed from None
            raise

    def __enter__(self) -> Self:
        self.run(self.target.__aenter__)
        return self

    def __exit__(self, *error: object) -> None:
        self.run(self.target.__aexit__, *error)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target!r})"


def _named(call: partial[Any], verb: Verb[..., Any]) -> partial[Any]:
    """A call that says what it is: its name, its text and its signature are the verb's."""
    vars(call).update(__name__=verb.name, __doc__=verb.__doc__, __signature__=verb.signature)
    return call


async def _running_loop() -> asyncio.AbstractEventLoop:
    """The event loop that this runs on: called through a portal, the portal's."""
    import asyncio  # noqa: PLC0415 - importing idetic stays light

    return asyncio.get_running_loop()


async def _whole(
    method: Callable[..., AsyncIterator[bytes]], /, *args: Any, **kwargs: Any
) -> bytes:
    """All chunks of a stream as one, for callers that cannot iterate asynchronously."""
    return b"".join([chunk async for chunk in method(*args, **kwargs)])
