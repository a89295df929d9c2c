"""What every route shares: who asks, the idempotency key, and how an answer is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response, Security
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPBearer
from sse_starlette import EventSourceResponse, ServerSentEvent

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
    422: "The input is not something memory can hold.",
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


async def in_pieces(chunks: AsyncIterator[bytes], media_type: str) -> Response:
    """A stream as an answer; its first piece comes before, so that a refusal has its status."""
    first = await anext(chunks)

    async def whole() -> AsyncIterator[bytes]:
        """Yield the piece that was taken out, then the rest as it comes."""
        yield first
        async for chunk in chunks:
            yield chunk

    return StreamingResponse(whole(), media_type=media_type)


async def progressing(request: Request, work: Work) -> Response:
    """Do long work; if the caller asks for events, say meanwhile how far it is."""
    if EVENTS not in request.headers.get("accept", ""):
        return answer(await work(None))
    run = _Run(work)
    first = await run.next()
    if first[0] == "failed":
        # Nothing was answered yet, so a refusal can still have its own status.
        raise first[1]
    # Proxies end a connection on which nothing is said, hence the ping.
    return EventSourceResponse(_events(run, first), ping=15, sep="\n")


class _Run:
    """Work in a task of its own, and the events it leaves."""

    def __init__(self, work: Work):
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._task = asyncio.create_task(self._do(work))

    async def next(self) -> Event:
        """The next event; waits until there is one."""
        return await self._events.get()

    async def end(self) -> None:
        """Let the work go: whoever asked for it may have left."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _do(self, work: Work) -> None:
        """Do the work; its progress and its outcome, good or bad, become events."""

        def tell(done: int, total: int) -> None:
            self._events.put_nowait(("progress", {"done": done, "total": total}))

        try:
            self._events.put_nowait(("done", await work(tell)))
        except IdeticError as error:
            self._events.put_nowait(("failed", error))
        except Exception as error:  # noqa: BLE001 - the task's end; nobody else would hear of it
            self._events.put_nowait(("failed", problems.unexpected(error)))


async def _events(run: _Run, event: Event) -> AsyncIterator[ServerSentEvent]:
    """The events of some work, from the first to its end; a caller who leaves ends the work."""
    try:
        while True:
            name, value = event
            data = problems.described(value) if name == "failed" else value
            yield ServerSentEvent(wire.as_json(data).decode(), event=name, sep="\n")
            if name != "progress":
                return
            event = await run.next()
    finally:
        await run.end()
