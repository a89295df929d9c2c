"""The unit of work: one anchor within one transaction, with the queries that decisions need.

`Anchors.hold` locks the anchor, so that what is read stays true until what was decided is settled;
`Anchors.look` only reads, and `Anchors.snapshot` reads one moment. Groups of further queries are
functions over the transaction: see `anchor_scans`, `quarantine_rows`, `erasure_rows`,
`retention_rows` and `audit_rows`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from idetic.errors import EntryNotFound
from idetic.evidence import (
    Contradiction,
    ContradictionStatus,
    Corroboration,
    Failures,
    Lineage,
    Referenced,
    Relation,
    SourceType,
)
from idetic.ids import Clock
from idetic.model import Decision, Entry, LedgerRecord, Origin, Receipt, Ref, Scope, Tier
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Canonical, Persona
from idetic.store import templates
from idetic.store.compiler import Extensions
from idetic.store.database import Database, Transaction
from idetic.store.driver import Rows
from idetic.store.entries import Entries, record
from idetic.store.entry_content import plain_json
from idetic.store.family import Family, canonical_names
from idetic.store.queue import enqueue_statement
from idetic.store.scope import quoted
from idetic.store.steps import Step
from idetic.store.templates import BoundStatement

LIFECYCLE = "lifecycle"
# The links of one decision stand together; this is far more than any decision has.
_SPAN = 20_000
_NO_PARTS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry with its vector, and why it must stay.

    `rests`: an action or a contradiction is about it. `built_on`: it is evidence of what was made
    of it.
    """

    entry: Entry
    vector: Any
    rests: bool
    built_on: bool = False

    @property
    def id(self) -> UUID:
        """The entry's id."""
        return self.entry.id


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A session or an interaction."""

    id: UUID
    tier: Tier
    session_id: UUID
    opened_at: datetime
    opened_by: str
    renewed_at: datetime | None
    closed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a contradiction stands since when, and where it stood before its last move."""

    ref: Ref
    status: ContradictionStatus
    at: datetime | None
    previous: ContradictionStatus | None
    previous_at: datetime | None


