"""What a user does with memory that matures: confirm, contradict, dispose, undo, look behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

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
from idetic.model import LedgerRecord, Place, Receipt, Ref, Scope

if TYPE_CHECKING:
    from idetic.library.handles import Agent


class Maturing:
    """The verbs of maturing, for one agent's memory within one scope."""

    agent: Agent
    scope: Scope
    place: Place

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
        return await self.agent.rooms.testimony.corroborate(
            self.scope,
            self.place,
            entry_id,
            source_type,
            source_ref,
            holds=holds,
            notes=notes,
            provenance=provenance,
            key=idempotency_key,
        )

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
        return await self.agent.rooms.contradictions.contradict(
            self.scope, entry_id, ref, reason=reason, provenance=provenance, key=idempotency_key
        )

    async def contradictions(
        self, *, status: Sequence[ContradictionStatus] | None = None, limit: int = 100
    ) -> list[Contradiction]:
        """The operators' queue, oldest first: open and surfaced ones unless you say which."""
        return await self.agent.rooms.contradictions.queue(self.scope, status, limit)

    async def resolve(
        self,
        contradiction_id: UUID,
        status: ContradictionStatus,
        *,
        notes: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Move a contradiction on: surface it, dismiss it, or promote it to a revision signal."""
        return await self.agent.rooms.contradictions.resolve(
            self.scope, contradiction_id, status, notes=notes, key=idempotency_key
        )

    async def corroborations(self, entry_id: UUID) -> list[Corroboration]:
        """What supports an entry, oldest first; withdrawn ones say so."""
        return await self.agent.rooms.evidence.corroborations(self.scope, entry_id)

    async def lineage(self, entry_id: UUID) -> list[Lineage]:
        """What an entry was made of; sources that went with their scope are still named."""
        return await self.agent.rooms.evidence.lineage(self.scope, entry_id)

    async def references(self, entry_id: UUID) -> list[Referenced]:
        """The canonical rows that an entry refers to, as they read now."""
        return await self.agent.rooms.evidence.references(self.scope, entry_id)

    async def gates(self, entry_id: UUID) -> list[GateResult]:
        """What each of the four promotion gates says about an entry now, with its numbers."""
        return await self.agent.rooms.evidence.gates(self.scope, entry_id)

    async def candidates(self, *, limit: int = 50, after: UUID | None = None) -> list[Candidate]:
        """What waits for support, oldest first, with its gates; `after` is a page's last id."""
        return await self.agent.rooms.evidence.candidates(self.scope, limit, after)

    async def disposition(self, *, limit: int = 100) -> list[Disposition]:
        """What is due for somebody's decision, the hardest pressed first."""
        return await self.agent.rooms.dispositions.queue(self.scope, limit)

    async def dispose(
        self, entries: Iterable[UUID], outcome: Outcome, *, reason: str
    ) -> list[Receipt]:
        """Decide about entries: promote, recorroborate, exempt or archive; all of them or none."""
        return await self.agent.rooms.dispositions.dispose(
            self.scope, entries, outcome, reason=reason
        )

    async def undo(
        self,
        what: Receipt | LedgerRecord | int,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Take a decision back: about an entry, its support, or a contradiction; see the docs."""
        return await self.agent.rooms.undoing.undo(
            self.scope, what, reason=reason, key=idempotency_key
        )

    async def tombstone(
        self, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
    ) -> Receipt:
        """Mark a persistent entry as deleted. `undo` brings it back until it is disposed of."""
        return await self.agent.rooms.retention.tombstone(
            self.scope, entry_id, reason=reason, key=idempotency_key
        )

    async def dispose_tombstones(self) -> Disposed:
        """Tombstone what outlived its TTL, and empty the tombstones whose grace is over."""
        return await self.agent.rooms.retention.dispose_tombstones(self.scope)

    async def reconcile(self) -> Reconciled:
        """What is kept in which state, and what should not be there; nothing is cleaned up."""
        return await self.agent.rooms.retention.reconcile(self.scope)

    async def recover(self) -> list[Closed]:
        """Close the scopes of this anchor whose process went away; what each close did."""
        return await self.agent.rooms.recovery.recover(self.scope)

    async def rescan(self, noun: str | None = None, ref_id: UUID | None = None) -> Rescanned:
        """Bring memory in line with changed canonical content."""
        return await self.agent.rooms.canon.rescan(self.scope, noun, ref_id)

    async def consolidate(self) -> Consolidated:
        """Merge facts that changed since the last run; with a reasoner, what overlaps too."""
        return await self.agent.rooms.consolidation.run(self.scope)

    async def promote(self) -> list[Decided]:
        """Promote every candidate of this anchor whose gates pass by now."""
        return await self.agent.rooms.candidates.weigh(self.scope)

    async def mark_due(self) -> int:
        """Say in the history of every entry that fell due that it waits for a disposition."""
        return await self.agent.rooms.dispositions.mark(self.scope)
