"""Long work: one answer at its end or, for whoever asks for events, how far it is meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from idetic import wire
from idetic.errors import IdeticError
from idetic.surfaces.http import problems
from idetic.surfaces.http.answers import answer

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
# Proxies end a connection on which nothing is said.
_SILENCE = 15.0


async def progressing(request: Request, work: Work) -> Response:
    """Do the work; as events if the caller asked for them."""
    if EVENTS not in request.headers.get("accept", ""):
        return answer(await work(None))
    run = _Run(work)
    first = await run.next()
    if first[0] == "failed":
        # Nothing was said yet, so a refusal can still have its own status.
        raise first[1]
    return StreamingResponse(_told(run, first), media_type=EVENTS)


class _Run:
    """Work in a task of its own, and what it tells."""

    def __init__(self, work: Work):
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._task = asyncio.create_task(self._do(work))

    async def next(self) -> Event:
        return await self._events.get()

    async def end(self) -> None:
        """Let the work go: whoever asked for it may have left."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _do(self, work: Work) -> None:
        def tell(done: int, total: int) -> None:
            self._events.put_nowait(("progress", {"done": done, "total": total}))

        try:
            self._events.put_nowait(("done", await work(tell)))
        except IdeticError as error:
            self._events.put_nowait(("failed", error))
        except Exception as error:  # noqa: BLE001 - the task's end; nobody else would hear of it
            self._events.put_nowait(("failed", problems.unexpected(error)))


async def _told(run: _Run, event: Event) -> AsyncIterator[bytes]:
    try:
        yield _line(event)
        while event[0] == "progress":
            try:
                event = await asyncio.wait_for(run.next(), _SILENCE)
                yield _line(event)
            except TimeoutError:
                yield b": still at it\n\n"
    finally:
        await run.end()


def _line(event: Event) -> bytes:
    name, told = event
    data = problems.described(told) if name == "failed" else told
    return b"event: " + name.encode() + b"\ndata: " + wire.as_json(data) + b"\n\n"
