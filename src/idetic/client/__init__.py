"""Memory behind a server, by its address and a key: the library's handles over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anyio.from_thread import start_blocking_portal

from idetic.client.client_errors import ConnectionClosed
from idetic.client.runners import connect_runner
from idetic.client.transport import HttpTransport
from idetic.library.handles import Memory
from idetic.library.sync import SyncMemory

__all__ = ["connect", "connect_runner", "connect_sync"]


def connect(url: str, key: str, *, retries: int = 2, timeout: float = 60.0) -> Memory:
    """The memory that a key stands for, at a server: `async with connect(url, key) as memory`.

    `retries` is how often what is safe to repeat is sent again when the server is away or busy.
    Each write then carries an idempotency key; 0 sends everything once, and keys only as given.
    """
    return Memory(HttpTransport(url, key, retries=retries, timeout=timeout))


@contextmanager
def connect_sync(
    url: str, key: str, *, retries: int = 2, timeout: float = 60.0
) -> Iterator[SyncMemory]:
    """`with connect_sync(url, key) as memory`: as `connect`, for code without an event loop."""
    with start_blocking_portal() as portal:
        target = connect(url, key, retries=retries, timeout=timeout)
        with SyncMemory(target, portal, ConnectionClosed) as memory:
            yield memory
