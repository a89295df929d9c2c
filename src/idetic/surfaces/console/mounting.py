"""Mounting the console on the HTTP server's application. Once in a process: NiceGUI is global."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request, Response
from nicegui import app, ui
from starlette.responses import RedirectResponse

from idetic.library.idetic import Idetic
from idetic.surfaces.console.addresses import BASE, at
from idetic.surfaces.console.guard import Guard
from idetic.surfaces.console.login import ASSETS, login_routes
from idetic.surfaces.console.logins import Logins
from idetic.surfaces.console.pages import PAGES
from idetic.surfaces.console.shell import first_page, nowhere, shown

# Long enough for a page that asks the model for the first time.
_PATIENCE = 60.0
# How long a page may be without its socket, on a train or behind a busy machine.
_AWAY = 30.0


def mount(api: FastAPI, db: Idetic) -> None:
    """Serve the console below `/console`, and send `/` there."""
    logins = Logins()
    # It quotes what it was given, which may be content; `shell` tells of errors instead.
    logging.getLogger("nicegui").disabled = True
    app.config.socket_io_js_transports = ["websocket"]
    app.include_router(login_routes(db, logins))
    app.add_static_files("/assets", ASSETS)
    for page in PAGES:
        ui.page(page.path, response_timeout=_PATIENCE)(shown(page, db, logins))
    ui.page("/", response_timeout=_PATIENCE)(first_page(db, logins))

    @api.get("/", include_in_schema=False)
    async def home() -> Response:
        return RedirectResponse(at("/"))

    @api.get(BASE, include_in_schema=False)
    async def base(_: Request) -> Response:
        return RedirectResponse(at("/"))

    ui.run_with(
        api,
        root=nowhere(db, logins),
        mount_path=BASE,
        title="Idetic",
        favicon=ASSETS / "icon.svg",
        dark=None,
        language="en-US",
        reconnect_timeout=_AWAY,
        tailwind=False,
        show_welcome_message=False,
    )
    app.add_middleware(Guard, logins=logins)
