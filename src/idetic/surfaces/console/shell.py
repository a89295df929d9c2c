"""The shell around every page: the login before it, the menu, the search and the errors.

`mount` serves the console on the HTTP server's application, once in a process: NiceGUI is global.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from nicegui import app, ui
from starlette.responses import RedirectResponse

import idetic
from idetic.errors import IdeticError, KeyRefused
from idetic.library.idetic import Idetic
from idetic.model import Capability
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import BASE, at
from idetic.surfaces.console.login import ASSETS, Logins, login_routes
from idetic.surfaces.console.login_links import LoginLinks
from idetic.surfaces.console.markup import part, show
from idetic.surfaces.console.origin_guard import OWNER, OriginGuard
from idetic.surfaces.console.page_context import PageContext, open_context
from idetic.surfaces.console.pages import PAGES, ConsolePage

Answer = Callable[[PageContext], Awaitable[Response | None]]
_HEAD = (
    f'<link rel="stylesheet" href="{BASE}/assets/theme.css?v={idetic.__version__}">'
    f'<link rel="stylesheet" href="{BASE}/assets/work.css?v={idetic.__version__}">'
    f'<script src="{BASE}/assets/console.js?v={idetic.__version__}"></script>'
)
# Long enough for a page that asks the model for the first time.
_LOAD_SECONDS = 60.0
# How long a page may be without its socket, on a train or behind a busy machine.
_AWAY_SECONDS = 30.0


def mount(api: FastAPI, db: Idetic, links: LoginLinks | None = None) -> None:
    """Serve the console below `/console`, and send `/` there; `links` log in without a key."""
    logins = Logins(db)
    # It quotes what it was given, which may be content; the shell tells of errors instead.
    logging.getLogger("nicegui").disabled = True
    app.config.socket_io_js_transports = ["websocket"]
    app.include_router(login_routes(logins, links))
    app.add_static_files("/assets", ASSETS)
    for page in PAGES:
        answer = _behind_login(logins, partial(_show, page), come_back=True)
        ui.page(page.path, response_timeout=_LOAD_SECONDS)(answer)
    ui.page("/", response_timeout=_LOAD_SECONDS)(_behind_login(logins, _first_page))

    @api.get("/", include_in_schema=False)
    @api.get(BASE, include_in_schema=False)
    async def home() -> Response:
        return RedirectResponse(at("/"))

    ui.run_with(
        api,
        root=_behind_login(logins, _no_page),
        mount_path=BASE,
        title="Idetic",
        favicon=ASSETS / "icon.svg",
        dark=None,
        language="en-US",
        reconnect_timeout=_AWAY_SECONDS,
        tailwind=False,
        show_welcome_message=False,
    )
    app.add_middleware(OriginGuard, logins=logins)


def _behind_login(
    logins: Logins, answer: Answer, *, come_back: bool = False
) -> Callable[[Request], Awaitable[Response | None]]:
    """Make a handler for NiceGUI that sends whoever is not logged in to the login."""

    async def handler(request: Request) -> Response | None:
        """Answer for a login that holds; lead any other to the form, and then back if asked."""
        try:
            context = await open_context(logins, request)
        except KeyRefused:
            path = request.url.path.removeprefix(BASE)
            following = at(path, **dict(request.query_params)) if come_back else None
            return RedirectResponse(at("/login", next=following), HTTPStatus.SEE_OTHER)
        return await answer(context)

    return handler


async def _show(page: ConsolePage, context: PageContext) -> Response | None:
    """Show a page, or what went wrong with it; to others than its readers there is no such page."""
    if not page.open_to(context):
        return await _no_page(context)
    with _frame(context, page.titled(context), page) as place:
        try:
            await page.build(context)
        except Exception as error:  # noqa: BLE001 - a page must say what went wrong, never trace
            status = error.http_status if isinstance(error, IdeticError) else 500
            ui.context.client.status_code = status
            place.clear()
            el.tell_error(error)
    return None


async def _no_page(context: PageContext) -> Response | None:
    """Answer 404: there is no such page, or none that this login may know of."""
    with _frame(context, "No such page"):
        ui.context.client.status_code = HTTPStatus.NOT_FOUND
        part("empty", "There is no such page.", "Choose a page from the menu.")
    return None


async def _first_page(context: PageContext) -> Response | None:
    """Lead to the first page that a login has."""
    for page in PAGES:
        if page.listed and page.open_to(context):
            return RedirectResponse(at(page.path), HTTPStatus.SEE_OTHER)
    with _frame(context, "Nothing to see"):
        part(
            "empty",
            "This key has no page here.",
            "This key may only write, through the API. Log in with a key that may read.",
        )
    return None


@contextmanager
def _frame(
    context: PageContext, title: str, page: ConsolePage | None = None
) -> Iterator[ui.element]:
    """Build everything around a page, and yield the place for its elements."""
    client = ui.context.client
    client.storage[OWNER] = context.token
    client.title = f"{title} · Idetic"
    client.on_exception(el.tell_error)
    ui.add_head_html(_HEAD)
    # NiceGUI wraps everything in a `main`; the one that counts is ours, below the menu.
    if client.content.parent_slot is not None:
        client.content.parent_slot.parent.tag = "div"
    _header(context)
    with el.text("div", cls="below"):
        pages = [each for each in PAGES if each.listed and each.open_to(context)]
        show("menu.html", pages=pages, current=page)
        with el.text("main", id="main", tabindex="-1"):
            with el.text("div", cls="title"):
                el.text("h1", title)
            el.notices()
            with el.text("div", cls="page") as place:
                yield place


def _header(context: PageContext) -> None:
    """Show the bar above every page: whose memory, search, who is logged in, and the logout."""
    # The search leads to the explorer, which customers and Actors do not have.
    searches = context.may(Capability.READ) and not context.customer and not context.actor
    # The title of an agent with two personas says that there are two.
    agent = "" if context.actor else context.spec.title
    show("header.html", base=BASE, searches=searches, context=context, agent=agent)
