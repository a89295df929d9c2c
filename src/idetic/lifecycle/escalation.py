"""Anchor escalation: what one anchor knows becomes what the broader anchor of its tenant knows.

The boundary above the persistent tier. What goes up crosses the aggregation gate, so the broader
anchor holds nothing that names the one it came from; the links of both say where it went and came
from. Two transactions, the broader anchor's first: if the second is lost, doing it again finds the
entry there and only says so here.

Who promotes decides with `escalate`. Without anybody, facts that refer to something canonical are
nominated: there they are candidates, and hold once enough anchors know the same. No anchor is read
for that but the one that nominates and the broader one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import EntryNotFound, InputError, WritePolicyRefused
from idetic.evidence import Corroboration, Relation, SourceType
from idetic.ids import uuid7
from idetic.lifecycle.aggregation import AggregationGate
from idetic.lifecycle.duplicates import Sameness, compare
from idetic.lifecycle.promotion_inputs import (
    SupportedEntry,
    as_source,
    beside,
    policy_of,
    statement,
    supported_entries,
)
from idetic.model import (
    Capability,
    Decision,
    Entry,
    EntryState,
    Receipt,
    Ref,
    Scope,
    Tier,
    Typology,
)
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import PromotionPath
from idetic.store.anchor_scans import changed_facts, same_words
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.store.scope import anchor_of
from idetic.store.steps import AddStep, CorroborateStep, LinkStep, RecurStep, Step, TurnStep
from idetic.verbs.declaration import post, verb

MOST = 100
NOMINATE = "nominate"
MOST_FACTS = 10_000
# What stands before an anchor's id where it is a source.
_ANCHOR = "anchor:"


@dataclass(frozen=True, slots=True)
class Escalated:
    """The result of an escalation: each entry with its entry at the broader anchor, or why not."""

    receipt: Receipt
    entries: Mapping[UUID, UUID] = field(default_factory=dict)
    refused: Mapping[UUID, str] = field(default_factory=dict)


@verb(
    capability=Capability.PROMOTE,
    writes=True,
    operation="escalate",
    repeatable=True,
    http=post("/escalations", "maturing"),
    examples=('idetic escalate ENTRY_ID --reason "it holds everywhere" {scope}',),
)
async def escalate(binding: Binding, entries: Iterable[UUID], *, reason: str) -> Escalated:
    """Promote entries to the broader anchor of the tenant, through the aggregation gate."""
    above = broader_scope(binding)
    if above is None:
        raise WritePolicyRefused(
            f"The tier model of {binding.spec.agent} has no broader tier above this anchor.",
            remedy="Declare `tiers.broader` and `boundary: anchor_escalation` for the persistent "
            "tier.",
        )
    wanted = list(dict.fromkeys(entries))
    if not 0 < len(wanted) <= MOST:
        raise InputError(f"Give 1 to {MOST} entries.")
    reason = binding.gated_reason(reason)
    async with binding.look() as tx:
        known = {one.id: one.entry for one in await tx.stored(wanted)}
        if missing := [one for one in wanted if one not in known]:
            raise EntryNotFound(f"{len(missing)} of {len(wanted)} entries are not here.")
        gate = await AggregationGate.of(binding, tx)
        if gate is None:
            raise WritePolicyRefused("This spec has no gate at the aggregation boundary.")
        crossed = [_crossed(gate, known[one]) for one in wanted]
    told = dict(zip(wanted, crossed, strict=True))
    refused = {key: one for key, one in told.items() if isinstance(one, str)}
    passed = {key: one for key, one in told.items() if not isinstance(one, str)}
    into = await _written(binding, above, known, passed, decided=True)
    async with binding.hold() as tx:
        steps = told_steps(binding.spec, reason, known, into, refused)
        first, *_ = await binding.settle(tx, steps)
    return Escalated(first, into, refused)


@verb(
    capability=Capability.MAINTAIN,
    writes=True,
    operation="escalate",
    repeatable=True,
    http=post("/nominations", "upkeep"),
)
async def nominate(binding: Binding) -> dict[UUID, UUID]:
    """Nominate facts to the broader anchor: they count there once enough anchors know them.

    It takes facts that changed since the last run and refer to a shared canonical row, and returns
    the entry at the broader anchor for each.
    """
    engine, above, into = binding.engine, broader_scope(binding), dict[UUID, UUID]()
    position = await engine.marks.position(binding.scope)
    counted = binding.spec.references.corroborations and recurs(binding.spec, MOST)
    if above is not None and counted:
        into = await _nominated(binding, above)
    await engine.marks.mark(binding.scope, NOMINATE, position, engine.clock.now())
    return into


async def _nominated(binding: Binding, above: Scope) -> dict[UUID, UUID]:
    """Write at the broader anchor what may be nominated, and tell it here."""
    async with binding.look() as tx:
        _, ids = await changed_facts(tx, NOMINATE, MOST_FACTS)
        known = {one.id: one.entry for one in await tx.stored(ids)}
        known = {key: one for key, one in known.items() if shared_refs(tx.spec, one.refs)}
        gate = await AggregationGate.of(binding, tx)
    crossed = {} if gate is None else {key: _crossed(gate, one) for key, one in known.items()}
    passed = {key: one for key, one in crossed.items() if not isinstance(one, str)}
    into = await _written(binding, above, known, passed, decided=False)
    if into:
        async with binding.hold() as tx:
            why = "nominated to the broader anchor"
            await binding.settle(tx, told_steps(binding.spec, why, known, into, {}))
    return into


def shared_refs(spec: MemorySpec, refs: Iterable[Ref]) -> list[Ref]:
    """The references that mean something at every anchor of a tenant: to no row of one anchor's."""
    own = spec.anchor.root is not None
    shared = {one.noun for one in spec.references.canonical if not (own and one.scope)}
    return [ref for ref in refs if ref.noun in shared]


