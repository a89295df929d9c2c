"""How the server is reached: over streamable HTTP, or over stdin and stdout.

Over HTTP each request shows an API key, and that is its scope. It is stateless: no request depends
on an earlier one, so nothing can be taken over by knowing an id.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from idetic.errors import IdeticError, KeyRefused
from idetic.keys import key_id_of
from idetic.library.idetic import Idetic
from idetic.surfaces import unforeseen
from idetic.surfaces.http.connections import ConnectionBounds, bounded
from idetic.surfaces.listening import Server, address, listen
from idetic.surfaces.mcp.callers import CALLER, Caller, CallerSource, EachRequest, OneUser, Sessions
from idetic.surfaces.mcp.formatting import DEFAULT_BOUND
from idetic.surfaces.mcp.server import CONVERSING, INSTRUCTIONS, make_server

PATH = "/mcp"
# A note has 2,000 characters; no call of a tool needs a larger body.
MAX_BODY = 1 << 20
# How long requests that are being answered may take when the server is told to stop.
DRAIN_SECONDS = 10
_HERE = ("127.0.0.1", "localhost", "::1")


def make_app(db: Idetic, *, bound: int = DEFAULT_BOUND, host: str = _HERE[0]) -> Starlette:
    """The server as an ASGI application, at `/mcp`; every request needs a key."""
    manager = StreamableHTTPSessionManager(
        make_server(EachRequest(), bound=bound),
        stateless=True,
        json_response=True,
        security_settings=_local_only() if host in _HERE else None,
        max_request_body_size=MAX_BODY,
    )
    keyed = _Keyed(StreamableHTTPASGIApp(manager), db)
    # Nothing to stream between requests and no session to end, so nothing but POST.
    route = Route(PATH, endpoint=keyed, methods=["POST"])
    return Starlette(routes=[route], lifespan=lambda _: manager.run())


async def serve_http(
    db: Idetic, host: str, port: int, *, bound: int, announce: Callable[[str], None]
) -> None:
    """Serve until a signal; requests that are under way are answered."""
    listening = listen(host, port)
    config = uvicorn.Config(
        make_app(db, bound=bound, host=host),
        log_config=None,
        access_log=False,
        server_header=False,
        http=bounded(ConnectionBounds()),
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    server = Server(config, lambda: announce(f"{address(listening)}{PATH}"))
    await server.serve(sockets=[listening])


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Lets through what shows a key that holds, with the memory that the key stands for."""

    app: ASGIApp
    db: Idetic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            key = _key(scope)
            caller = Caller(self.db, await self.db.authenticate(key), str(key_id_of(key)))
        except IdeticError as error:
            await _refusal(error)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the boundary: nothing else may answer for it
            await _refusal(unforeseen.client_error(error))(scope, receive, send)
        else:
            await self.app({**scope, CALLER: caller}, receive, send)


def _key(scope: Scope) -> str:
    """The one bearer key of a request."""
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    kind, _, key = values[0].decode("latin-1").partition(" ") if len(values) == 1 else ("", "", "")
    if kind.lower() != "bearer":
        raise KeyRefused(
            "This needs an API key.", remedy="Send it as `Authorization: Bearer idk_…`."
        )
    return key.strip()


def _refusal(error: IdeticError) -> JSONResponse:
    """An error as the answer to a request; a key that is refused names its scheme too."""
    about = {"code": error.code, "message": error.message, "remedy": error.remedy}
    scheme = error.http_status == KeyRefused.http_status
    headers = {"www-authenticate": "Bearer"} if scheme else None
    return JSONResponse({"error": about}, error.http_status, headers)


def _local_only() -> TransportSecuritySettings:
    """Against pages in a browser that reach for a server on their reader's machine."""
    hosts = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")]
    return TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts]
    )


async def serve_stdio(db: Idetic, callers: CallerSource, *, bound: int) -> None:
    """Serve until the client closes our stdin, or a signal ends us."""
    # Before the first message: an invalid key is an error of the start, not of each call.
    spec, _ = await callers.scope(None)
    instructions = CONVERSING if spec.backend.conversation else INSTRUCTIONS
    sessions = Sessions()
    server = make_server(callers, bound=bound, sessions=sessions, instructions=instructions)
    async with anyio.create_task_group() as group:
        await group.start(_leave_when_told, db)
        if isinstance(callers, OneUser):
            group.start_soon(callers.prepare)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        # What was noted matures although no worker may ever run here. If that fails, or we are
        # killed meanwhile, the session is only found later, by its lease.
        with suppress(IdeticError):
            await sessions.leave(callers)
        group.cancel_scope.cancel()


async def _leave_when_told(db: Idetic, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """Close the database and end the process at the first SIGINT or SIGTERM."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            await db.close()
            # A thread waits for a line of stdin and cannot be woken; any other exit would too.
            os._exit(128 + number)
