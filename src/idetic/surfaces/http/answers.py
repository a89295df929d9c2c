"""What every route shares: who asks, the idempotency key, how an answer is written."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response, Security
from fastapi.security import HTTPBearer

from idetic import wire
from idetic.library.handles import Memory
from idetic.surfaces.http.problems import ProblemDetails
from idetic.verbs.arguments import SHORT

# Only declares the scheme: the door has looked at the key before a route is found.
_bearer = HTTPBearer(
    auto_error=False, scheme_name="api_key", description="An API key; the scope is the key's."
)


def _memory(request: Request) -> Memory:
    memory: Memory = request.state.memory
    return memory


Bound = Annotated[Memory, Depends(_memory)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=SHORT,
        description="A repeat with the same key and body gives the first receipt; another body "
        "under the same key is refused.",
    ),
]

_PROBLEMS = {
    401: "No key, or one that does not hold.",
    403: "The key's principal may not do this, or the spec does not allow it.",
    404: "There is no such thing in the key's scope.",
    409: "The state of things does not allow it, or the key was used before.",
    413: "The body is too large.",
    422: "The input is not something memory can hold.",
    429: "Too many requests with this key; see Retry-After.",
    500: "An error that nobody foresaw, told by its id.",
    503: "The database or the model is not there; try again.",
}


def problem_answers() -> dict[int | str, dict[str, Any]]:
    """What can go wrong at every address, for the OpenAPI."""
    return {
        status: {"model": ProblemDetails, "description": said} for status, said in _PROBLEMS.items()
    }


def routes(tag: str) -> APIRouter:
    """A router whose routes need a key and tell their errors as problems."""
    return APIRouter(
        prefix="/v1", tags=[tag], dependencies=[Security(_bearer)], responses=problem_answers()
    )


def answer(value: Any) -> Response:
    """A value as an answer. Written here and not by the framework, which would copy it first."""
    return Response(wire.as_json(value), media_type="application/json")
