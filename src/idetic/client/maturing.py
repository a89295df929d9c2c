"""Memory that matures, from afar: confirm, contradict, dispose, undo, look behind, keep up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from idetic.client.line import Line, Progress, part
from idetic.evidence import (
    Candidate,
    Closed,
    Contradiction,
    ContradictionStatus,
    Corroboration,
    Decided,
    Disposition,
    GateResult,
    Lineage,
    Outcome,
    Referenced,
    SourceType,
)
from idetic.lifecycle.canonical_rescan import Rescanned
from idetic.lifecycle.consolidation import Consolidated
from idetic.lifecycle.retention import Disposed, Reconciled
from idetic.model import LedgerRecord, Receipt, Ref
from idetic.recall.embedding import Embedded


@dataclass(frozen=True, slots=True)
class CandidatePage:
    """One page of candidates, and where the next begins."""

    candidates: tuple[Candidate, ...]
    next_cursor: UUID | None


class RemoteMaturing:
    """The verbs of maturing, of a memory that a server holds."""

    _line: Line

    async def corroborate(
        self,
        entry_id: UUID,
        source_type: SourceType,
        source_ref: UUID,
        *,
        holds: bool = True,
        notes: str | None = None,
        provenance: dict[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """A source confirms an entry or, with `holds=False`, fails to. A source counts once."""
        body = {"source_type": source_type, "source_ref": source_ref, "holds": holds}
        body |= {"notes": notes, "provenance": provenance}
        path = f"/v1/entries/{part(entry_id)}/corroborations"
        return await self._line.write(path, Receipt, body, idempotency_key)

    async def contradict(
        self,
        entry_id: UUID,
        ref: Ref,
        *,
        reason: str,
        provenance: dict[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Say that an entry speaks against canonical content; it goes to the operators' queue."""
        body = {"ref": ref, "reason": reason, "provenance": provenance}
        path = f"/v1/entries/{part(entry_id)}/contradictions"
        return await self._line.write(path, Receipt, body, idempotency_key)

    async def contradictions(
        self, *, status: Sequence[ContradictionStatus] | None = None, limit: int = 100
    ) -> list[Contradiction]:
        """The operators' queue, oldest first: open and surfaced ones unless you say which."""
        asked = {"status": None if status is None else [*map(str, status)], "limit": limit}
        return await self._line.read("/v1/contradictions", list[Contradiction], asked)

    async def resolve(
        self,
        contradiction_id: UUID,
        status: ContradictionStatus,
        *,
        notes: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Move a contradiction on: surface it, dismiss it, or promote it to a revision signal."""
        path = f"/v1/contradictions/{part(contradiction_id)}/resolve"
        body = {"status": status, "notes": notes}
        return await self._line.write(path, Receipt, body, idempotency_key)

    async def corroborations(self, entry_id: UUID) -> list[Corroboration]:
        """What supports an entry, oldest first; withdrawn ones say so."""
        path = f"/v1/entries/{part(entry_id)}/corroborations"
        return await self._line.read(path, list[Corroboration])

    async def lineage(self, entry_id: UUID) -> list[Lineage]:
        """What an entry was made of; sources that went with their scope are still named."""
        return await self._line.read(f"/v1/entries/{part(entry_id)}/lineage", list[Lineage])

    async def references(self, entry_id: UUID) -> list[Referenced]:
        """The canonical rows that an entry refers to, as they read now."""
        return await self._line.read(f"/v1/entries/{part(entry_id)}/references", list[Referenced])

    async def gates(self, entry_id: UUID) -> list[GateResult]:
        """What each of the four promotion gates says about an entry now, with its numbers."""
        return await self._line.read(f"/v1/entries/{part(entry_id)}/gates", list[GateResult])

    async def candidates(self, *, limit: int = 50, after: UUID | None = None) -> list[Candidate]:
        """What waits for support, oldest first, with its gates; `after` is a page's last id."""
        asked = {"limit": limit, "cursor": after}
        page = await self._line.read("/v1/candidates", CandidatePage, asked)
        return list(page.candidates)

    async def disposition(self, *, limit: int = 100) -> list[Disposition]:
        """What is due for somebody's decision, the hardest pressed first."""
        return await self._line.read("/v1/dispositions", list[Disposition], {"limit": limit})

    async def dispose(
        self, entries: Iterable[UUID], outcome: Outcome, *, reason: str
    ) -> list[Receipt]:
        """Decide about entries: promote, recorroborate, exempt or archive; all of them or none."""
        body = {"entries": list(entries), "outcome": outcome, "reason": reason}
        return await self._line.do("/v1/dispositions", list[Receipt], body)

    async def undo(
        self,
        what: Receipt | LedgerRecord | int,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Take a decision back: a promotion, supersession, invalidation, archive, corroboration."""
        position = what.position if isinstance(what, Receipt | LedgerRecord) else what
        body = {"position": position, "reason": reason}
        return await self._line.write("/v1/undo", Receipt, body, idempotency_key)

    async def dispose_tombstones(self) -> Disposed:
        """Tombstone what outlived its TTL, and empty the tombstones whose grace is over."""
        return await self._line.do("/v1/tombstones/dispose", Disposed)

    async def reconcile(self) -> Reconciled:
        """What is kept in which state, and what should not be there; nothing is cleaned up."""
        return await self._line.ask("/v1/reconcile", Reconciled)

    async def recover(self) -> list[Closed]:
        """Close the scopes of this anchor whose process went away; what each close did."""
        return await self._line.do("/v1/recover", list[Closed])

    async def rescan(self, noun: str | None = None, ref_id: UUID | None = None) -> Rescanned:
        """Bring memory in line with changed canonical content."""
        return await self._line.do("/v1/rescan", Rescanned, {"noun": noun, "ref_id": ref_id})

    async def consolidate(self) -> Consolidated:
        """Merge facts that changed since the last run; with a reasoner, what overlaps too."""
        return await self._line.do("/v1/consolidate", Consolidated)

    async def promote(self) -> list[Decided]:
        """Promote every candidate of this anchor whose gates pass by now."""
        return await self._line.do("/v1/candidates/promote", list[Decided])

    async def mark_due(self) -> int:
        """Say in the history of every entry that fell due that it waits for a disposition."""
        return await self._line.do("/v1/dispositions/mark", int)

    async def embed(self, progress: Progress | None = None) -> Embedded:
        """Give every pending entry of this anchor its vector, in batches that each commit."""
        return await self._line.follow("/v1/embed", Embedded, None, progress)

    async def reembed(self, progress: Progress | None = None) -> Embedded:
        """Embed the whole tenant with the loaded model, then switch recalls to it."""
        return await self._line.follow("/v1/reembed", Embedded, None, progress)