def recurs(spec: MemorySpec, anchors: int) -> bool:
    """Whether what so many anchors know is known across anchors."""
    policy = spec.promotion_of(Tier.PERSISTENT, Typology.SEMANTIC)
    return policy.path is PromotionPath.META_SEMANTIC and anchors >= policy.min_anchors


def broader_scope(binding: Binding) -> Scope | None:
    """The scope of the broader anchor for the same principal; None where there is none."""
    scope = binding.scope
    above = binding.spec.broader_anchor(scope.anchor)
    return None if above is None else replace(scope, anchor=above)


def _crossed(gate: AggregationGate, entry: Entry) -> Entry | str:
    """An entry as it may be known at the broader anchor, or why it stays."""
    text = gate.crossed(entry)
    if isinstance(text, str):
        return text
    envelope, _, refused = gate.pipeline.apply_envelope(entry.envelope, gate.names)
    return refused or replace(entry, body_text=text.text, envelope=envelope)


async def _written(
    below: Binding,
    above: Scope,
    known: Mapping[UUID, Entry],
    passed: Mapping[UUID, Entry],
    *,
    decided: bool,
) -> dict[UUID, UUID]:
    """Write what crossed at the broader anchor; the entry there that each has become."""
    into: dict[UUID, UUID] = {}
    there = replace(below, scope=above)
    if not passed:
        return into
    async with there.hold() as tx:
        held = await _held(tx, passed.values())
        lineage = await tx.lineage(one.id for one in held)
        steps: list[Step] = []
        for key, entry in passed.items():
            same = next((one for one in held if _says_same(tx, one, entry)), None)
            if same is not None and key in {one.source_id for one in lineage.get(same.id, ())}:
                into[key] = same.id
                continue
            made = _step(tx, known[key], entry, same, candidate=not decided)
            steps += [made, *_support(tx, below.scope, known[key], made, entry)]
            into[key] = same.id if same is not None else made.entry_id or key
            if same is None:
                held.append(StoredEntry(replace(entry, id=into[key]), None, rests=False))
        await there.settle(tx, steps)
        await there.settle(tx, await _promotions(tx, set(into.values()), decided=decided))
        await tx.enqueue("embed")
    return into


