"""The application: routes behind the door, errors in one form, an OpenAPI that says so."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

import idetic
from idetic.library.idetic import Idetic
from idetic.surfaces.http import problems
from idetic.surfaces.http.door import Door
from idetic.surfaces.http.limits import Limits
from idetic.surfaces.http.routes import (
    about,
    asking,
    auditing,
    governing,
    lookups,
    maturing,
    moving,
    overseeing,
    places,
    reading,
    upkeep,
    writing,
)

_ABOUT = (
    "Governed memory for AI agents. Every request under `/v1` carries an API key, and acts within "
    "that key's scope: its agent, anchor and principal. No parameter names another."
)
_ROUTERS = (
    places.router,
    writing.router,
    asking.router,
    lookups.router,
    reading.router,
    overseeing.router,
    maturing.router,
    governing.router,
    auditing.router,
    moving.router,
    upkeep.router,
    about.router,
    about.probes,
)


class _Api(FastAPI):
    """An application whose OpenAPI has problems under their own media type."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI, made once."""
        if self.openapi_schema is None:
            made = super().openapi()
            for operations in made["paths"].values():
                for operation in operations.values():
                    _as_problems(operation["responses"])
        return super().openapi()


def _as_problems(responses: dict[str, dict[str, Any]]) -> None:
    """The framework writes every additional response down as plain JSON."""
    for status, response in responses.items():
        if status[0] in "45":
            response["content"] = {problems.MEDIA_TYPE: response["content"]["application/json"]}


def create_api(db: Idetic) -> FastAPI:
    """The routes alone, without the door: what the OpenAPI is made from."""
    # No pages of documentation: they would load scripts from elsewhere into a place with keys.
    api = _Api(
        title="Idetic",
        version=idetic.__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
    )
    api.state.db = db
    for router in _ROUTERS:
        api.include_router(router)
    problems.handle(api)
    return api


def create_app(db: Idetic, limits: Limits | None = None) -> ASGIApp:
    """An open database as an application for any ASGI server."""
    return guarded(create_api(db), db, limits)


def guarded(api: FastAPI, db: Idetic, limits: Limits | None = None) -> ASGIApp:
    """An application behind the door, without which nothing may be served."""
    return Door(api, db, limits or Limits())
