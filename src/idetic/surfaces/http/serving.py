"""Serving until told to stop: accept, and then finish what was accepted before closing anything."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from idetic.errors import InputError
from idetic.jobs.worker import Worker
from idetic.library.idetic import Idetic
from idetic.surfaces.http.app import create_app
from idetic.surfaces.http.limits import Limits

# How long a request that was accepted may still take once the server is asked to stop.
DRAIN_SECONDS = 30
# Longer than clients and proxies keep a connection: else one may write to what was just closed.
KEEP_ALIVE_SECONDS = 65
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Server(uvicorn.Server):
    """uvicorn's server, told to stop by us: it would raise the signal again at the end."""

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


async def serve(
    db: Idetic,
    *,
    host: str,
    port: int,
    limits: Limits | None = None,
    worker: bool = True,
    ready: Callable[[str], None],
) -> None:
    """Serve an open database until SIGTERM or Ctrl-C; `ready` is told the address.

    What was accepted is answered first. Then the worker stops, and the caller closes the database.
    """
    config = uvicorn.Config(
        create_app(db, limits),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    listening = _listen(host, port)
    server, working = _Server(config), Worker(db) if worker else None
    background = asyncio.create_task(working.run()) if working else None
    if background is not None:
        # A worker that ends by itself has failed: whoever watches the process must see it end too.
        background.add_done_callback(lambda _: server.stop())
    try:
        ready(_address(listening))
        await server.serve(sockets=[listening])
    finally:
        listening.close()
        if working is not None and background is not None:
            working.stop()
            await background


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"Nothing can listen at {host!r}, port {port}: {why}.",
            remedy="Choose another --host or --port; port 0 takes a free one.",
        ) from None


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
