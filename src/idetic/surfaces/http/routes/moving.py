"""Memory on the move: an anchor as a file, and what another store remembered."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import Response
from fastapi.responses import StreamingResponse

from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import AdoptBody
from idetic.surfaces.http.shapes import shape
from idetic.transfer.adoption import Adopted

router = routes("moving")
LINES = "application/x-ndjson"


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {LINES: {"schema": {"type": "string"}}}}},
    operation_id="export",
)
async def export(memory: Bound, vectors: bool = False) -> Response:
    """The whole anchor with its history, as the lines of a file, all of one moment."""
    chunks = memory.export(vectors=vectors)
    # The first line before the answer begins: a refusal can still have its own status.
    return StreamingResponse(_all(await anext(chunks), chunks), media_type=LINES)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


@router.post("/adopt", response_model=shape(Adopted), operation_id="adopt")
async def adopt(memory: Bound, body: AdoptBody) -> Response:
    """Take in what another store exported, each memory through the gateway; tell what was not."""
    return answer(await memory.adopt(body.source, body.data, dry_run=body.dry_run))
