"""What every route shares: who asks, the idempotency key, and how an answer is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from anyio import CancelScope
from fastapi import APIRouter, Depends, Header, Request, Response, Security
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPBearer
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from idetic import wire
from idetic.errors import IdeticError
from idetic.library.handles import Memory
from idetic.surfaces.http import problems
from idetic.surfaces.http.problems import ProblemDetails
from idetic.verbs.arguments import SHORT

# Only declares the scheme: authentication has looked at the key before a route is found.
_bearer = HTTPBearer(
    auto_error=False, scheme_name="api_key", description="An API key; the scope is the key's."
)


def _memory(request: Request) -> Memory:
    """The memory that authentication left with the request."""
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
    422: "The input cannot be stored in memory.",
    429: "Too many requests with this key; see Retry-After.",
    500: "An error that nobody foresaw, told by its id.",
    503: "The database or the model is not there; try again.",
}
EVENTS = "text/event-stream"
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What came of it. With `Accept: text/event-stream`: events `progress` "
        "(`done`, `total`), then `done` with the same object, or `failed` with a problem.",
        "content": {EVENTS: {"schema": {"type": "string"}}},
    }
}
# How many rows are written at once.
ROWS = 50
Progress = Callable[[int, int], None]
Work = Callable[[Progress | None], Awaitable[Any]]
Event = tuple[str, Any]


def problem_answers() -> dict[int | str, dict[str, Any]]:
    """What can go wrong at every address, for the OpenAPI."""
    return {
        status: {"model": ProblemDetails, "description": text} for status, text in _PROBLEMS.items()
    }


def routes(tag: str) -> APIRouter:
    """A router whose routes need a key and answer errors as problems."""
    return APIRouter(
        prefix="/v1", tags=[tag], dependencies=[Security(_bearer)], responses=problem_answers()
    )


def answer(value: Any) -> Response:
    """A value as an answer. Written here and not by the framework, which would copy it first."""
    return Response(wire.as_json(value), media_type="application/json")


async def answer_rows(rows: Sequence[Any], name: str | None = None, **beside: Any) -> Response:
    """Rows as an answer: a list, or with a name that key of an object with others beside it.

    Some at a time, and others' requests between: 300 receipts at once kept the loop for 12 ms.
    """
    pieces = []
    for first in range(0, len(rows), ROWS):
        if first:
            await asyncio.sleep(0)
        pieces.append(wire.as_json(rows[first : first + ROWS])[1:-1])
    written = b"[%s]" % b",".join(pieces)
    if name is not None:
        written = b"{%s:%s,%s" % (wire.as_json(name), written, wire.as_json(beside)[1:])
    return Response(written, media_type="application/json")


class PiecedResponse(StreamingResponse):
    """A stream as an answer, which ends with its reader: what nobody reads keeps nothing open."""

    def __init__(self, first: bytes, chunks: AsyncGenerator[bytes], media_type: str):
        super().__init__(self._whole(first), media_type=media_type)
        self._chunks = chunks

    async def _whole(self, first: bytes) -> AsyncIterator[bytes]:
        """Yield the piece that was taken out, then the rest as it comes."""
        yield first
        async for chunk in self._chunks:
            yield chunk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it all, or until nobody takes it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await self._chunks.aclose()


async def in_pieces(chunks: AsyncGenerator[bytes], media_type: str) -> Response:
    """A stream as an answer; its first piece comes before, so that a refusal has its status."""
    return PiecedResponse(await anext(chunks), chunks, media_type)


async def progressing(request: Request, work: Work) -> Response:
    """Do long work; if the caller asks for events, say meanwhile how far it is."""
    if EVENTS not in request.headers.get("accept", ""):
        return answer(await work(None))
    events = _events(work)
    # Nothing is answered before the first event, so a refusal can still have its own status.
    first = await anext(events)
    # Proxies end a connection on which nothing is said, hence the ping.
    return EventSourceResponse(_written(first, events), ping=15, sep="\n")


async def _events(work: Work) -> AsyncGenerator[Event]:
    """Do work in a task of its own, and yield its progress and then its outcome.

    What the work raises is raised here. A caller who leaves ends the work.
    """
    told: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(done: int, total: int) -> None:
        told.put_nowait(("progress", {"done": done, "total": total}))

    task = asyncio.ensure_future(work(tell))
    task.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while (event := await told.get()) is not None:
            yield event
        yield "done", await task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _written(first: Event, events: AsyncGenerator[Event]) -> AsyncGenerator[ServerSentEvent]:
    """Write events as they are sent, from the first to the end; an error is the last one."""
    async with aclosing(events):
        yield _sent(*first)
        try:
            async for name, value in events:
                yield _sent(name, value)
        except IdeticError as error:
            yield _sent("failed", problems.described(error))
        except Exception as error:  # noqa: BLE001 - the answer's end; nobody else would tell
            yield _sent("failed", problems.described(problems.unexpected(error)))


def _sent(name: str, data: Any) -> ServerSentEvent:
    """An event as it is sent."""
    return ServerSentEvent(wire.as_json(data).decode(), event=name, sep="\n")
