"""Reports on an anchor: how much there is, what waits, what was refused; numbers and their lists.

`before` of a list is the id of the last entry of the page before.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from idetic.model import Entry, LedgerRecord, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.store import decay, templates
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.canonical import canonical_names
from idetic.store.entries import record
from idetic.store.pipeline import Rows

_OVERVIEW, _LISTING = "overview", "listing"


# --- numbers ------------------------------------------------------------------------------------


async def cells(tx: AnchorTransaction) -> Rows:
    """Current entries by cell: (tier, typology, all of them, candidates)."""
    return await tx.ask(_OVERVIEW, "cells")


async def written_by_day(tx: AnchorTransaction, since: datetime) -> Rows:
    """Entries by the day they were written: (day, tier, typology, count)."""
    return await tx.ask(_OVERVIEW, "written", since=since)


async def refused_by_day(tx: AnchorTransaction, since: datetime) -> Rows:
    """Refusals by day: (day, reason, count)."""
    return await tx.ask(_OVERVIEW, "refused", since=since)


async def unembedded(tx: AnchorTransaction) -> tuple[int, datetime | None]:
    """How many entries wait for a vector, and since when the first of them does."""
    ((count, since),) = await tx.ask(_OVERVIEW, "unembedded", _without_vector())
    return count, since


async def how_many_due(tx: AnchorTransaction) -> int:
    """How many entries wait for a disposition."""
    parts = {"due": decay.due(tx.family, tx.scope)}
    ((count,),) = await tx.ask(_OVERVIEW, "due", parts, moment=tx.at)
    return int(count)


async def how_many_contradictions(tx: AnchorTransaction, status: Sequence[str]) -> int:
    """How many contradictions are in one of some states."""
    total = 0
    for canonical in tx.spec.references.canonical:
        if canonical.contradictions:
            names = canonical_names(tx.family, canonical)
            ((count,),) = await tx.ask(_OVERVIEW, "contradicted", names, status=list(status))
            total += count
    return total


# --- lists --------------------------------------------------------------------------------------


async def entries_in_state(
    tx: AnchorTransaction, state: RetentionState, limit: int, before: UUID | None
) -> list[Entry]:
    """The entries in one retention state."""
    return await tx.plain_entries(_LISTING, "kept", state=state.value, limit=limit, before=before)


async def entries_written(
    tx: AnchorTransaction,
    since: datetime,
    until: datetime,
    tier: Tier | None,
    typology: Typology | None,
    limit: int,
    before: UUID | None,
) -> list[Entry]:
    """The entries that were written within some time, of one cell or of all."""
    return await tx.plain_entries(
        _LISTING,
        "written",
        since=since,
        until=until,
        tier=None if tier is None else tier.value,
        typology=None if typology is None else typology.value,
        limit=limit,
        before=before,
    )


async def entries_without_vector(
    tx: AnchorTransaction, limit: int, before: UUID | None
) -> list[Entry]:
    """The entries that wait for a vector."""
    given = {"limit": limit, "before": before}
    return await tx.plain_entries(_LISTING, "unembedded", _without_vector(), **given)


async def refusals(
    tx: AnchorTransaction, since: datetime | None, until: datetime | None, limit: int
) -> list[LedgerRecord]:
    """What the guard refused."""
    rows = await tx.ask(_LISTING, "refusals", since=since, until=until, limit=limit)
    return [record(row) for row in rows]


async def open_sessions(tx: AnchorTransaction, limit: int) -> Rows:
    """The open sessions: (id, opened_at, opened_by, ids of open interactions)."""
    return await tx.ask(_LISTING, "sessions", limit=limit)


def _without_vector() -> dict[str, str]:
    """The condition that an entry called m waits for a vector."""
    return {"without_vector": templates.query("queries/overview.sql", "without_vector")}
