"""The application: the verbs' routes behind authentication, and an OpenAPI that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import anyio
from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import BaseModel
from starlette.types import ASGIApp

import idetic
from idetic.errors import DatabaseUnavailable
from idetic.library.idetic import Idetic
from idetic.spec.render import render
from idetic.surfaces.http import problems
from idetic.surfaces.http.authentication import Authentication, Limits
from idetic.surfaces.http.responses import Bound, answer, problem_answers, routes
from idetic.surfaces.http.schemas import shape
from idetic.surfaces.http.verb_routes import verb_routes
from idetic.surfaces.request_forms import FORBID, Id
from idetic.verbs.authorization import readable_spec

_ABOUT = (
    "Governed memory for AI agents. Every request under `/v1` carries an API key, and acts within "
    "that key's scope: its agent, anchor and principal. No parameter names another."
)
# A database that needs longer than this for one row is not ready for more requests.
_PATIENCE = 5.0

places = routes("sessions")
pages = routes("about")
probes = APIRouter(tags=["health"])


class OpenBody(BaseModel):
    """The id of a scope: name it yourself and a repeated request opens it once."""

    model_config = FORBID

    id: Id | None = None


@dataclass(frozen=True, slots=True)
class OpenedScope:
    """A session or interaction that is open, by its id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server is well."""

    status: str


@places.post("/sessions", response_model=shape(OpenedScope), operation_id="open_session")
async def open_session(memory: Bound, body: OpenBody) -> Response:
    """Open a session, or resume one that is open."""
    session = await memory.session(body.id).open()
    return answer({"id": session.id})


@places.post(
    "/sessions/{session_id}/interactions",
    response_model=shape(OpenedScope),
    operation_id="open_interaction",
)
async def open_interaction(memory: Bound, session_id: UUID, body: OpenBody) -> Response:
    """Open an interaction within a session, or resume one that is open."""
    interaction = await memory.session(session_id).interaction(body.id).open()
    return answer({"id": interaction.id})


@pages.get(
    "/spec/page",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
    operation_id="spec_page",
)
async def spec_page(memory: Bound) -> Response:
    """The agent's memory as a page: its answers, the defaults it accepted, its deviations."""
    page = render(readable_spec(memory.agent.spec, memory.scope))
    return Response(page, media_type="text/markdown; charset=utf-8")


@probes.get("/healthz", response_model=shape(Health), operation_id="healthz")
async def healthz() -> Response:
    """The process answers."""
    return answer(Health("alive"))


@probes.get(
    "/readyz",
    response_model=shape(Health),
    responses={503: problem_answers()[503]},
    operation_id="readyz",
)
async def readyz(request: Request) -> Response:
    """The database answers too, so that requests can be sent here."""
    db: Idetic = request.app.state.db
    try:
        with anyio.fail_after(_PATIENCE):
            await db.spec_versions("none")
    except TimeoutError:
        raise DatabaseUnavailable from None
    return answer(Health("ready"))


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
    """The routes alone, without authentication: what the OpenAPI is made from."""
    # No pages of documentation: they would load scripts from elsewhere into a place with keys.
    api = _Api(
        title="Idetic",
        version=idetic.__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
    )
    api.state.db = db
    for router in (places, *verb_routes(), pages, probes):
        api.include_router(router)
    problems.handle(api)
    return api


def create_app(db: Idetic, limits: Limits | None = None) -> ASGIApp:
    """An open database as an application for any ASGI server."""
    return guarded(create_api(db), db, limits)


def guarded(api: FastAPI, db: Idetic, limits: Limits | None = None) -> ASGIApp:
    """An application behind authentication, without which nothing may be served."""
    return Authentication(api, db, limits or Limits())
