"""The shell around every page: who is here, the menu, the search, and what happens to errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from nicegui import Client, ui
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import idetic
from idetic.errors import IdeticError, KeyRefused
from idetic.library.idetic import Idetic
from idetic.model import Capability
from idetic.surfaces.console import notices, parts
from idetic.surfaces.console.addresses import BASE, LOGIN, at
from idetic.surfaces.console.desk import Desk, open_desk
from idetic.surfaces.console.guard import OWNER
from idetic.surfaces.console.logins import COOKIE, Logins
from idetic.surfaces.console.pages import PAGES, Page

Handler = Callable[..., Awaitable[Response | None]]
_HEAD = (
    f'<link rel="stylesheet" href="{BASE}/assets/theme.css?v={idetic.__version__}">'
    f'<link rel="stylesheet" href="{BASE}/assets/work.css?v={idetic.__version__}">'
    f'<script src="{BASE}/assets/console.js?v={idetic.__version__}"></script>'
)


def shown(page: Page, db: Idetic, logins: Logins) -> Handler:
    """A page as NiceGUI calls it: behind the login, within the shell, with its errors told."""

    async def handler(request: Request) -> Response | None:
        try:
            desk = await open_desk(db, logins, request.cookies.get(COOKIE))
        except KeyRefused:
            return RedirectResponse(f"{LOGIN}?{_following(request)}", HTTPStatus.SEE_OTHER)
        if not page.open_to(desk):
            _nothing_here(desk)
            return None
        with _frame(desk, page, page.title) as main:
            try:
                await page.build(desk, request)
            except Exception as error:  # noqa: BLE001 - a page must say what went wrong, never trace
                _failed(main, error)
        return None

    return handler


def nowhere(db: Idetic, logins: Logins) -> Handler:
    """What an address without a page shows; the same as a page that this login does not have."""

    async def handler(request: Request) -> Response | None:
        try:
            _nothing_here(await open_desk(db, logins, request.cookies.get(COOKIE)))
        except KeyRefused:
            return RedirectResponse(LOGIN, HTTPStatus.SEE_OTHER)
        return None

    return handler


def _nothing_here(desk: Desk) -> None:
    with _frame(desk, None, "No such page"):
        ui.context.client.status_code = HTTPStatus.NOT_FOUND
        parts.empty("There is no such page.", "Choose one from the menu.")


def first_page(db: Idetic, logins: Logins) -> Handler:
    """Where a login begins: the first page that it has."""

    async def handler(request: Request) -> Response | None:
        try:
            desk = await open_desk(db, logins, request.cookies.get(COOKIE))
        except KeyRefused:
            return RedirectResponse(LOGIN, HTTPStatus.SEE_OTHER)
        for page in PAGES:
            if page.listed and page.open_to(desk):
                return RedirectResponse(at(page.path), HTTPStatus.SEE_OTHER)
        with _frame(desk, None, "Nothing to see"):
            parts.empty(
                "This key has no page here.",
                "It may still write through the API. Log in with a key that may read.",
            )
        return None

    return handler


def _following(request: Request) -> str:
    """The page to go on to after the login."""
    path = request.url.path.removeprefix(BASE)
    return at("", next=at(path, **dict(request.query_params))).partition("?")[2]


def _failed(main: ui.element, error: Exception) -> None:
    status = error.http_status if isinstance(error, IdeticError) else 500
    ui.context.client.status_code = status
    main.clear()
    notices.tell(error)


@contextmanager
def _frame(desk: Desk, page: Page | None, title: str) -> Iterator[ui.element]:
    """Everything but the page itself."""
    client = ui.context.client
    client.storage[OWNER] = desk.token
    client.title = f"{title} · Idetic"
    client.on_exception(notices.tell)
    ui.add_head_html(_HEAD)
    _no_second_main(client)
    parts.link("Skip to the page", "#main", "skip")
    _header(desk)
    with parts.text("div", cls="below"):
        _menu(desk, page)
        with parts.text("main", id="main", tabindex="-1"):
            with parts.text("div", cls="title"):
                parts.heading(title, 1)
            notices.place()
            with parts.text("div", cls="page") as main:
                yield main


def _no_second_main(client: Client) -> None:
    """NiceGUI's page is a `main` around everything; the one that counts is ours, below the menu."""
    around = client.content.parent_slot
    if around is not None:
        around.parent.tag = "div"


def _header(desk: Desk) -> None:
    with parts.text("header", cls="top"):
        with parts.link("", at("/"), "brand", aria_label="Idetic console, first page"):
            parts.text("img", src=f"{BASE}/assets/icon.svg", alt="", width="26", height="26")
            parts.text("span", "Idetic")
        if desk.may(Capability.READ) and not desk.customer and not desk.actor:
            with parts.asking(at("/explore"), "search", role="search"):
                parts.text(
                    "input",
                    id="search",
                    type="search",
                    name="q",
                    placeholder="Search memory  ( / )",
                    aria_label="Search memory",
                )
        with parts.text("div", cls="who"):
            principal = desk.principal
            parts.text("span", f"{principal.kind}: {principal.name}", "who-name")
            # What an agent of two personas is called says that there are two.
            agent = desk.anchor["agent_id"] if desk.actor else desk.spec.title
            parts.text("span", agent, "who-agent quiet")
        theme = parts.text(
            "button", "", "button plain", type="button", aria_label="Change between light and dark"
        )
        theme.on("click", js_handler="() => window.ideticTheme()")
        with theme:
            parts.icon("contrast")
        with parts.text("form", method="post", action=f"{BASE}/logout"):
            parts.text("button", "Log out", "button plain", type="submit")


def _menu(desk: Desk, current: Page | None) -> None:
    with parts.text("nav", cls="menu", aria_label="Pages"), parts.text("ul"):
        for page in PAGES:
            if page.listed and page.open_to(desk):
                with parts.text("li"):
                    here = "page" if page is current else None
                    with parts.link("", at(page.path), aria_current=here):
                        parts.icon(page.icon)
                        parts.text("span", page.title)
