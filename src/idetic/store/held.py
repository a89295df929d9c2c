"""An anchor held to commit: read what is there, decide outside, settle, all in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Contradiction, Corroboration, Lineage, Referenced
from idetic.model import Decision, LedgerRecord, Receipt, Ref, Scope, Tier
from idetic.spec.primitives import Canonical, Persona
from idetic.store.compiler import Extensions
from idetic.store.database import Transaction
from idetic.store.entries import Entries, record
from idetic.store.family import Family, canonical_names
from idetic.store.known import (
    Known,
    Resolution,
    ScopeRow,
    contradiction_of,
    corroboration_of,
    lineage_of,
    resolution_of,
    vector_of,
)
from idetic.store.pipeline import Rows
from idetic.store.queue import enqueue_statement
from idetic.store.scans import Scans, text_of

# The links of one decision stand together; this is far more than any decision has.
_SPAN = 20_000
Step = dict[str, Any]
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Held(Scans):
    """One anchor of one family, held by this transaction."""

    def __init__(
        self,
        family: Family,
        entries: Entries,
        extensions: Extensions,
        scope: Scope,
        run: Transaction,
        now: datetime,
    ):
        super().__init__(family, extensions, scope, run, now)
        self._entries = entries

    async def take(self) -> None:
        """Lock the anchor. Its time never runs backwards, whatever the clocks say."""
        ((position, at),) = await self.rows("hold")
        self.at = self.at if position == 0 else max(self.at, at)

    async def scopes(self, scope_id: UUID) -> list[ScopeRow]:
        """A session with its interactions, or one interaction."""
        rows = await self.rows("scopes", scope_id=scope_id)
        return [ScopeRow(row[0], Tier(row[1]), *row[2:]) for row in rows]

    async def known(self, which: str, **values: Any) -> list[Known]:
        """Entries by one of the named conditions: in_session, in_interaction, named, claimed."""
        parts = {
            "which": text_of(which),
            "columns": self._entries.columns(self.scope),
            "rests": self._rests(),
        }
        rows = await self.rows("known", parts, **values)
        return [
            Known(self._entries.entry(self.scope, row[2:]), vector_of(row[0]), row[1])
            for row in rows
        ]

    def _rests(self) -> str:
        parts = [text_of("rests")]
        for canonical in self.family.spec.references.canonical:
            if canonical.contradictions:
                names = canonical_names(self.family, canonical)
                parts.append(text_of("contradicted").replace("{noun}", names["noun"]))
        return f"({' OR '.join(parts)})"

    async def lineage(self, ids: Iterable[UUID]) -> dict[UUID, list[Lineage]]:
        """What entries were made of, by entry."""
        found: dict[UUID, list[Lineage]] = {}
        for row in await self._by_ids("lineage", ids):
            found.setdefault(row[0], []).append(lineage_of(row[1:]))
        return found

    async def corroborations(self, ids: Iterable[UUID]) -> dict[UUID, list[Corroboration]]:
        """What supports entries, by entry; empty where the spec keeps none."""
        found: dict[UUID, list[Corroboration]] = {}
        if self.family.spec.references.corroborations:
            for row in await self._by_ids("corroborations", ids):
                found.setdefault(row[0], []).append(corroboration_of(row[1:]))
        return found

    async def failures(self, ids: Iterable[UUID]) -> dict[UUID, set[tuple[str, str]]]:
        """The distinct sources that failed to corroborate entries since one last did."""
        found: dict[UUID, set[tuple[str, str]]] = {}
        for memory_id, kind, ref in await self._by_ids("failures", ids):
            found.setdefault(memory_id, set()).add((kind, ref))
        return found

    async def _by_ids(self, query: str, ids: Iterable[UUID]) -> Rows:
        wanted = list(ids)
        return await self.rows(query, ids=wanted) if wanted else []

    async def contradictions(self, canonical: Canonical, **wanted: Any) -> list[Contradiction]:
        """Contradictions with one noun: by row, by entry and canonical row, or by status."""
        values = {"row_id": None, "entry_id": None, "ref_id": None, "status": None, "limit": 1000}
        names = canonical_names(self.family, canonical)
        rows = await self.rows("contradictions", names, **(values | wanted))
        return [contradiction_of(row, canonical.noun) for row in rows]

    async def resolution(self, canonical: Canonical, row_id: UUID) -> Resolution | None:
        """How a contradiction with one noun stands, and what stood before."""
        names = canonical_names(self.family, canonical)
        rows = await self.rows("resolution", names, row_id=row_id)
        return resolution_of(rows[0], canonical.noun) if rows else None

    async def references(self, entry_id: UUID) -> list[Referenced]:
        """The canonical rows that an entry refers to, as they read now."""
        found: list[Referenced] = []
        for canonical in self.family.spec.references.canonical:
            names = canonical_names(self.family, canonical)
            rows = await self.rows("references", names | _shown(names), entry_id=entry_id)
            found += [Referenced(Ref(canonical.noun, r[0], r[1]), *r[2:]) for r in rows]
        return found

    async def links(self, position: int, span: int = _SPAN) -> list[LedgerRecord]:
        """The links of the decision that stands at a position; a large one says how many."""
        rows = await self.rows(
            "links", position=position, first=position - span, last=position + span
        )
        found = [record(row) for row in rows]
        more: int = found[0].detail.get("links", 0) if found else 0
        return found if more <= span else await self.links(position, more)

    async def replay(self, key: str, digest: str) -> Receipt | None:
        """The receipt an idempotency key stands for; another body under it is refused."""
        rows = await self.rows("replay", key=key, digest=digest)
        return _receipt(rows[0]) if rows else None

    async def remember(self, key: str, digest: str, position: int) -> None:
        """Keep an idempotency key beside the link that it stands for."""
        await self.rows("remember", key=key, digest=digest, position=position)

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
            steps=_json(list(steps)),
        )
        return [_receipt(row) for row in rows]

    async def enqueue(self, task: str, **ids: Any) -> None:
        """Enqueue a background task for this anchor; it commits with what was settled.

        The Subconscious has its dreams for that: a job of its own in the queue could be told.
        """
        if self.family.persona is Persona.SUBCONSCIOUS:
            return
        call = enqueue_statement(self.scope, task, **ids)
        await self._run(call.statement, call.values)

    async def closing(self, session_id: UUID) -> None:
        """Let the transient rows of this session go, in this transaction."""
        await self._run.set({"idetic.closing": str(session_id)})


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
    position, at, receipt_id, decision, reason, memory_id, detail = row
    shown: Mapping[str, Any] = detail or {}
    return Receipt(
        receipt_id, Decision(decision), reason, position, at, entry_id=memory_id, detail=shown
    )
