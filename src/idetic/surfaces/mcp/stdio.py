"""The server over stdin and stdout, for a client that starts it as a process of its own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import anyio
from mcp.server.stdio import stdio_server

from idetic.errors import IdeticError
from idetic.library.idetic import Idetic
from idetic.surfaces.mcp.holders import Holder
from idetic.surfaces.mcp.server import make_server
from idetic.surfaces.mcp.sessions import Sessions


async def serve_stdio(db: Idetic, holder: Holder, *, bound: int) -> None:
    """Serve until the client closes our stdin, or a signal ends us."""
    # Before anything is said: a key that does not hold is an error of the start, not of each call.
    await holder.held(None)
    sessions = Sessions()
    server = make_server(holder, bound=bound, sessions=sessions)
    async with anyio.create_task_group() as group:
        await group.start(_leave_when_told, db)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        # What was noted matures although no worker may ever run here. If that fails, or we are
        # killed meanwhile, the session is only found later, by its lease.
        with suppress(IdeticError):
            await sessions.leave(await holder.held(None))
        group.cancel_scope.cancel()


async def _leave_when_told(db: Idetic, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            await db.close()
            # A thread waits for a line of stdin and cannot be woken; any other exit would too.
            os._exit(128 + number)
