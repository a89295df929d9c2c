"""Authentication: every request passes here before anything else looks at it.

In this order: who asks (the key, and so the scope), how often, how many at once, how much. Nothing
of a body is read before. Whatever goes wrong behind it is answered as a problem; an error that
nobody foresaw is answered by its id alone.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from idetic.errors import IdeticError, KeyRefused
from idetic.gates.crossing import Turns, in_haste, on_behalf_of
from idetic.library.idetic import Idetic
from idetic.surfaces.http import problems
from idetic.surfaces.http.request_errors import BodyTooLarge, BodyTooSlow, RateLimited

GUARDED = "/v1/"
log = logging.getLogger("idetic.http")
_NO_STORE = (b"cache-control", b"no-store")
_CLOSE = (b"connection", b"close")

# A body of more bytes is a large one.
LARGE = 32 << 10

# A text of JSON as a whole, and what a value or a name stands after.
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BEFORE = (b"{", b"[", b",", b":")

# A tenant's next large body waits for so long after one that was refused: a refusal is quick, and
# four connections with nothing else made another tenant's recall take eight times as long.
_AFTER_REFUSAL = 0.5

# Keys that were never made take a place too, so there must be an end to them.
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes. `rate` is requests per second for each key, after `burst` at once.

    `at_once` is how many requests of one tenant are worked on together; the others wait their turn.
    It is half of the pool, so that one tenant cannot take all connections. `open_bytes` is the body
    of a request that needs no key. A body has `body_seconds` to come, and each piece of an answer
    `send_seconds` to be taken.

    A body is read on the event loop, and that takes as long as it holds values and names: 1,300,000
    empty objects in 4 MB made everybody wait for 28 s, so many objects of one text for 1.
    """

    body_bytes: int = 4 << 20
    body_values: int = 100_000
    open_bytes: int = 64 << 10
    rate: float = 200.0
    burst: int = 400
    at_once: int = 5
    body_seconds: float = 30.0
    send_seconds: float = 60.0


class Rates:
    """A bucket of requests for each key, refilled as time passes.

    A bucket belongs to the whole key as it was sent, secret included: who knows only a key's id
    cannot use it up. It is asked before the database is, and knows nothing of what keys exist.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic):
        self._limits = limits
        self._clock = clock
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def take(self, key: bytes) -> None:
        """Count one request; raises RateLimited when the bucket is empty."""
        now, name = self._clock(), hashlib.sha256(key).digest()
        left, since = self._buckets.pop(name, (float(self._limits.burst), now))
        left = min(self._limits.burst, left + (now - since) * self._limits.rate)
        self._buckets[name] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) / self._limits.rate)
            raise RateLimited(retry_after=max(1, wait))


class Authentication:
    """Lets a request in with the memory that its key stands for, in `scope["state"]`."""

    def __init__(self, app: ASGIApp, db: Idetic, limits: Limits):
        self._app = app
        self._db = db
        self._limits = limits
        self._rates = Rates(limits)
        self._turns = Turns(limits.at_once)
        self._large_turns = Turns(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answered = _Answered(send, self._limits.send_seconds)
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
            # A page of the console brings a dozen files along, which say nothing.
            level = logging.DEBUG if answered.kept else logging.INFO
            log.log(level, "%s %s %s %.1f ms", scope["method"], route, answered.status, taken)

    async def _enter(self, scope: Scope, receive: Receive, send: _Answered) -> None:
        """Let a request in once its key, where one is needed, and its body are checked."""
        if not scope["path"].startswith(GUARDED):
            await self._work(scope, receive, send, self._limits.open_bytes)
            return
        key = _key(scope)
        # Before the database is asked: a request over the rate costs it nothing.
        self._rates.take(key.encode("latin-1"))
        memory = await self._db.authenticate(key)
        scope.setdefault("state", {})["memory"] = memory
        tenant = str(next(iter(memory.scope.anchor.values()), ""))
        async with self._turns.taken(tenant):
            with on_behalf_of(tenant):
                await self._work(scope, receive, send, self._limits.body_bytes, tenant)

    async def _work(
        self,
        scope: Scope,
        receive: Receive,
        send: _Answered,
        limit: int,
        tenant: str | None = None,
    ) -> None:
        """Read the body, within its bounds, and pass the request on.

        Large ones of one tenant are worked on one after the other, up to their commit: each keeps a
        thread and a server process busy, and several at once would leave others neither. The thread
        gives way to what is small.
        """
        try:
            with anyio.fail_after(self._limits.body_seconds):
                body = await _body(scope, receive, limit)
        except TimeoutError:
            raise BodyTooSlow(
                f"The body did not arrive within {self._limits.body_seconds:.0f} s."
            ) from None
        except BodyTooLarge:
            # Who sends too much by mistake reads why: the server takes the rest and forgets it.
            send.read = True
            raise
        send.read = True
        if body is None:
            return
        again = _replaying(body, receive)
        if tenant is None or len(body) <= LARGE:
            with in_haste():
                await self._app(scope, again, send)
            return
        async with self._large_turns.taken(tenant):
            try:
                check_values(body, self._limits.body_values)
                await self._app(scope, again, send)
            finally:
                if send.status is None or send.status >= HTTPStatus.BAD_REQUEST:
                    await anyio.sleep(_AFTER_REFUSAL)


class _Answered:
    """Sends on, remembers the status, and asks that nothing be kept on the way.

    A caller who does not take a piece in time is left: whatever makes the answer is not held up.
    """

    def __init__(self, send: Send, patience: float):
        self._send = send
        self._patience = patience
        self.status: int | None = None
        self.kept = False
        self.read = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = [*message.get("headers", ())]
            # What says itself how long it may be kept is no answer of memory: the console's files.
            self.kept = any(
                name == b"cache-control" and value != b"no-store" for name, value in given
            )
            if not any(name == b"cache-control" for name, _ in given):
                given.append(_NO_STORE)
            if not self.read:
                # What was refused unread is not waited for: the connection ends with the answer.
                given.append(_CLOSE)
            message = {**message, "headers": given}
        with anyio.fail_after(self._patience):
            await self._send(message)


def _key(scope: Scope) -> str:
    """The bearer key of a request; raises KeyRefused if there is none."""
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
    # What was declared may be wrong or missing, so what comes is counted too.
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
    """The refusal of a body that is over its bound."""
    return BodyTooLarge(f"The body is larger than {limit:,} bytes.", limit=limit)


def check_values(body: bytes, most: int) -> None:
    """Refuse a body of more values and names than are read; what texts hold does not count.

    Each text is one of them, so no more texts than that are looked for.
    """
    bare = _TEXT.sub(b"", body, most)
    if sum(map(bare.count, _BEFORE)) > most:
        raise BodyTooLarge(f"The body holds more than {most:,} values and names.", values=most)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already, then goes on with the connection's."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
