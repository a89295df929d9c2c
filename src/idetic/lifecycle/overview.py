"""The overview: what an operator wants to know before anything else. Every number has its list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.evidence import TRANSITIONS
from idetic.lifecycle.entry_evidence import ENTRY_PAGE
from idetic.model import Capability, Entry, LedgerRecord, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.store import templates
from idetic.store.anchor_scans import due_part
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.entries import record
from idetic.store.family import canonical_names
from idetic.store.quarantine_rows import quarantine_links
from idetic.store.queue import Job, JobState, TaskBacklog
from idetic.store.retention_rows import retention_states
from idetic.verbs.arguments import Between, Cursor, Limit
from idetic.verbs.declaration import get, verb

MAX_DAYS = 366
MAX_LISTED = 1_000
MAX_JOB = 2**63 - 1
# Far more quarantines than anybody keeps standing.
_MOST_QUARANTINES = 1_000


@dataclass(frozen=True, slots=True)
class CellCount:
    """The current entries of one cell; `candidates` of them still wait for support."""

    tier: Tier
    typology: Typology
    count: int
    candidates: int


@dataclass(frozen=True, slots=True)
class DayCount:
    """Entries of one cell that were written on one day (UTC)."""

    day: datetime
    tier: Tier
    typology: Typology
    count: int


@dataclass(frozen=True, slots=True)
class Refusals:
    """The number of the guard's refusals on one day (UTC), by reason."""

    day: datetime
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The numbers of one scope, without any content.

    `sampled_out` observations were left out by the spec's sampling since then. `due`,
    `contradictions`, `candidates` and `quarantines` are the lengths of the queues;
    `unembedded` entries wait for a vector, the first since `unembedded_since`; `jobs` is the
    background work that waits for this scope, by task.
    """

    at: datetime
    since: datetime
    cells: tuple[CellCount, ...] = ()
    written: tuple[DayCount, ...] = ()
    refused: tuple[Refusals, ...] = ()
    sampled_out: int = 0
    states: Mapping[RetentionState, int] = field(default_factory=dict)
    due: int = 0
    contradictions: int = 0
    candidates: int = 0
    quarantines: int = 0
    unembedded: int = 0
    unembedded_since: datetime | None = None
    jobs: tuple[TaskBacklog, ...] = ()

    @property
    def entries(self) -> int:
        """How many entries are current."""
        return sum(cell.count for cell in self.cells)


@dataclass(frozen=True, slots=True)
class RefusedOver:
    """Canonical content that refused notes restated, with its current text."""

    noun: str
    id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that nobody closed yet, and its open interactions."""

    id: UUID
    opened_at: datetime
    opened_by: str
    interactions: tuple[UUID, ...] = ()


@verb(capability=Capability.READ, http=get("/overview", "overseeing"))
async def overview(
    binding: Binding, *, days: Annotated[int, Between(1, MAX_DAYS)] = 30
) -> Overview:
    """Count entries, open decisions and refusals. It shows no content."""
    jobs = await binding.engine.queue.backlog(binding.scope)
    async with binding.look() as tx:
        today = tx.at.replace(hour=0, minute=0, second=0, microsecond=0)
        since = today - timedelta(days=days - 1)
        cells = [
            CellCount(Tier(tier), Typology(typology), *counts)
            for tier, typology, *counts in await tx.ask("overview", "cells")
        ]
        written = await tx.ask("overview", "written", since=since)
        refused = await tx.ask("overview", "refused", since=since)
        ((sampled_out,),) = await tx.ask("overview", "sampled_out", since=since)
        ((unembedded, waits_since),) = await tx.ask("overview", "unembedded", _without_vector())
        ((due,),) = await tx.ask("overview", "due", due_part(tx), moment=tx.at)
        states = await retention_states(tx)
        quarantines = await quarantine_links(tx, _MOST_QUARANTINES)
        return Overview(
            at=tx.at,
            since=since,
            cells=tuple(cells),
            written=tuple(DayCount(d, Tier(t), Typology(y), n) for d, t, y, n in written),
            refused=tuple(Refusals(*row) for row in refused),
            sampled_out=sampled_out,
            states={state: sum(tiers.values()) for state, tiers in states.items()},
            due=due,
            contradictions=await _open_contradictions(tx),
            candidates=sum(cell.candidates for cell in cells),
            quarantines=len([one for one in quarantines if one[1] is None]),
            unembedded=unembedded,
            unembedded_since=waits_since,
            jobs=tuple(jobs),
        )


