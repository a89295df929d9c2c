"""Logging in with an API key, and out again: plain forms, before any page has a socket.

A browser holds a random token in a cookie. The key behind the token stays in this process.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from pathlib import Path
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

import idetic
from idetic.errors import IdeticError, KeyRefused
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.surfaces.console.addresses import BASE, LOGIN, inside
from idetic.surfaces.console.markup import rendered
from idetic.surfaces.http.problems import described

ASSETS = Path(__file__).parent / "assets"
COOKIE = "idetic_console"
# After this long without a page or an action, a login has ended.
_IDLE_SECONDS = 8 * 3600
# A login costs a valid key, so this is far more than there will be; but there must be an end.
_MOST = 10_000


class Logins:
    """Tokens and the API keys they stand for. Nothing of it is written anywhere."""

    def __init__(self, db: Idetic):
        self.db = db
        # The key of each token and when it was last used, the least recent first.
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def begin(self, key: str) -> str:
        """Prove a key and return a new token for it."""
        await self.db.authenticate(key)
        token = secrets.token_urlsafe(32)
        self._known[token] = (key, time.monotonic())
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return token

    def key_of(self, token: str | None) -> str:
        """Return the key behind a token; raises KeyRefused when the login has ended."""
        key, seen = self._known.get(token or "", ("", 0.0))
        now = time.monotonic()
        if token is None or not key or now - seen > _IDLE_SECONDS:
            self.end(token)
            raise KeyRefused("You are not logged in any more.", remedy="Log in again.")
        self._known[token] = (key, now)
        self._known.move_to_end(token)
        return key

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


def login_routes(logins: Logins) -> APIRouter:
    """Make the routes `/login` and `/logout`, below the console's address."""
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
            token = await logins.begin(key)
        except IdeticError as error:
            return _form(following, error)
        logins.end(request.cookies.get(COOKIE))
        answer = RedirectResponse(following, 303)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, token, path=BASE, httponly=True, samesite="strict", secure=secure)
        return answer

    @router.post("/logout")
    async def end(request: Request) -> Response:
        """Forget the login, and have the browser drop its cookie."""
        logins.end(request.cookies.get(COOKIE))
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(COOKIE, path=BASE, httponly=True, samesite="strict")
        return answer

    return router


def _form(following: str, error: IdeticError | None = None) -> Response:
    """Fill in the form, escaped. What it says about an error is never the key."""
    told = None if error is None else described(error)
    version = idetic.__version__
    page = rendered("login.html", base=BASE, version=version, next=following, told=told)
    status = 200 if error is None else error.http_status
    return HTMLResponse(page, status, {"Cache-Control": "no-store"})
