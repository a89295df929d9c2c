"""The server that HTTP and MCP share: it listens at an address and serves until it is stopped."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from idetic.errors import InputError

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Server(uvicorn.Server):
    """uvicorn's server with signal handlers of ours: its own raise the signal again at the end.

    `ready` is called once it serves and heeds signals, not before.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]):
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def stop(self) -> None:
        """Take no more, and answer what was taken; asked twice, end at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen for the signals that mean to stop."""
        loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            loop.add_signal_handler(each, self.stop)
        try:
            yield
        finally:
            for each in _SIGNALS:
                loop.remove_signal_handler(each)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an address that cannot be had is bad input."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"Nothing can listen at {host!r}, port {port}: {why}.",
            remedy="Choose another --host or --port; port 0 takes a free one.",
        ) from None
    # Connections inherit it. asyncio sets it only on sockets whose protocol is named, and without
    # it an answer in two parts waits 40 ms for the first one's acknowledgement (bench.http).
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address(listening: socket.socket) -> str:
    """Where it listens, as a client writes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