async def _promotions(tx: AnchorTransaction, ids: Iterable[UUID], *, decided: bool) -> list[Step]:
    """What holds at the broader anchor now, and what of it is known across anchors."""
    steps: list[Step] = []
    for one in await supported_entries(tx, await tx.stored(ids)):
        anchors = anchors_behind(one)
        enough, told = recurs(tx.spec, anchors), {"anchors": anchors}
        contested = any(other.is_conflict(one) for other in await beside(tx, one))
        if one.entry.candidate and (decided or (enough and not contested)):
            why = "somebody decided so" if decided else f"{anchors} anchors know it"
            step = TurnStep("promoted", why, {"candidate": False}, entry=one.entry, detail=told)
            steps.append(step)
            one.entry = step.after
        fact = one.entry.typology is Typology.SEMANTIC and not one.entry.candidate
        if fact and enough and one.entry.refs and one.entry.meta_at is None:
            why, meta = f"holds at {anchors} anchors", {"meta_at": tx.at}
            steps.append(TurnStep("meta_promoted", why, meta, entry=one.entry, detail=told))
    return steps


def anchors_behind(supported: SupportedEntry) -> int:
    """How many anchors support an entry of the broader one; none withdrawn."""
    stand = (one for one in supported.sources if one.withdrawn_at is None)
    return len({one.source_by for one in stand if one.source_by.startswith(_ANCHOR)})


async def _held(tx: AnchorTransaction, entries: Iterable[Entry]) -> list[StoredEntry]:
    """What the broader anchor holds that may say the same: by claim, or by the key of its words."""
    listed = list(entries)
    found = await tx.claimed(one.claim.key for one in listed if one.claim is not None)
    worded = await same_words(tx, [(n, one.body_text) for n, one in enumerate(listed)])
    found += await tx.stored({one for many in worded.values() for one, _ in many})
    return list({one.id: one for one in found}.values())


def _says_same(tx: AnchorTransaction, there: StoredEntry, entry: Entry) -> bool:
    """Whether an entry of the broader anchor says what crossed."""
    if there.entry.typology is not entry.typology or there.entry.state is not EntryState.CURRENT:
        return False
    crossed = StoredEntry(entry, None, rests=False)
    verdict = compare(statement(there), statement(crossed), policy_of(tx.spec)).verdict
    return verdict is Sameness.SAME


def _step(
    tx: AnchorTransaction,
    source: Entry,
    entry: Entry,
    same: StoredEntry | None,
    *,
    candidate: bool,
) -> LinkStep:
    """The entry at the broader anchor, or one more source of the one that says the same."""
    # Neither session nor version: they are the narrower anchor's.
    made = replace(as_source(source, Relation.PROMOTED), provenance={}, session_id=None)
    if same is not None:
        again = [replace(made, relation=Relation.RECURRED)]
        return RecurStep("recurred", "another anchor knows the same", again, entry=same.entry)
    return AddStep(
        "escalated",
        "it crossed the aggregation gate",
        tier=Tier.PERSISTENT,
        typology=entry.typology,
        text=entry.body_text,
        envelope=entry.envelope,
        origin=entry.origin,
        trust=entry.trust,
        valid_at=entry.valid_at or tx.at,
        lineage=[made],
        refs=shared_refs(tx.spec, entry.refs),
        candidate=candidate,
    )


def _support(
    tx: AnchorTransaction, below: Scope, source: Entry, made: LinkStep, entry: Entry
) -> list[Step]:
    """The corroboration by an anchor; each counts as one voice, whoever spoke there."""
    if not tx.spec.references.corroborations:
        return []
    known = made.entry_like(entry) if isinstance(made, AddStep) else made.entry
    one = Corroboration(
        uuid7(), SourceType.OBSERVATION_EVENT, source.id, tx.at, tx.actor,
        f"{_ANCHOR}{anchor_of(below)}", source.origin,
    )  # fmt: skip
    return [CorroborateStep("corroborated", "an anchor knows it", one, entry=known)]


def told_steps(
    spec: MemorySpec,
    reason: str,
    known: Mapping[UUID, Entry],
    into: Mapping[UUID, UUID],
    refused: Mapping[UUID, str],
) -> list[Step]:
    """What the anchor itself is told: what went up and what stays; the first link is the whole."""
    event = spec.tiers.persistent.event
    told = {"event": event, "escalated": len(into), "refused": len(refused)}
    steps: list[Step] = [LinkStep("escalation", reason, detail=told)]
    steps += [
        LinkStep("escalated", reason, entry=known[key], detail={"into": str(new)})
        for key, new in into.items()
    ]
    steps += [
        LinkStep("escalation_refused", why[:200], decision=Decision.REJECT, entry=known[key])
        for key, why in refused.items()
    ]
    return steps
