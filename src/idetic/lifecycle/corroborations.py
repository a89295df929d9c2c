"""Corroborations: what speaks for an entry, and what should have and did not.

`promote` weighs candidates again: gates may pass later than the moment their evidence came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import WritePolicyRefused
from idetic.evidence import Corroboration, Decided, SourceType
from idetic.gateway.content import check_provenance
from idetic.ids import uuid7
from idetic.lifecycle.promotion import PromotionPass, decisions
from idetic.lifecycle.promotion_inputs import beside, supported_entries
from idetic.model import Capability, Receipt, Tier
from idetic.spec.primitives import Boundary
from idetic.store.anchor_transaction import LIFECYCLE, AnchorTransaction
from idetic.store.steps import CorroborateStep, LinkStep, Step
from idetic.verbs.declaration import post, verb

MAX_NOTES = 500
BATCH = 200


@verb(
    capability=Capability.CORROBORATE,
    writes=True,
    http=post("/entries/{entry_id}/corroborations", "maturing"),
    examples=("idetic corroborate ENTRY_ID observation SOURCE_ID {scope}",),
)
async def corroborate(
    binding: Binding,
    entry_id: UUID,
    source_type: SourceType,
    source_ref: UUID,
    *,
    holds: bool = True,
    notes: str | None = None,
    provenance: dict[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """Add a source that confirms an entry or, with `holds=False`, fails to; each counts once."""
    if not binding.spec.references.corroborations:
        raise WritePolicyRefused(
            f"{binding.spec.title} keeps no corroborations.",
            remedy="Declare `references.corroborations: true` in the spec, and apply it.",
        )
    principal = binding.scope.principal
    found = Corroboration(
        uuid7(),
        source_type,
        source_ref,
        binding.engine.clock.now(),
        str(principal.name),
        principal.origin,
        binding.place.session_id,
        None if notes is None else binding.gated_reason(notes, "notes", MAX_NOTES),
        provenance=check_provenance(binding.spec, provenance),
    )
    call: dict[str, Any] = {
        "verb": "corroborate",
        "memory": str(entry_id),
        "source": [source_type.value, str(source_ref)],
        "holds": holds,
        "notes": found.notes,
    }
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return known
        steps = await _weighed(binding, tx, entry_id, found, holds=holds)
        return await binding.settle_once(tx, steps, idempotency_key, call)


async def _weighed(
    binding: Binding, tx: AnchorTransaction, entry_id: UUID, found: Corroboration, *, holds: bool
) -> list[Step]:
    """The corroboration, whose link is the receipt, and then what it sets in motion."""
    (supported,) = await supported_entries(tx, [await tx.entry(entry_id)])
    entry = supported.entry
    work = PromotionPass(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    if not holds:
        work.fail(supported, found)
    elif found.source not in {one.source for one in supported.sources}:
        supported.sources.append(found)
        work.steps.append(CorroborateStep("corroborated", "it was confirmed", found, entry=entry))
        if entry.tier is Tier.PERSISTENT:
            work.weigh(supported, await beside(tx, supported))
    return work.steps or [LinkStep("replayed", "this source was already counted", entry=entry)]


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/candidates/promote", "upkeep"))
async def promote(binding: Binding) -> list[Decided]:
    """Promote every candidate of this anchor whose gates pass by now."""
    decided: list[Decided] = []
    after: UUID | None = None
    while True:
        async with binding.hold() as tx:
            ids = await tx.ids(LIFECYCLE, "candidates", after=after, limit=BATCH)
            steps = await _weighed_again(binding, tx, ids)
            decided += decisions(steps, await binding.settle(tx, steps))
        if len(ids) < BATCH:
            return decided
        after = ids[-1]


async def _weighed_again(
    binding: Binding, tx: AnchorTransaction, ids: Sequence[UUID]
) -> list[Step]:
    """Steps that promote candidates whose gates pass by now; those that stay get no link."""
    work = PromotionPass(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    candidates = await supported_entries(tx, await tx.stored(ids))
    # What happens to one of them, the next one sees.
    seen = {one.id: one for one in candidates}
    for candidate in candidates:
        about = [seen.setdefault(one.id, one) for one in await beside(tx, candidate)]
        if all(gate.passed for gate in work.gates(candidate, about)):
            work.weigh(candidate, about, quiet=True)
    return work.steps
