"""What a key stands for, the spec behind it, and whether the server is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from fastapi import APIRouter, Request, Response

from idetic.errors import DatabaseUnavailable
from idetic.library.idetic import Idetic
from idetic.library.persona_access import spec_behind
from idetic.model import Capability, Principal
from idetic.spec.render import render
from idetic.surfaces.http.answers import Bound, answer, problem_answers, routes
from idetic.surfaces.http.shapes import shape
from idetic.verbs.authorization import allows

router = routes("about")
probes = APIRouter(tags=["health"])
# A database that needs longer than this for one row is not ready for more requests.
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class KeyScope:
    """What a key stands for: an agent, an anchor, a principal, and what it may do."""

    agent: str
    version: int
    anchor: Mapping[str, Any]
    principal: Principal
    capabilities: frozenset[Capability]


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server is well."""

    status: str


@router.get("/scope", response_model=shape(KeyScope), operation_id="scope")
async def scope(memory: Bound) -> Response:
    """What the key of this request stands for."""
    bound, agent = memory.scope, memory.agent
    may = frozenset(each for each in Capability if allows(agent.spec, bound, each))
    return answer(KeyScope(bound.agent, agent.version, bound.anchor, bound.principal, may))


@router.get(
    "/spec/page",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
    operation_id="spec_page",
)
async def spec_page(memory: Bound) -> Response:
    """The agent's memory as a page: its answers, the defaults it accepted, its deviations."""
    return Response(render(spec_behind(memory)), media_type="text/markdown; charset=utf-8")


@router.get("/spec", response_model=dict[str, Any], operation_id="spec")
async def spec(memory: Bound) -> Response:
    """The agent's spec as data."""
    return answer(spec_behind(memory).as_data())


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
