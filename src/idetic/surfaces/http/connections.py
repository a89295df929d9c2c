"""Connections within bounds: how many there are, and how long one may take to say what it wants.

uvicorn limits neither: a caller who sends half a head, or nothing, is waited for without end.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
else:
    Protocol = AutoHTTPProtocol


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """How many connections a server keeps, how long a head may take, and how large it may be."""

    most: int = 1_000
    head_seconds: float = 10.0
    head_bytes: int = 64 << 10


class BoundedProtocol(Protocol):
    """A connection that is closed unless it says in time what it wants."""

    bounds = ConnectionBounds()
    _late: asyncio.TimerHandle | None = None
    _sent = 0

    def connection_made(self, transport: Any) -> None:
        """Take a connection if there is room for it."""
        super().connection_made(transport)
        if len(self.connections) > self.bounds.most:
            transport.abort()
        else:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._expected()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came: once a head is whole, its request is not waited for any more."""
        before = self.cycle
        # The wait before a further request is uvicorn's own; what it begins with is ours. The rest
        # of a body that was answered unread is none.
        over = before is None or (before.response_complete and not before.more_body)
        if self._late is None and over:
            self._expect()
        super().data_received(data)
        self._sent += len(data)
        if self.cycle is not before or self.transport.get_protocol() is not self:
            # A request has begun, or the console's socket has taken the connection over.
            self._expected()
        elif self._late is not None and self._sent > self.bounds.head_bytes:
            self.transport.abort()

    def _expect(self) -> None:
        """Close the connection unless a head comes in time."""
        close, self._sent = self.transport.abort, 0
        self._late = asyncio.get_running_loop().call_later(self.bounds.head_seconds, close)

    def _expected(self) -> None:
        """Wait no longer: it came, or nobody is there."""
        if self._late is not None:
            self._late.cancel()
            self._late = None


def bounded(bounds: ConnectionBounds) -> type[asyncio.Protocol]:
    """uvicorn's protocol, whichever parser is installed, within bounds."""
    return type("BoundedProtocol", (BoundedProtocol,), {"bounds": bounds})
