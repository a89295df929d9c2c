"""Disposition: what time puts before somebody, and what they may decide, one or many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import CapabilityRefused, EntryNotFound, InputError, TransitionRefused
from idetic.evidence import Disposition, Outcome
from idetic.lifecycle.observations import check_pinnable
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import SupportedEntry, beside, supported_entries
from idetic.lifecycle.verified_source import operator_word
from idetic.model import Capability, EntryState, PrincipalKind, Receipt, Tier, Typology
from idetic.spec.primitives import Boundary
from idetic.store.anchor_scans import due_entries, due_part
from idetic.store.anchor_transaction import LIFECYCLE, AnchorTransaction
from idetic.store.steps import CorroborateStep, LinkStep, Step, TurnStep
from idetic.verbs.arguments import Limit
from idetic.verbs.authorization import require
from idetic.verbs.declaration import get, post, verb

MAX_BULK = 1_000
_NEEDS = {
    Outcome.PROMOTE: Capability.PROMOTE,
    Outcome.RECORROBORATE: Capability.CORROBORATE,
    Outcome.EXEMPT: Capability.EXEMPT,
    Outcome.ARCHIVE: Capability.ARCHIVE,
}


@verb(
    capability=Capability.READ,
    http=get("/dispositions", "maturing"),
    examples=("idetic disposition {scope}", "idetic disposition --limit 10 {scope} --json"),
)
async def disposition(binding: Binding, *, limit: Limit = 100) -> list[Disposition]:
    """List entries that wait for a decision, the most overdue first."""
    async with binding.look() as tx:
        return await due_entries(tx, limit)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/dispositions/mark", "upkeep"))
async def mark_due(binding: Binding) -> int:
    """Record in the history of every overdue entry that it waits for a decision."""
    async with binding.hold() as tx:
        asked = {"moment": tx.at, "limit": MAX_BULK}
        ids = await tx.ids(LIFECYCLE, "due_unmarked", due_part(tx), **asked)
        due = await tx.stored(ids)
        why = "it waits for a disposition"
        steps = [LinkStep("disposition_due", why, entry=one.entry) for one in due]
        await binding.settle(tx, steps)
        return len(steps)


@verb(
    writes=True,
    http=post("/dispositions", "maturing"),
    examples=('idetic dispose archive ENTRY_ID --reason "no longer so" {scope}',),
)
async def dispose(
    binding: Binding, entries: Iterable[UUID], outcome: Outcome, *, reason: str
) -> list[Receipt]:
    """Decide about entries: promote, recorroborate, exempt or archive; all of them or none."""
    require(binding.spec, binding.scope, _NEEDS[outcome])
    reason = binding.gated_reason(reason)
    ids = list(dict.fromkeys(entries))
    if not 0 < len(ids) <= MAX_BULK:
        raise InputError(f"One call may dispose of 1 to {MAX_BULK:,} entries.")
    async with binding.hold() as tx:
        stored = {one.id: one for one in await tx.stored(ids)}
        missing = [one for one in ids if one not in stored]
        if missing:
            raise EntryNotFound(f"There is no entry {missing[0]} in this scope.")
        chosen = await supported_entries(tx, [stored[one] for one in ids])
        # What one decision of this call does to an entry, the next one sees.
        seen = {one.id: one for one in chosen}
        steps: list[Step] = []
        for one in chosen:
            steps += await _disposed(binding, tx, one, outcome, reason, seen)
        return _first_of_each(ids, await binding.settle(tx, steps))


async def _disposed(
    binding: Binding,
    tx: AnchorTransaction,
    supported: SupportedEntry,
    outcome: Outcome,
    reason: str,
    seen: dict[UUID, SupportedEntry],
) -> list[Step]:
    """The steps that one outcome means for one entry, which must be current and persistent."""
    entry = supported.entry
    if entry.tier is not Tier.PERSISTENT or entry.state is not EntryState.CURRENT:
        raise TransitionRefused(
            f"Entry {entry.id} is {entry.state} at the {entry.tier} tier.",
            remedy="Only current persistent entries are disposed of.",
        )
    if outcome is Outcome.ARCHIVE:
        told = {"cause": "disposition"}
        return [TurnStep("archived", reason, {"archived_at": tx.at}, entry=entry, detail=told)]
    if outcome is Outcome.EXEMPT:
        check_pinnable(tx.scope, [entry])
        return [TurnStep("exempted", reason, {"exempt_at": tx.at}, entry=entry)]
    if outcome is Outcome.RECORROBORATE:
        return [_confirmed(tx, supported, reason)]
    return await _promoted(binding, tx, supported, reason, seen)


def _confirmed(tx: AnchorTransaction, supported: SupportedEntry, reason: str) -> Step:
    """The step that makes the operator's word a corroboration of the entry."""
    if not tx.spec.references.corroborations:
        raise TransitionRefused(
            f"{tx.spec.title} keeps no corroborations.", remedy="Exempt the entry, or archive it."
        )
    if tx.scope.principal.kind is not PrincipalKind.OPERATOR:
        raise CapabilityRefused(
            "Only an operator can confirm an entry that is due.",
            remedy="Let an operator decide, or corroborate it with an observation.",
        )
    return CorroborateStep("corroborated", reason, operator_word(tx, reason), entry=supported.entry)


async def _promoted(
    binding: Binding,
    tx: AnchorTransaction,
    supported: SupportedEntry,
    reason: str,
    seen: dict[UUID, SupportedEntry],
) -> list[Step]:
    """An operator's word stands for the gates; the link still says what each of them saw."""
    entry = supported.entry
    if not entry.candidate and entry.typology is not Typology.EPISODIC:
        raise TransitionRefused(
            f"Entry {entry.id} is not a candidate, so it cannot be promoted.",
            remedy="Recorroborate it, exempt it, or archive it.",
        )
    about = [seen.setdefault(one.id, one) for one in await beside(tx, supported)]
    if any(one.is_twin(supported) for one in about):
        raise TransitionRefused(
            f"Another entry states the same as {entry.id}.",
            remedy="Archive the candidate, or archive the other one first.",
        )
    work = PromotionPass(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    work.weigh(supported, about, forced=reason)
    if entry.candidate and tx.spec.references.corroborations:
        # The word is a source too; without it the fact could be due again the same day.
        work.steps.append(_confirmed(tx, supported, reason))
    return work.steps


def _first_of_each(ids: Sequence[UUID], receipts: Sequence[Receipt]) -> list[Receipt]:
    """One receipt for each entry, in the caller's order: the first that names it."""
    first: dict[UUID, Receipt] = {}
    for receipt in receipts:
        if receipt.entry_id is not None:
            first.setdefault(receipt.entry_id, receipt)
    # A promoted episode's receipt is that of the fact it became; the episode's own is its archive.
    return [first[one] for one in ids]
