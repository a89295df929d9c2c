"""The evidence about an entry: what supports it, what it was made of, what its gates say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from idetic.engine import Binding
from idetic.evidence import Candidate, Corroboration, GateResult, Lineage, Referenced
from idetic.lifecycle.promotion_decision import PromotionDecision
from idetic.lifecycle.promotion_inputs import beside, supported_entries
from idetic.model import Capability
from idetic.spec.primitives import Boundary
from idetic.store import anchor_scans
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.verbs.arguments import Between, Wire
from idetic.verbs.declaration import Paging, get, verb

# Each is weighed against what stands beside it, with a query of its own.
MAX_CANDIDATES = 200


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/corroborations", "reading"))
async def corroborations(binding: Binding, entry_id: UUID) -> list[Corroboration]:
    """List what supports an entry, oldest first; withdrawn ones say so."""
    async with binding.look() as tx:
        await tx.entry(entry_id)
        return (await tx.corroborations([entry_id])).get(entry_id, [])


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/lineage", "reading"))
async def lineage(binding: Binding, entry_id: UUID) -> list[Lineage]:
    """List what an entry was made of; sources that went with their scope are still named."""
    async with binding.look() as tx:
        await tx.entry(entry_id)
        return (await tx.lineage([entry_id])).get(entry_id, [])


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/references", "reading"))
async def references(binding: Binding, entry_id: UUID) -> list[Referenced]:
    """List the canonical rows that an entry refers to, as they read now."""
    async with binding.look() as tx:
        await tx.entry(entry_id)
        return await tx.references(entry_id)


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/gates", "reading"))
async def gates(binding: Binding, entry_id: UUID) -> list[GateResult]:
    """Say what each of the four promotion gates says about an entry now, with its numbers."""
    async with binding.look() as tx:
        (weighed,) = await _weighed(binding, tx, [await tx.entry(entry_id)])
    return list(weighed.gates)


@verb(
    capability=Capability.READ,
    http=get("/candidates", "maturing", page=Paging("candidates", lambda one: one.entry.id)),
)
async def candidates(
    binding: Binding,
    *,
    limit: Annotated[int, Between(1, MAX_CANDIDATES)] = 50,
    after: Annotated[UUID | None, Wire("cursor", UUID | None)] = None,
) -> list[Candidate]:
    """List what waits for support, oldest first, with its gates; `after` is a page's last id."""
    async with binding.look() as tx:
        ids = await anchor_scans.candidates(tx, after, limit)
        return await _weighed(binding, tx, await tx.stored(ids))


async def _weighed(
    binding: Binding, tx: AnchorTransaction, stored: Sequence[StoredEntry]
) -> list[Candidate]:
    decision = PromotionDecision(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    return [
        Candidate(one.entry, tuple(decision.gates(one, await beside(tx, one))))
        for one in await supported_entries(tx, stored)
    ]
