"""The guard before every page, asset and socket of the console.

A browser sends our cookies along with a request that another site made it send, and any site may
open a socket to any host. So a request that changes something must come from a page of ours: its
`Origin` names the host that was asked, and a socket belongs to the login whose page opened it.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from nicegui import Client
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from idetic.errors import KeyRefused
from idetic.surfaces.console.login import COOKIE, Logins

# The key of a page's storage that holds the token of the login it was made for.
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


@dataclass(slots=True)
class OriginGuard:
    """Middleware that refuses requests of other sites, and adds the browser's rules to answers."""

    app: ASGIApp
    logins: Logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or socket."""
        answer = self.app
        if scope["type"] == "websocket" and not self._owns(HTTPConnection(scope)):
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "http":
            answer = _refusal(HTTPConnection(scope), scope["method"]) or self.app
            send = _with_rules(send)
        await answer(scope, receive, send)

    def _owns(self, asked: HTTPConnection) -> bool:
        """Whether a socket comes from a page of the login whose cookie it carries."""
        token = asked.cookies.get(COOKIE)
        try:
            self.logins.key_of(token)
        except KeyRefused:
            return False
        named = parse_qs(asked.url.query).get("client_id", [""])[0]
        client = Client.instances.get(named)
        # NiceGUI forgets a page that was away for long, and has the browser load it again.
        owned = bool(named) and (client is None or client.storage.get(OWNER) == token)
        return owned and same_origin(asked)


def same_origin(asked: HTTPConnection) -> bool:
    """Whether a request says that it comes from the host it was sent to."""
    origin = urlsplit(asked.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == asked.headers.get("host")


def _refusal(asked: HTTPConnection, method: str) -> PlainTextResponse | None:
    """Return the answer to a request that is refused; None for one that may go on."""
    if _SOCKET in asked.url.path:
        # The socket's fallback of repeated requests would keep a stopping server waiting.
        return PlainTextResponse("Only as a websocket.", 404)
    if method not in ("GET", "HEAD") and not same_origin(asked):
        return PlainTextResponse("This came from another site; open the console itself.", 403)
    return None


def _with_rules(send: Send) -> Send:
    """Wrap `send` so that every answer carries the browser's rules."""

    async def ruled(message: Message) -> None:
        """Send a message on; the start of an answer gets the headers."""
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return ruled
