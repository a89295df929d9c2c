"""Looking entries up by what they carry, and noting that they were read."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from fastapi import Response

from idetic.model import Entry
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import EntriesBody, SubjectsBody, TallyBody
from idetic.surfaces.http.shapes import shape

router = routes("lookups")


@router.post("/lookups/about", response_model=shape(list[Entry]), operation_id="about")
async def about(memory: Bound, body: SubjectsBody) -> Response:
    """The current entries whose claim is about one of the subjects, oldest first."""
    return answer(await memory.about(body.subjects))


@router.post("/lookups/tally", response_model=dict[str, int], operation_id="tally")
async def tally(memory: Bound, body: TallyBody) -> Response:
    """The values that a key of the envelope has among current entries, and how often each."""
    return answer(await memory.tally(body.key, where=body.where))


@router.post("/reads", status_code=204, operation_id="note_read")
async def note_read(memory: Bound, body: EntriesBody) -> Response:
    """Record that entries were put before this key's principal, as `context` does."""
    await memory.note_read(body.entries)
    return Response(status_code=204)


@router.post("/reads/last", response_model=shape(dict[UUID, datetime]), operation_id="last_read")
async def last_read(memory: Bound, body: EntriesBody) -> Response:
    """When each of the entries was last read; one that never was is not in the answer."""
    return answer(await memory.last_read(body.entries))
