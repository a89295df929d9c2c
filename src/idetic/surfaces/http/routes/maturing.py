"""What becomes of entries: confirmed, contradicted, disposed of, archived, taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from idetic.evidence import Candidate, Contradiction, ContradictionStatus, Disposition
from idetic.lifecycle.entry_evidence import MAX_CANDIDATES
from idetic.model import Receipt
from idetic.surfaces.http.answers import Bound, IdempotencyKey, answer, routes
from idetic.surfaces.http.bodies import (
    ContradictBody,
    CorroborateBody,
    DisposeBody,
    ReasonBody,
    ResolveBody,
    UndoBody,
)
from idetic.surfaces.http.routes.reading import Cursor, Limit
from idetic.surfaces.http.shapes import shape

router = routes("maturing")
RECEIPT = shape(Receipt)


@dataclass(frozen=True, slots=True)
class CandidatePage:
    """Candidates, oldest first, and where the next page begins; null on the last."""

    candidates: tuple[Candidate, ...]
    next_cursor: UUID | None


@router.post(
    "/entries/{entry_id}/corroborations", response_model=RECEIPT, operation_id="corroborate"
)
async def corroborate(
    memory: Bound, entry_id: UUID, body: CorroborateBody, key: IdempotencyKey = None
) -> Response:
    """A source confirms an entry or, with `holds` false, fails to. A source counts once."""
    given = {name: getattr(body, name) for name in ("holds", "notes", "provenance")}
    receipt = await memory.corroborate(
        entry_id, body.source_type, body.source_ref, **given, idempotency_key=key
    )
    return answer(receipt)


@router.post(
    "/entries/{entry_id}/contradictions", response_model=RECEIPT, operation_id="contradict"
)
async def contradict(
    memory: Bound, entry_id: UUID, body: ContradictBody, key: IdempotencyKey = None
) -> Response:
    """Say that an entry speaks against canonical content; it goes to the operators' queue."""
    receipt = await memory.contradict(
        entry_id,
        body.ref.ref(),
        reason=body.reason,
        provenance=body.provenance,
        idempotency_key=key,
    )
    return answer(receipt)


@router.post("/entries/{entry_id}/archive", response_model=RECEIPT, operation_id="archive")
async def archive(
    memory: Bound, entry_id: UUID, body: ReasonBody, key: IdempotencyKey = None
) -> Response:
    """Take an entry out of the current view. The row and its history stay."""
    return answer(await memory.archive(entry_id, reason=body.reason, idempotency_key=key))


@router.post("/entries/{entry_id}/exempt", response_model=RECEIPT, operation_id="exempt")
async def exempt(
    memory: Bound, entry_id: UUID, body: ReasonBody, key: IdempotencyKey = None
) -> Response:
    """Mark an entry exempt from decay and disposition."""
    return answer(await memory.exempt(entry_id, reason=body.reason, idempotency_key=key))


@router.post("/entries/{entry_id}/tombstone", response_model=RECEIPT, operation_id="tombstone")
async def tombstone(
    memory: Bound, entry_id: UUID, body: ReasonBody, key: IdempotencyKey = None
) -> Response:
    """Mark a persistent entry as deleted. It can be undone until its grace is over."""
    return answer(await memory.tombstone(entry_id, reason=body.reason, idempotency_key=key))


@router.get(
    "/contradictions", response_model=shape(list[Contradiction]), operation_id="contradictions"
)
async def contradictions(
    memory: Bound,
    status: Annotated[
        list[ContradictionStatus] | None,
        Query(description="Repeat for several; open and surfaced ones without it."),
    ] = None,
    limit: Limit = 100,
) -> Response:
    """The operators' queue, oldest first."""
    return answer(await memory.contradictions(status=status, limit=limit))


@router.post(
    "/contradictions/{contradiction_id}/resolve", response_model=RECEIPT, operation_id="resolve"
)
async def resolve(
    memory: Bound, contradiction_id: UUID, body: ResolveBody, key: IdempotencyKey = None
) -> Response:
    """Move a contradiction on: surface it, dismiss it, or promote it to a revision signal."""
    receipt = await memory.resolve(
        contradiction_id, body.status, notes=body.notes, idempotency_key=key
    )
    return answer(receipt)


@router.get("/candidates", response_model=shape(CandidatePage), operation_id="candidates")
async def candidates(
    memory: Bound,
    limit: Annotated[int, Query(ge=1, le=MAX_CANDIDATES)] = 50,
    cursor: Cursor = None,
) -> Response:
    """What waits for support, oldest first, each with what its gates say now."""
    found = await memory.candidates(limit=limit, after=cursor)
    following = found[-1].entry.id if len(found) == limit else None
    return answer(CandidatePage(tuple(found), following))


@router.get("/dispositions", response_model=shape(list[Disposition]), operation_id="disposition")
async def disposition(memory: Bound, limit: Limit = 100) -> Response:
    """What is due for somebody's decision, the hardest pressed first."""
    return answer(await memory.disposition(limit=limit))


@router.post("/dispositions", response_model=shape(list[Receipt]), operation_id="dispose")
async def dispose(memory: Bound, body: DisposeBody) -> Response:
    """Decide about entries: promote, recorroborate, exempt or archive; all of them or none."""
    return answer(await memory.dispose(body.entries, body.outcome, reason=body.reason))


@router.post("/undo", response_model=RECEIPT, operation_id="undo")
async def undo(memory: Bound, body: UndoBody, key: IdempotencyKey = None) -> Response:
    """Take a decision back, by its position in the ledger."""
    return answer(await memory.undo(body.position, reason=body.reason, idempotency_key=key))
