"""The routes, made from the verbs' declarations: path, query or body, answer, OpenAPI."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_origin
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from idetic.errors import InputError
from idetic.gates.crossing import cross
from idetic.library.handles import Interaction, Memory, Session
from idetic.surfaces.http.responses import (
    STREAMED,
    Bound,
    IdempotencyKey,
    answer,
    answer_rows,
    in_pieces,
    progressing,
    routes,
)
from idetic.surfaces.http.schemas import page_model, shape
from idetic.surfaces.request_forms import Id, arguments_of, body_model, carried
from idetic.verbs.arguments import plain
from idetic.verbs.declaration import KEY, PROGRESS, VERBS, HttpRoute, Parameter, Verb

_HOLE = re.compile(r"{(\w+)}")
_SESSION = "/sessions/{session_id}"
_INTERACTION = _SESSION + "/interactions/{interaction_id}"
# Making a noun of its model takes as long as the gates take for so many characters.
_MODEL = 40
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def place_of(
    memory: Memory, session_id: UUID | None = None, interaction_id: UUID | None = None
) -> Memory | Session | Interaction:
    """Where a request takes place; whether that is still open is for the write to find out."""
    if session_id is None:
        if interaction_id is not None:
            raise InputError("An interaction_id needs its session_id.")
        return memory
    session = memory.session(session_id).resume()
    return session if interaction_id is None else session.interaction(interaction_id).resume()


def verb_routes() -> list[APIRouter]:
    """A router for each tag, with the routes of every verb that is served."""
    routers: dict[str, APIRouter] = {}
    for verb in VERBS.values():
        if verb.http is not None:
            router = routers.setdefault(verb.http.tag, routes(verb.http.tag))
            for path, name in _addresses(verb, verb.http):
                _add(router, verb, verb.http, path, name)
    return list(routers.values())


def _addresses(verb: Verb[..., Any], route: HttpRoute) -> list[tuple[str, str]]:
    """The paths of a verb with their operation ids: one, or one for each kind of place."""
    if not route.at_place:
        return [(route.path, verb.name)]
    stem = verb.name.removesuffix("_scope")
    return [
        (_SESSION + route.path, f"{stem}_session"),
        (_INTERACTION + route.path, f"{stem}_interaction"),
    ]


def _add(router: APIRouter, verb: Verb[..., Any], route: HttpRoute, path: str, name: str) -> None:
    """Add one address of a verb to a router, described by the verb's own declaration."""
    request = _RequestForm(verb, route, path)
    empty = verb.returns is type(None)
    answers: dict[str, Any] = {"response_model": None if empty else _answer_shape(verb, route)}
    if PROGRESS in verb.parameters:
        answers["responses"] = STREAMED
    if verb.streams:
        text = {"schema": {"type": "string"}}
        answers["responses"] = {200: {"content": {route.media_type: text}}}
        answers["response_class"] = StreamingResponse
    router.add_api_route(
        path,
        request.endpoint(),
        methods=[route.method],
        operation_id=name,
        name=name,
        description=inspect.cleandoc(verb.__doc__ or ""),
        status_code=204 if empty else 200,
        **answers,
    )


def _answer_shape(verb: Verb[..., Any], route: HttpRoute) -> Any:
    """The form of a verb's answer: a page of items, one value, or none for a stream."""
    if route.page is None:
        return None if verb.streams else shape(verb.returns)
    return page_model(route.page.items, verb.returns)


