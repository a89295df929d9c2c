"""The door: every request comes through here before anything else looks at it.

In this order: who asks (the key, and so the scope), how often, how much. What goes wrong behind
it is told in one form, and what nobody foresaw as an id without a text.
"""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from idetic.errors import IdeticError, KeyRefused
from idetic.library.idetic import Idetic
from idetic.surfaces.http import problems
from idetic.surfaces.http.errors import BodyTooLarge
from idetic.surfaces.http.limits import Limits, Rates

GUARDED = "/v1/"
log = logging.getLogger("idetic.http")
_NO_STORE = (b"cache-control", b"no-store")


class Door:
    """Lets a request in with the memory that its key stands for, in `scope["state"]`."""

    def __init__(self, app: ASGIApp, db: Idetic, limits: Limits):
        self._app = app
        self._db = db
        self._limits = limits
        self._rates = Rates(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answered = _Answered(send)
        begun = time.perf_counter()
        try:
            await self._enter(scope, receive, answered)
        except IdeticError as error:
            await problems.response(error)(scope, receive, answered)
        except Exception as error:  # noqa: BLE001 - the outermost place; a traceback must not leave
            # The framework answers what its routes did not foresee, and raises it once more.
            if answered.status is None:
                refusal = problems.response(problems.unexpected(error))
                await refusal(scope, receive, answered)
        finally:
            # The route as declared: an address as sent may hold what somebody typed by mistake.
            route = getattr(scope.get("route"), "path", "-")
            taken = (time.perf_counter() - begun) * 1000
            log.info("%s %s %s %.1f ms", scope["method"], route, answered.status, taken)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(GUARDED):
            key = _key(scope)
            self._rates.take(key.encode("latin-1"))
            scope.setdefault("state", {})["memory"] = await self._db.authenticate(key)
        body = await _body(scope, receive, self._limits.body_bytes)
        if body is not None:
            await self._app(scope, _replaying(body, receive), send)


class _Answered:
    """Sends on, remembers the status, and asks that nothing be kept on the way."""

    def __init__(self, send: Send):
        self._send = send
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), _NO_STORE]}
        await self._send(message)


def _key(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"authorization":
            kind, _, key = value.decode("latin-1").partition(" ")
            if kind.lower() == "bearer":
                return str(key.strip())
    raise KeyRefused(
        "This request carries no API key.", remedy="Send it as `Authorization: Bearer idk_…`."
    )


async def _body(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """The whole body, within its bound; None if the caller went away meanwhile."""
    declared = next((v for n, v in scope["headers"] if n == b"content-length"), b"0")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size > limit:
            raise _too_large(limit)
    return b"".join(parts)


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {limit:,} bytes.", limit=limit)


def _replaying(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
