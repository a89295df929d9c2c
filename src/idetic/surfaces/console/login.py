"""Logging in with an API key, and out again: plain forms, before any page has a socket."""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

import idetic
from idetic.errors import IdeticError
from idetic.library.idetic import Idetic
from idetic.surfaces.console.addresses import BASE, LOGIN, inside
from idetic.surfaces.console.logins import COOKIE, Logins
from idetic.surfaces.http.problems import described

ASSETS = Path(__file__).parent / "assets"


def login_routes(db: Idetic, logins: Logins) -> APIRouter:
    """`/login` and `/logout`, below the console's address."""
    router = APIRouter()

    @router.get("/login")
    async def form(request: Request) -> Response:
        return _form(inside(request.query_params.get("next")))

    @router.post("/login")
    async def begin(request: Request) -> Response:
        sent = parse_qs((await request.body()).decode("utf-8", "replace"))
        key, following = _first(sent, "key").strip(), inside(_first(sent, "next"))
        try:
            await db.authenticate(key)
        except IdeticError as error:
            return _form(following, error, error.http_status)
        logins.end(request.cookies.get(COOKIE))
        answer = RedirectResponse(following, 303)
        answer.set_cookie(
            COOKIE,
            logins.begin(key),
            path=BASE,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    @router.post("/logout")
    async def end(request: Request) -> Response:
        logins.end(request.cookies.get(COOKIE))
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(COOKIE, path=BASE, httponly=True, samesite="strict")
        return answer

    return router


def _first(sent: dict[str, list[str]], name: str) -> str:
    return sent.get(name, [""])[0]


def _form(following: str, error: IdeticError | None = None, status: int = 200) -> Response:
    """The form; what it says about an error is escaped, and never the key."""
    notice = ""
    if error is not None:
        told = described(error)
        notice = (
            '<div class="notice bad" role="alert">'
            f"<p><strong>{html.escape(told['detail'])}</strong></p>"
            f"<p>{html.escape(told['remedy'])}</p></div>"
        )
    page = (ASSETS / "login.html").read_text("utf-8")
    filled = {
        "{{base}}": BASE,
        "{{version}}": idetic.__version__,
        "{{next}}": html.escape(following),
        "{{notice}}": notice,
    }
    for name, value in filled.items():
        page = page.replace(name, value)
    return HTMLResponse(page, status, {"Cache-Control": "no-store"})