async def _open_contradictions(tx: AnchorTransaction) -> int:
    """How many contradictions wait for somebody."""
    waiting = [status.value for status, after in TRANSITIONS.items() if after]
    total = 0
    for canonical in tx.spec.references.canonical:
        if canonical.contradictions:
            names = canonical_names(tx.family, canonical)
            ((count,),) = await tx.ask("overview", "contradicted", names, status=waiting)
            total += count
    return total


def _without_vector() -> dict[str, str]:
    """The condition that an entry called m waits for a vector."""
    return {"without_vector": templates.query("queries/overview.sql", "without_vector")}


@verb(capability=Capability.READ, http=get("/kept", "overseeing", page=ENTRY_PAGE))
async def kept(
    binding: Binding, state: RetentionState, *, limit: Limit = 100, before: Cursor = None
) -> list[Entry]:
    """List the entries in one retention state, newest first; `before` is the last id seen."""
    async with binding.look() as tx:
        page: dict[str, Any] = {"limit": limit, "before": before}
        return await tx.plain_entries("listing", "kept", state=state.value, **page)


@verb(capability=Capability.READ, http=get("/written", "overseeing", page=ENTRY_PAGE))
async def written(
    binding: Binding,
    since: datetime,
    until: datetime,
    *,
    tier: str | None = None,
    typology: Typology | None = None,
    limit: Limit = 100,
    before: Cursor = None,
) -> list[Entry]:
    """List the entries that were written between two moments, in any state."""
    async with binding.look() as tx:
        return await tx.plain_entries(
            "listing",
            "written",
            since=since,
            until=until,
            tier=None if tier is None else binding.spec.tier_of(tier).value,
            typology=None if typology is None else typology.value,
            limit=limit,
            before=before,
        )


@verb(capability=Capability.READ, http=get("/unembedded", "overseeing", page=ENTRY_PAGE))
async def unembedded(binding: Binding, *, limit: Limit = 100, before: Cursor = None) -> list[Entry]:
    """List the entries that wait for a vector, newest first; `before` is the last id seen."""
    async with binding.look() as tx:
        page: dict[str, Any] = {"limit": limit, "before": before}
        return await tx.plain_entries("listing", "unembedded", _without_vector(), **page)


@verb(capability=Capability.READ, http=get("/refusals", "overseeing"))
async def refusals(
    binding: Binding,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: Limit = 100,
) -> list[LedgerRecord]:
    """List the guard's refusals, newest first: who wrote, when, and the restated canonical row."""
    async with binding.look() as tx:
        rows = await tx.ask("listing", "refusals", since=since, until=until, limit=limit)
    return [record(row) for row in rows]


@verb(capability=Capability.READ, http=get("/refusals/canonical", "overseeing"))
async def refused_over(binding: Binding, *, limit: Limit = 100) -> list[RefusedOver]:
    """List the canonical rows that refused notes of this scope restated."""
    found: list[RefusedOver] = []
    async with binding.look() as tx:
        for one in tx.spec.references.canonical:
            if one.body:
                names = canonical_names(tx.family, one)
                rows = await tx.ask("listing", "refused_over", names, name=one.noun, limit=limit)
                found += [RefusedOver(one.noun, *row) for row in rows]
    return found


@verb(capability=Capability.READ, http=get("/erasures", "overseeing"))
async def erasures(binding: Binding, *, limit: Limit = 100) -> list[LedgerRecord]:
    """List erasures, newest first: who asked, why, and how much was removed."""
    async with binding.look() as tx:
        rows = await tx.ask("listing", "erasures", limit=limit)
    return [record(row) for row in rows]


@verb(capability=Capability.READ, http=get("/sessions", "overseeing"))
async def sessions(binding: Binding, *, limit: Limit = 100) -> list[OpenSession]:
    """List the sessions that are open, with their open interactions, the newest first."""
    async with binding.look() as tx:
        rows = await tx.ask("listing", "sessions", limit=limit)
    return [OpenSession(id_, at, by, tuple(inner)) for id_, at, by, inner in rows]


@verb(capability=Capability.READ, http=get("/jobs", "overseeing"))
async def jobs(
    binding: Binding,
    *,
    task: str | None = None,
    state: JobState | None = None,
    limit: Limit = 100,
    after: Annotated[int, Between(0, MAX_JOB)] | None = None,
) -> list[Job]:
    """List the background work of this scope that waits, runs or failed; `after` is a job's id."""
    return await binding.engine.queue.jobs(binding.scope, task, state, limit, after)