class _RequestForm:
    """How the arguments of one verb stand in a request: in its path, its query or its body."""

    def __init__(self, verb: Verb[..., Any], route: HttpRoute, path: str):
        self._verb = verb
        self._route = route
        self._in_path = set(_HOLE.findall(path))
        self._sent = [one for one in verb.parameters.values() if one.travels]
        loose = [one for one in self._sent if one.wire_name not in self._in_path]
        self._place = [
            Parameter(name, Id | None, None, True, None, None, "")
            for name in ("session_id", "interaction_id")
            if verb.placed and not route.at_place
        ]
        self._loose = [*loose, *self._place]

    def endpoint(self) -> Callable[..., Any]:
        """The function that the framework calls; its signature is the request's form."""

        async def call(**given: Any) -> Response:
            return await self._answer(given)

        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, _KEYWORD, default=default, annotation=kind)
                for name, kind, default in self._arguments()
            ]
        )
        return call

    def _arguments(self) -> list[tuple[str, Any, Any]]:
        """The endpoint's arguments with their types and defaults, as the framework reads them."""
        required = inspect.Parameter.empty
        found: list[tuple[str, Any, Any]] = [("memory", Bound, required)]
        for name in self._in_path:
            one = next((p for p in self._sent if p.wire_name == name), None)
            kind = UUID if one is None else carried(one, query=True)
            found.append((name, Annotated[kind, Path()], required))
        if self._route.method == "GET":
            for one in self._loose:
                kind = Annotated[
                    carried(one, query=True), Query(description=one.description or None)
                ]
                default = required if one.required else one.default
                found.append((one.wire_name, kind, default))
        elif self._loose:
            title = "".join(part.capitalize() for part in self._verb.name.split("_"))
            found.append(("body", body_model(f"{title}Body", self._loose), required))
        if KEY in self._verb.parameters:
            found.append((KEY, IdempotencyKey, None))
        if PROGRESS in self._verb.parameters and not self._verb.streams:
            found.append(("request", Request, required))
        return found

    async def _answer(self, given: dict[str, Any]) -> Response:
        """Call the verb at its place with what a request holds, and answer in the route's form."""
        memory: Memory = given.pop("memory")
        request: Request | None = given.pop("request", None)
        key = given.pop(KEY, None)
        body = given.pop("body", None)
        if body is not None:
            given |= {name: getattr(body, name) for name in type(body).model_fields}
        place = place_of(memory, *(given.pop(n, None) for n in self._place_names()))
        values = await cross(_MODEL * _models(given), lambda: self._values(given))
        if key is not None:
            values[KEY] = key
        perform = place.bound(self._verb)
        if self._verb.streams:
            return await in_pieces(perform(**values), self._route.media_type)
        if request is not None:
            return await progressing(request, lambda tell: perform(**values, progress=tell))
        return await self._written(await perform(**values), values)

    def _place_names(self) -> tuple[str, ...]:
        """The arguments that say where a verb is called; none for a verb that has no place."""
        placed = self._place or self._route.at_place
        return ("session_id", "interaction_id") if placed else ()

    def _values(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments by their own names; an object in a query is its JSON."""
        for one in self._sent:
            value = given.get(one.wire_name)
            if isinstance(value, str) and _is_mapping(one.hint):
                given[one.wire_name] = _object(one.wire_name, value)
        return arguments_of(self._sent, given)

    async def _written(self, found: Any, values: Mapping[str, Any]) -> Response:
        """What a verb returned as an answer: empty, a value, or a page and the next cursor."""
        if found is None:
            return Response(status_code=204)
        page = self._route.page
        if page is None:
            return await answer_rows(found) if isinstance(found, list) else answer(found)
        limit = values.get("limit", self._verb.parameters["limit"].default)
        # A full page may be the last one; only asking for the next can tell.
        following = page.key(found[-1]) if len(found) == limit else None
        return await answer_rows(found, page.items, next_cursor=following)


def _models(given: Mapping[str, Any]) -> int:
    """How many nouns the lists of a body hold: each is made of its model."""
    lists = (one for one in given.values() if isinstance(one, list))
    return sum(len(one) for one in lists if one and isinstance(one[0], BaseModel))


def _is_mapping(hint: Any) -> bool:
    """Whether an argument is an object, so that a query holds it as JSON."""
    origin = get_origin(plain(hint))
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _object(name: str, text: str) -> dict[str, Any]:
    """The object that a query holds as JSON; raises InputError for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f'`{name}` must be a JSON object, such as {{"topic": "payments"}}.')
    return found
