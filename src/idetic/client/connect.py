"""Connecting to a server by its address and a key, with and without an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from anyio.from_thread import start_blocking_portal

from idetic.client.errors import ConnectionClosed
from idetic.client.handles import RemoteInteraction, RemoteMemory, RemoteSession
from idetic.client.line import Line
from idetic.errors import IdeticError
from idetic.library.sync import Sync


def connect(url: str, key: str, *, retries: int = 2, timeout: float = 60.0) -> RemoteMemory:
    """The memory that a key stands for, at a server: `async with connect(url, key) as memory`.

    `retries` is how often what is safe to repeat is sent again when the server is away or busy.
    Each write then carries an idempotency key; 0 sends everything once, and keys only as given.
    """
    return RemoteMemory(Line(url, key, retries=retries, timeout=timeout))


class _Sync(Sync):
    """The library's portal, for handles of the client."""

    handles: ClassVar[tuple[type, ...]] = (RemoteMemory, RemoteSession, RemoteInteraction)
    closed: ClassVar[type[IdeticError]] = ConnectionClosed


@contextmanager
def connect_sync(url: str, key: str, **options: Any) -> Iterator[Any]:
    """`with connect_sync(url, key) as memory`: as `connect`, for code without an event loop."""
    with start_blocking_portal() as portal, _Sync(connect(url, key, **options), portal) as memory:
        yield memory
