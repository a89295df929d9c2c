"""Reading entries: pages of them, one of them, what became of it and what it rests on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Response

from idetic.errors import InputError
from idetic.evidence import Corroboration, GateResult, Lineage, Referenced
from idetic.model import Entry, LedgerRecord, Overdue, Tier, Typology
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import Moment
from idetic.surfaces.http.routes.places import place_of
from idetic.surfaces.http.shapes import shape
from idetic.verbs.arguments import MAX_PAGE

router = routes("reading")
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Cursor = Annotated[UUID | None, Query(description="`next_cursor` of the page before.")]
Where = Annotated[
    str | None,
    Query(
        description="A JSON object: only entries whose envelope matches every key of it.",
        max_length=10_000,
    ),
]


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first, and where the next page begins; null on the last."""

    entries: tuple[Entry, ...]
    next_cursor: UUID | None


def _matching(where: str | None) -> dict[str, Any] | None:
    if where is None:
        return None
    try:
        found = json.loads(where)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError('`where` is a JSON object, such as {"topic": "payments"}.')
    return found


def page(entries: Sequence[Entry], limit: int) -> Response:
    """One page of a list, with where the next one begins."""
    following = entries[-1].id if len(entries) == limit else None
    return answer(Page(tuple(entries), following))


@router.get("/entries", response_model=shape(Page), operation_id="list")
async def list_entries(
    memory: Bound,
    tier: Tier | None = None,
    typology: Typology | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    session_id: UUID | None = None,
    interaction_id: UUID | None = None,
    where: Where = None,
) -> Response:
    """The current entries of a place, newest first."""
    place = place_of(memory, session_id, interaction_id)
    found = await place.list(
        tier=tier, typology=typology, limit=limit, before=cursor, where=_matching(where)
    )
    return page(found, limit)


@router.get("/as-of", response_model=shape(Page), operation_id="as_of")
async def as_of(
    memory: Bound,
    moment: Annotated[Moment, Query(description="With a time zone.")],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """What was current at a moment, each entry as it stood then, newest first."""
    return page(await memory.as_of(moment, limit=limit, before=cursor), limit)


@router.get("/overdue", response_model=shape(list[Overdue]), operation_id="overdue")
async def overdue(memory: Bound, limit: Limit = 50) -> Response:
    """The persistent entries that time presses on most."""
    return answer(await memory.overdue(limit=limit))


@router.get("/entries/{entry_id}", response_model=shape(Entry), operation_id="get")
async def get(memory: Bound, entry_id: UUID) -> Response:
    """One entry, whatever became of it."""
    return answer(await memory.get(entry_id))


@router.get(
    "/entries/{entry_id}/history",
    response_model=shape(list[LedgerRecord]),
    operation_id="history",
)
async def history(memory: Bound, entry_id: UUID) -> Response:
    """Every transition of one entry, oldest first."""
    return answer(await memory.history(entry_id))


@router.get(
    "/entries/{entry_id}/corroborations",
    response_model=shape(list[Corroboration]),
    operation_id="corroborations",
)
async def corroborations(memory: Bound, entry_id: UUID) -> Response:
    """What supports an entry, oldest first; withdrawn ones say so."""
    return answer(await memory.corroborations(entry_id))


@router.get(
    "/entries/{entry_id}/lineage", response_model=shape(list[Lineage]), operation_id="lineage"
)
async def lineage(memory: Bound, entry_id: UUID) -> Response:
    """What an entry was made of."""
    return answer(await memory.lineage(entry_id))


@router.get(
    "/entries/{entry_id}/references",
    response_model=shape(list[Referenced]),
    operation_id="references",
)
async def references(memory: Bound, entry_id: UUID) -> Response:
    """The canonical rows that an entry refers to, as they read now."""
    return answer(await memory.references(entry_id))


@router.get(
    "/entries/{entry_id}/gates", response_model=shape(list[GateResult]), operation_id="gates"
)
async def gates(memory: Bound, entry_id: UUID) -> Response:
    """What each of the four promotion gates says about an entry now."""
    return answer(await memory.gates(entry_id))
