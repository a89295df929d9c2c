"""Errors as problem+json (RFC 9457): one form, stable codes, and no text of ours behind a 5xx."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from idetic import wire
from idetic.errors import IdeticError, InputError
from idetic.ids import uuid7
from idetic.surfaces.http.request_errors import MethodRefused, RouteNotFound

MEDIA_TYPE = "application/problem+json"
log = logging.getLogger("idetic.http")

# A screenful of what is wrong with a body is enough to mend it.
_SHOWN = 20


class ProblemDetails(BaseModel):
    """What went wrong and what to do. `code` never changes its meaning; texts may be reworded."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    remedy: str
    about: dict[str, Any] = {}
    id: str | None = None


def described(error: IdeticError) -> dict[str, Any]:
    """An error as the members of a problem. What failed on our side is told by an id alone."""
    kind = type(error)
    title = (kind.__doc__ or "").strip().splitlines()[0]
    told: dict[str, Any] = {
        "type": f"urn:idetic:error:{error.code}",
        "title": title,
        "status": error.http_status,
        "detail": error.message,
        "code": error.code,
        "remedy": error.remedy,
        "about": {key: value for key, value in error.detail.items() if value is not None},
    }
    if error.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # A message from below may name hosts, paths or statements: it goes to the log.
        number = error.detail.get("problem_id") or str(uuid7())
        told |= {"detail": title, "remedy": kind.remedy, "about": {}, "id": number}
        log.error("problem %s, %s: %s", number, error.code, error.message)
    return told


def unexpected(error: BaseException) -> IdeticError:
    """What nobody foresaw, as an error of ours. Its message may hold content and is not logged."""
    number, frames = str(uuid7()), "".join(traceback.format_tb(error.__traceback__))
    log.error("problem %s, unexpected %s:\n%s", number, type(error).__name__, frames)
    return IdeticError(problem_id=number)


def response(error: IdeticError) -> Response:
    """An error as an answer."""
    headers: dict[str, str] = {}
    if error.http_status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if error.http_status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = str(error.detail.get("retry_after", 1))
    if "allow" in error.detail:
        headers["Allow"] = error.detail["allow"]
    content = wire.as_json(described(error))
    return Response(content, error.http_status, headers, MEDIA_TYPE)


def handle(app: FastAPI) -> None:
    """Have an application tell every error in this form."""
    app.add_exception_handler(IdeticError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(Exception, _ours)


async def _ours(_: Request, error: Exception) -> Response:
    """Answer an error of ours as it is, and any other as one that nobody foresaw."""
    return response(error if isinstance(error, IdeticError) else unexpected(error))


async def _invalid(_: Request, error: Exception) -> Response:
    """Answer a request that does not have the form its address takes."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    return response(refused(found))


def refused(found: Sequence[Mapping[str, Any]]) -> InputError:
    """What pydantic found, without the values that it found it in."""
    problems = [
        {"where": ".".join(map(str, each["loc"])), "what": each["msg"]} for each in found[:_SHOWN]
    ]
    first = problems[0] if problems else {"where": "the request", "what": "unreadable"}
    return InputError(
        f"{first['where']}: {first['what']}.",
        remedy="See /openapi.json for what this address takes; nothing was written.",
        problems=problems,
    )


async def _of_the_framework(request: Request, error: Exception) -> Response:
    """Answer the framework's own refusals in our form."""
    status = error.status_code if isinstance(error, HTTPException) else 0
    if status == HTTPStatus.NOT_FOUND:
        return response(RouteNotFound())
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return response(MethodRefused(allow=", ".join(_methods(request))))
    return response(InputError("The request cannot be read."))


def _methods(request: Request) -> list[str]:
    """What an address takes; the framework names the methods of its first route alone."""
    found: set[str] = set()
    for path, operations in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.url.path):
            found |= {method.upper() for method in operations}
    return sorted(found)
