"""The guard before every page, asset and socket of the console.

A browser sends cookies along with what another site makes it send, and any site may open a socket
to anywhere. So whoever changes something must come from a page of ours: the `Origin` has to name
the host that was asked, and a socket belongs to the login whose page it was opened by.
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from nicegui import Client
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from idetic.errors import KeyRefused
from idetic.surfaces.console.logins import COOKIE, Logins

# Where a page keeps the token of the login that it was made for.
OWNER = "login"
_SOCKET = "/_nicegui_ws/"
# Vue compiles templates and NiceGUI writes its start into the page, hence `unsafe-*`; nothing is
# fetched from, sent to or framed by another host.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


class Guard:
    """Lets in what comes from a page of ours, and sends the browser rules along with answers."""

    def __init__(self, app: ASGIApp, logins: Logins):
        self._app = app
        self._logins = logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or socket."""
        if scope["type"] == "websocket":
            if not self._owns(HTTPConnection(scope)):
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refused = _refusal(HTTPConnection(scope), scope["method"])
            await (refused or self._app)(scope, receive, _with_rules(send))
        else:
            await self._app(scope, receive, send)

    def _owns(self, asked: HTTPConnection) -> bool:
        """Whether a socket comes from a page of the login whose cookie it carries."""
        token = asked.cookies.get(COOKIE)
        try:
            self._logins.key_of(token)
        except KeyRefused:
            return False
        named = parse_qs(asked.url.query).get("client_id", [""])[0]
        client = Client.instances.get(named)
        # A page that was away for long is forgotten here: NiceGUI has it load itself again.
        owned = bool(named) and (client is None or client.storage.get(OWNER) == token)
        return owned and same_origin(asked)


def same_origin(asked: HTTPConnection) -> bool:
    """Whether a request says that it comes from the host it was sent to."""
    origin = urlsplit(asked.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == asked.headers.get("host")


def _refusal(asked: HTTPConnection, method: str) -> PlainTextResponse | None:
    if _SOCKET in asked.url.path:
        # The socket's fallback of repeated requests would keep a stopping server waiting.
        return PlainTextResponse("Only as a websocket.", 404)
    if method not in ("GET", "HEAD") and not same_origin(asked):
        return PlainTextResponse("This came from another site; open the console itself.", 403)
    return None


def _with_rules(send: Send) -> Send:
    async def ruled(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return ruled
