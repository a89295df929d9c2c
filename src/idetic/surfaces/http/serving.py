"""Serving until told to stop: accept, and then finish what was accepted before closing anything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from idetic.jobs.worker import Worker
from idetic.library.idetic import Idetic
from idetic.surfaces.http.app import create_api, guarded
from idetic.surfaces.http.authentication import Limits
from idetic.surfaces.http.connections import ConnectionBounds, bounded
from idetic.surfaces.listening import Server, address, listen

# How long a request that was accepted may still take once the server is asked to stop.
DRAIN_SECONDS = 30
# Longer than clients and proxies keep a connection: else one may write to what was just closed.
KEEP_ALIVE_SECONDS = 65
# How long a thread that computes keeps the interpreter from the event loop. While a thread gated a
# wall of digits, a task that slept 2 ms woke 8.5 to 15.0 ms late on average with Python's own 5 ms,
# and 3.0 to 5.8 ms late with this (4 rounds of each in turn, a busy machine with 2 cores).
SWITCH_SECONDS = 0.0005


async def serve(
    db: Idetic,
    *,
    host: str,
    port: int,
    limits: Limits | None = None,
    worker: bool = True,
    console: Callable[[FastAPI, Idetic], None] | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve an open database until SIGTERM or Ctrl-C; `ready` is told the address.

    What was accepted is answered first. Then the worker stops, and the caller closes the database.
    `console` mounts pages on the application; they need sockets, which the API does not.
    """
    # A thread that reads a long batch gives way to the requests after this, not after 5 ms.
    sys.setswitchinterval(SWITCH_SECONDS)
    api = create_api(db)
    if console is not None:
        console(api, db)
    listening = listen(host, port)
    config = _config(guarded(api, db, limits), sockets=console is not None)
    server = Server(config, lambda: ready(address(listening)))
    working = Worker(db) if worker else None
    background = asyncio.create_task(working.run()) if working else None
    if background is not None:
        # A worker that ends by itself has failed: whoever watches the process must see it end too.
        background.add_done_callback(lambda _: server.stop())
    try:
        await server.serve(sockets=[listening])
    finally:
        listening.close()
        if working is not None and background is not None:
            working.stop()
            await background


def _config(app: ASGIApp, *, sockets: bool) -> uvicorn.Config:
    """The server's settings; sockets and lifespan events are for the console alone."""
    return uvicorn.Config(
        app,
        # Authentication logs each request, by its route and never by the address as sent.
        log_config=None,
        access_log=False,
        lifespan="on" if sockets else "off",
        ws="websockets-sansio" if sockets else "none",
        server_header=False,
        http=bounded(ConnectionBounds()),
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
