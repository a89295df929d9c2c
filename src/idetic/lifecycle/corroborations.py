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
from idetic.lifecycle.promotion import PromotionPass, decisions
from idetic.lifecycle.promotion_inputs import SupportedEntry, beside, supported_entries
from idetic.lifecycle.verified_source import VerifiedSource, verified_source
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
    examples=("idetic corroborate ENTRY_ID --source OBSERVATION_ID {scope}",),
    describes={
        "source": "An entry of this anchor that says the same; an operator may also name a "
        "canonical row, or nothing.",
        "holds": "False for a source that should have confirmed the entry and says otherwise.",
    },
)
async def corroborate(
    binding: Binding,
    entry_id: UUID,
    source: UUID | None = None,
    *,
    holds: bool = True,
    notes: str | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """Add a source that confirms an entry, or that disputes it (`holds` is false).

    The principal decides the kind of source. An operator's statement counts by itself. An agent has
    to name an observation; without one the source is an inference and never counts. Each source
    counts once.
    """
    if not binding.spec.references.corroborations:
        raise WritePolicyRefused(
            f"{binding.spec.title} keeps no corroborations.",
            remedy="Declare `references.corroborations: true` in the spec, and apply it.",
        )
    said = None if notes is None else binding.gated_reason(notes, "notes", MAX_NOTES)
    call: dict[str, Any] = {
        "verb": "corroborate",
        "memory": str(entry_id),
        "source": None if source is None else str(source),
        "holds": holds,
        "notes": said,
    }
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return known
        (supported,) = await supported_entries(tx, [await tx.entry(entry_id)])
        found = await verified_source(tx, supported, source, holds=holds, notes=said)
        steps = await _weighed(binding, tx, supported, found, holds=holds)
        return await binding.settle_once(tx, steps, idempotency_key, call)


async def _weighed(
    binding: Binding,
    tx: AnchorTransaction,
    supported: SupportedEntry,
    found: VerifiedSource,
    *,
    holds: bool,
) -> list[Step]:
    """The corroborations, whose first link is the receipt, and then what they set in motion."""
    entry = supported.entry
    work = PromotionPass(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    if not holds:
        for one in found.voices:
            work.fail(supported, one)
    elif new := [one for one in found.voices if _is_new(one, supported)]:
        supported.sources += new
        why, sources = "it was confirmed", found.lineage
        for one in new:
            work.steps.append(CorroborateStep("corroborated", why, one, sources, entry=entry))
            # Once names them all.
            sources = ()
        if entry.tier is Tier.PERSISTENT:
            work.weigh(supported, await beside(tx, supported))
    return work.steps or [LinkStep("replayed", "this source was already counted", entry=entry)]


def _is_new(found: Corroboration, supported: SupportedEntry) -> bool:
    """Whether a source adds something: an operator's word does each time, for it is a new day's.

    Not with the same thing to go by: that was told.
    """
    if found.source_type is not SourceType.OPERATOR_INPUT:
        return found.source not in {one.source for one in supported.sources}
    return (found.source_ref, found.source_by) not in {
        (one.source_ref, one.source_by) for one in supported.sources
    }


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/candidates/promote", "upkeep"))
async def promote(binding: Binding) -> list[Decided]:
    """Promote every candidate of this anchor that now passes its gates."""
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
