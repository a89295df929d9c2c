"""Logging in with an API key, and out again: plain forms, before any page has a socket.

A browser holds a random token in a cookie. The key behind the token stays in this process.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

import idetic
from idetic.errors import IdeticError, KeyRefused
from idetic.library.anchor_names import AnchorNames
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.spec.primitives import KeyType
from idetic.surfaces.console.addresses import BASE, LOGIN, inside
from idetic.surfaces.console.login_links import ENTER, LoginLinks
from idetic.surfaces.console.markup import rendered
from idetic.surfaces.http.problems import described

ASSETS = Path(__file__).parent / "assets"
COOKIE = "idetic_console"
# After this long without a page or an action, a login has ended.
_IDLE_SECONDS = 8 * 3600
# A login costs a valid key, so this is far more than there will be; but there must be an end.
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Login:
    """One login: its key, when it was last used, and the anchor that was chosen among several."""

    key: str = field(repr=False)
    seen: float
    chosen: Mapping[str, Any] = field(default_factory=dict)


class Logins:
    """Tokens and the API keys they stand for. Nothing of it is written anywhere."""

    def __init__(self, db: Idetic):
        self.db = db
        self.names = AnchorNames(db)
        # The least recently used first.
        self._known: OrderedDict[str, _Login] = OrderedDict()

    async def begin(self, key: str) -> str:
        """Prove a key and return a new token for it."""
        await self.db.authenticate(key)
        token = secrets.token_urlsafe(32)
        self._known[token] = _Login(key, time.monotonic())
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return token

    def key_of(self, token: str | None) -> str:
        """Return the key behind a token; raises KeyRefused when the login has ended."""
        return self._login(token).key

    def chosen(self, token: str | None) -> Mapping[str, Any]:
        """Return the keys of the anchor that a login chose; none if it looks at all of them."""
        return self._login(token).chosen

    async def choose(self, token: str | None, given: Mapping[str, str]) -> None:
        """Keep the anchor that a form names; refused if the login's key does not cover it."""
        memory = await self.memory(token)
        keys = {key.name: key.type for key in memory.agent.spec.anchor.keys}
        opened = {name for name, value in memory.scope.anchor.items() if value is None}
        named = {name: given[name] for name in opened if given.get(name)}
        anchor = {n: int(v) if keys[n] is KeyType.BIGINT else v for n, v in named.items()}
        if anchor:
            scope = memory.within(anchor).scope
            anchor = {name: scope.anchor[name] for name in anchor}
        self._known[token or ""] = replace(self._login(token), chosen=anchor)

    def _login(self, token: str | None) -> _Login:
        """Return the login of a token, used now; raises KeyRefused when it has ended."""
        found, now = self._known.get(token or ""), time.monotonic()
        if token is None or found is None or now - found.seen > _IDLE_SECONDS:
            self.end(token)
            raise KeyRefused("Your login has ended.", remedy="Log in again.")
        self._known[token] = replace(found, seen=now)
        self._known.move_to_end(token)
        return self._known[token]

    async def memory(self, token: str | None) -> Memory:
        """Return the memory of a token's key, proven anew; a key that is refused ends its login."""
        try:
            return await self.db.authenticate(self.key_of(token))
        except KeyRefused:
            self.end(token)
            raise

    def end(self, token: str | None) -> None:
        """Forget a login; one that is unknown is no error."""
        self._known.pop(token or "", None)


def login_routes(logins: Logins, links: LoginLinks | None = None) -> APIRouter:
    """Make the routes that log in and out and choose an anchor, below the console's address."""
    router = APIRouter()

    @router.get("/login")
    async def form(request: Request) -> Response:
        return _form(inside(request.query_params.get("next")))

    @router.post("/login")
    async def begin(request: Request) -> Response:
        """Prove the key, end the browser's login before it, and lead on with the new cookie."""
        sent = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        key, following = sent.get("key", "").strip(), inside(sent.get("next"))
        try:
            return _begun(logins, request, await logins.begin(key), following)
        except IdeticError as error:
            return _form(following, error)

    if links is not None:

        @router.get(ENTER + "/{secret}")
        async def enter(request: Request, secret: str) -> Response:
            """Log in with a one-time link, which is then used up."""
            host = request.client.host if request.client else None
            try:
                key = links.redeem(secret, host, request.headers)
                return _begun(logins, request, await logins.begin(key), inside(None))
            except IdeticError as error:
                return _form(inside(None), error)

    @router.post("/anchor")
    async def choose(request: Request) -> Response:
        """Keep whose memory the login looks at from now on, and lead on."""
        sent = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        # A form of ours names no other anchor; the page then shows what was shown before.
        with suppress(IdeticError, ValueError):
            await logins.choose(request.cookies.get(COOKIE), sent)
        return RedirectResponse(inside(sent.get("next")), 303)

    @router.post("/logout")
    async def end(request: Request) -> Response:
        """Forget the login, and have the browser drop its cookie."""
        logins.end(request.cookies.get(COOKIE))
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(COOKIE, path=BASE, httponly=True, samesite="strict")
        return answer

    return router


def _begun(logins: Logins, request: Request, token: str, following: str) -> Response:
    """Lead on with the cookie of a new login; the browser's login before it ends."""
    logins.end(request.cookies.get(COOKIE))
    answer = RedirectResponse(following, 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, path=BASE, httponly=True, samesite="strict", secure=secure)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _form(following: str, error: IdeticError | None = None) -> Response:
    """Fill in the form, escaped. What it says about an error is never the key."""
    told = None if error is None else described(error)
    version = idetic.__version__
    page = rendered("login.html", base=BASE, version=version, next=following, told=told)
    status = 200 if error is None else error.http_status
    return HTMLResponse(page, status, {"Cache-Control": "no-store"})
