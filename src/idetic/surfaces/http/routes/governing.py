"""Where memory ends: erasures, quarantines and their release, patterns that leave."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from idetic.erasure import Erased
from idetic.evidence import Aggregated
from idetic.lifecycle.quarantine import Quarantined, QuarantineRecord
from idetic.model import Receipt
from idetic.surfaces.http.answers import Bound, IdempotencyKey, answer, routes
from idetic.surfaces.http.bodies import EraseBody, PatternsBody, QuarantineBody, ReasonBody
from idetic.surfaces.http.routes.reading import Limit
from idetic.surfaces.http.shapes import shape

router = routes("governing")


@router.post("/erasures", response_model=shape(Erased), operation_id="erase")
async def erase(memory: Bound, body: EraseBody, key: IdempotencyKey = None) -> Response:
    """Empty everything that names a subject, and what was made of it; this is for good."""
    return answer(await memory.erase(body.identifiers, reason=body.reason, idempotency_key=key))


@router.get(
    "/quarantines", response_model=shape(list[QuarantineRecord]), operation_id="quarantines"
)
async def quarantines(memory: Bound, limit: Limit = 100) -> Response:
    """What was quarantined, newest first; what was released since says so."""
    return answer(await memory.quarantines(limit=limit))


@router.post("/quarantines", response_model=shape(Quarantined), operation_id="quarantine")
async def quarantine(memory: Bound, body: QuarantineBody, key: IdempotencyKey = None) -> Response:
    """Take a source and all that came of it out of recall, in one call that can be undone."""
    taken = await memory.quarantine(
        reason=body.reason,
        origin=body.origin,
        created_by=body.created_by,
        session_id=body.session_id,
        since=body.since,
        idempotency_key=key,
    )
    return answer(taken)


@router.post(
    "/quarantines/{position}/release", response_model=shape(Receipt), operation_id="release"
)
async def release(
    memory: Bound,
    position: Annotated[int, Path(ge=1, lt=2**63, description="The quarantine's receipt's.")],
    body: ReasonBody,
    key: IdempotencyKey = None,
) -> Response:
    """Put back what a quarantine took out, as it was."""
    return answer(await memory.release(position, reason=body.reason, idempotency_key=key))


@router.post("/patterns", response_model=shape(Aggregated), operation_id="patterns")
async def patterns(memory: Bound, body: PatternsBody) -> Response:
    """What some entries say without whose they are, for a proposal that leaves this anchor."""
    return answer(await memory.patterns(body.entries, reason=body.reason))