class AnchorTransaction:
    """One anchor of one family within one transaction: named queries, and `settle`."""

    def __init__(
        self,
        family: Family,
        entries: Entries,
        extensions: Extensions,
        scope: Scope,
        run: Transaction,
        now: datetime,
    ):
        self.family = family
        self.scope = scope
        self.at = now
        self.entry_columns = entries
        self.run = run
        self._parts = {"vector": quoted(extensions.vector), "trgm": quoted(extensions.trgm)}

    @property
    def spec(self) -> MemorySpec:
        """The spec of the agent whose anchor this is."""
        return self.family.spec

    @property
    def actor(self) -> str:
        """Who acts, as rows name it: `operator:ada`."""
        return f"{self.scope.principal.kind}:{self.scope.principal.name}"

    async def ask(
        self, file: str, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> Rows:
        """Run a named query of a file of `sql/queries` within this scope."""
        call = self.call(file, query, parts, **values)
        return await self.run(call.statement, call.values)

    def call(
        self, file: str, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> BoundStatement:
        """A named query with its values, to be run by `run`."""
        return self.family.call(file, query, self.scope, {**self._parts, **parts}, **values)

    async def rows(self, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any) -> Rows:
        """Run a named query of `lifecycle.sql`."""
        return await self.ask(LIFECYCLE, query, parts, **values)

    async def ids(
        self, file: str, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> list[UUID]:
        """The first column of a named query: ids."""
        return [row[0] for row in await self.ask(file, query, parts, **values)]

    async def lock(self) -> None:
        """Lock the anchor. Its time never runs backwards, whatever the clocks say."""
        ((position, at),) = await self.rows("hold")
        self.at = self.at if position == 0 else max(self.at, at)

    # --- entries ------------------------------------------------------------------------------

    async def stored(self, ids: Iterable[UUID]) -> list[StoredEntry]:
        """Entries by id, in whatever state; those that are not here are left out."""
        wanted = list(ids)
        return await self.stored_where("named", ids=wanted) if wanted else []

    async def entry(self, entry_id: UUID) -> StoredEntry:
        """One entry; raises where this scope has none."""
        for found in await self.stored([entry_id]):
            return found
        raise EntryNotFound

    async def stored_where(self, which: str, **values: Any) -> list[StoredEntry]:
        """Entries by a named condition: in_session, transient, claimed, paged_in, named …"""
        columns = self.entry_columns.columns(self.scope)
        parts = {
            "which": lifecycle_part(which),
            "columns": columns,
            "rests": self.entry_columns.rests,
            "built_on": lifecycle_part("built_on"),
        }
        rows = await self.rows("known", parts, **values)
        made = self.entry_columns.entry
        return [
            StoredEntry(made(self.scope, row[3:]), _vector(row[0]), row[1], row[2]) for row in rows
        ]

    async def claimed(self, keys: Iterable[tuple[str, str]]) -> list[StoredEntry]:
        """Persistent entries that make a claim about one of some (subject, attribute) keys."""
        wanted = sorted(set(keys))
        subjects, attributes = [key[0] for key in wanted], [key[1] for key in wanted]
        if not wanted:
            return []
        return await self.stored_where("claimed", subjects=subjects, attributes=attributes)

    async def plain_entries(
        self, file: str, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> list[Entry]:
        """Entries that a named query gives, without vector."""
        given = {**parts, "columns": self.entry_columns.columns(self.scope)}
        rows = await self.ask(file, query, given, **values)
        return [self.entry_columns.entry(self.scope, row) for row in rows]

    # --- what is known about entries ----------------------------------------------------------

    async def lineage(self, ids: Iterable[UUID]) -> dict[UUID, list[Lineage]]:
        """What entries were made of, by entry."""
        found: dict[UUID, list[Lineage]] = {}
        for row in await self._by_ids("lineage", ids):
            entry_id, source, relation, origin, trust, at, by, *place, provenance = row
            session_id, interaction_id = place
            one = Lineage(
                source, Relation(relation), Origin(origin), trust, at, session_id, interaction_id,
                _named(provenance), by,
            )  # fmt: skip
            found.setdefault(entry_id, []).append(one)
        return found

    async def corroborations(self, ids: Iterable[UUID]) -> dict[UUID, list[Corroboration]]:
        """What supports entries, by entry; empty where the spec keeps none."""
        found: dict[UUID, list[Corroboration]] = {}
        if not self.spec.references.corroborations:
            return found
        for row in await self._by_ids("corroborations", ids):
            entry_id, row_id, kind, ref, at, by, source_by, origin, *rest = row
            session_id, notes, withdrawn_at, provenance = rest
            one = Corroboration(
                row_id, SourceType(kind), ref, at, by, source_by, Origin(origin), session_id,
                notes, withdrawn_at, _named(provenance),
            )  # fmt: skip
            found.setdefault(entry_id, []).append(one)
        return found

    async def failures(self, ids: Iterable[UUID]) -> dict[UUID, Failures]:
        """The sources that failed to corroborate entries since one last did, and who they are."""
        found: dict[UUID, Failures] = {}
        for memory_id, kind, ref, voice in await self._by_ids("failures", ids):
            found.setdefault(memory_id, {})[kind, ref] = voice
        return found

    async def _by_ids(self, query: str, ids: Iterable[UUID]) -> Rows:
        """The rows of a query about some entries; without an entry the database is not asked."""
        wanted = list(ids)
        return await self.rows(query, ids=wanted) if wanted else []

    async def references(self, entry_id: UUID) -> list[Referenced]:
        """The canonical rows that an entry refers to, as they read now."""
        found: list[Referenced] = []
        for canonical in self.spec.references.canonical:
            names = canonical_names(self.family, canonical)
            rows = await self.rows("references", names | _shown(names), entry_id=entry_id)
            found += [Referenced(Ref(canonical.noun, r[0], r[1]), *r[2:]) for r in rows]
        return found

    async def contradictions(self, canonical: Canonical, **wanted: Any) -> list[Contradiction]:
        """Contradictions with one noun: by row, by entry and canonical row, or by status."""
        values = {"row_id": None, "entry_id": None, "ref_id": None, "status": None, "limit": 1000}
        names = canonical_names(self.family, canonical)
        rows = await self.rows("contradictions", names, **(values | wanted))
        return [
            Contradiction(
                row_id, entry_id, Ref(canonical.noun, ref_id), at, by, ContradictionStatus(status),
                *rest,
            )
            for row_id, entry_id, ref_id, at, by, status, *rest in rows
        ]  # fmt: skip

    async def resolution(self, canonical: Canonical, row_id: UUID) -> Resolution | None:
        """How a contradiction with one noun stands, and what stood before."""
        names = canonical_names(self.family, canonical)
        rows = await self.rows("resolution", names, row_id=row_id)
        for ref_id, status, at, previous, previous_at in rows:
            before = None if previous is None else ContradictionStatus(previous)
            ref = Ref(canonical.noun, ref_id)
            return Resolution(ref, ContradictionStatus(status), at, before, previous_at)
        return None

    async def links(self, position: int, span: int = _SPAN) -> list[LedgerRecord]:
        """The links of the decision that stands at a position; a large one says how many."""
        rows = await self.rows(
            "links", position=position, first=position - span, last=position + span
        )
        found = [record(row) for row in rows]
        more: int = found[0].detail.get("links", 0) if found else 0
        return found if more <= span else await self.links(position, more)

    # --- sessions and interactions ------------------------------------------------------------

    async def scopes(self, scope_id: UUID) -> list[ScopeRow]:
        """A session with its interactions, or one interaction."""
        rows = await self.rows("scopes", scope_id=scope_id)
        return [ScopeRow(row_id, Tier(tier), *rest) for row_id, tier, *rest in rows]

    async def renew(self, ids: Sequence[UUID]) -> list[UUID]:
        """Extend the leases of open scopes; those that were open."""
        return await self.ids(LIFECYCLE, "renew", ids=list(ids), moment=self.at)

    def let_transient_go(self, session_id: UUID) -> None:
        """Allow this transaction to remove the transient rows of a session."""
        self.run.set({"idetic.closing": str(session_id)})

    # --- writing ------------------------------------------------------------------------------

    async def settle(self, version: int, steps: Sequence[Step]) -> list[Receipt]:
        """Write what was decided; one receipt per step that leaves a link."""
        if not steps:
            return []
        principal = self.scope.principal
        rows = await self.rows(
            "settle",
            moment=self.at,
            kind=principal.kind.value,
            name=principal.name,
            version=version,
            steps=plain_json([step.encoded() for step in steps]),
        )
        return [_receipt(row) for row in rows]

    async def replay(self, key: str, digest: str) -> Receipt | None:
        """The receipt an idempotency key stands for; another body under it is refused."""
        rows = await self.rows("replay", key=key, digest=digest)
        return _receipt(rows[0]) if rows else None

    async def remember(self, key: str, digest: str, position: int, salt: bytes) -> None:
        """Keep an idempotency key beside the link that it stands for, with the link's salt."""
        kept: dict[str, Any] = {"key": key, "digest": digest, "position": position, "salt": salt}
        await self.ask("receipts", "remember", **kept)

    async def enqueue(self, *tasks: str, **ids: Any) -> None:
        """Enqueue background tasks for this anchor; they commit with what was settled.

        The Subconscious has its dreams for that: a job of its own in the queue could be told.
        """
        if self.family.persona is not Persona.SUBCONSCIOUS:
            self.run.later([enqueue_statement(self.scope, task, **ids) for task in tasks])


@dataclass(frozen=True, slots=True)
class Anchors:
    """Opens the anchors of one family, each within a transaction."""

    database: Database
    family: Family
    entries: Entries
    extensions: Extensions
    clock: Clock

    def look(self, scope: Scope) -> AbstractAsyncContextManager[AnchorTransaction]:
        """The anchor for those who only want to know: nothing is locked."""
        return self.within(scope, self.database.transaction(scope))

    def snapshot(self, scope: Scope) -> AbstractAsyncContextManager[AnchorTransaction]:
        """The anchor as it is at one moment, however many statements ask; nothing is locked."""
        return self.within(scope, self.database.snapshot(scope))

    @asynccontextmanager
    async def within(
        self, scope: Scope, transaction: AbstractAsyncContextManager[Transaction]
    ) -> AsyncIterator[AnchorTransaction]:
        """The anchor within a transaction that begins and ends here."""
        await self.database.check_clock(self.clock)
        async with transaction as run:
            now = self.clock.now()
            yield AnchorTransaction(self.family, self.entries, self.extensions, scope, run, now)

    @asynccontextmanager
    async def hold(self, scope: Scope) -> AsyncIterator[AnchorTransaction]:
        """The anchor, locked until the block ends; then all of it is committed, or nothing."""
        async with self.look(scope) as tx:
            await tx.lock()
            yield tx


@cache
def lifecycle_part(query: str) -> str:
    """A part of a query of `lifecycle.sql`."""
    return templates.query(f"queries/{LIFECYCLE}.sql", query)


def _vector(text: str | None) -> Any:
    """A vector from pgvector's text, or None."""
    if text is None:
        return None
    import numpy as np  # noqa: PLC0415 - importing idetic stays light

    return np.fromstring(text[1:-1], dtype=np.float32, sep=",")


def _named(provenance: Any) -> Mapping[str, Any]:
    """Provenance by name; whatever else somebody put there names nothing."""
    return provenance if isinstance(provenance, dict) else {}


def _shown(names: Mapping[str, str]) -> dict[str, str]:
    """The columns of a noun's view, where the noun has them."""
    noun, versioned = names["noun"], "canonical_version" in names
    return {
        "pinned": "v.pinned_version" if versioned else "NULL::integer",
        "version": "v.current_version" if versioned else "NULL::integer",
        "text": f"v.{noun}_text" if "canonical_body" in names else "NULL::text",
        "strength": f"v.{noun}_strength::text" if "canonical_strength" in names else "NULL::text",
    }


def _receipt(row: tuple[Any, ...]) -> Receipt:
    """The receipt that one row of `settle` or `replay` stands for."""
    position, at, receipt_id, decision, reason, memory_id, detail = row
    shown: Mapping[str, Any] = detail or {}
    return Receipt(
        receipt_id, Decision(decision), reason, position, at, entry_id=memory_id, detail=shown
    )
