"""Anchor escalation: what one anchor knows becomes what the broader anchor of its tenant knows.

The boundary above the persistent tier. What goes up crosses the aggregation gate, so the broader
anchor holds nothing that names the one it came from; the links of both say where it went and came
from. Two transactions, the broader anchor's first: if the second is lost, doing it again finds the
entry there and only says so here.
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
from idetic.lifecycle.promotion_inputs import as_source
from idetic.model import Capability, Decision, Entry, EntryState, Receipt, Scope, Tier
from idetic.spec.memory_spec import MemorySpec
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.store.scope import anchor_of
from idetic.store.steps import AddStep, CorroborateStep, LinkStep, RecurStep, Step
from idetic.verbs.declaration import post, verb

MOST = 100


@dataclass(frozen=True, slots=True)
class Escalated:
    """What went up: each entry with the one that says it at the broader anchor; why others stay."""

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
            f"The tier model of {binding.spec.agent} leads no further up from here.",
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
            raise WritePolicyRefused("Nothing crosses the aggregation boundary of this spec.")
        crossed = [_crossed(gate, known[one]) for one in wanted]
    told = dict(zip(wanted, crossed, strict=True))
    refused = {key: one for key, one in told.items() if isinstance(one, str)}
    passed = {key: one for key, one in told.items() if not isinstance(one, str)}
    into = await _written(replace(binding, scope=above), binding.scope, known, passed)
    async with binding.hold() as tx:
        steps = told_steps(binding.spec, reason, known, into, refused)
        first, *_ = await binding.settle(tx, steps)
    return Escalated(first, into, refused)


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
    above: Binding, below: Scope, known: Mapping[UUID, Entry], passed: Mapping[UUID, Entry]
) -> dict[UUID, UUID]:
    """Write what crossed at the broader anchor; the entry there that each has become."""
    into: dict[UUID, UUID] = {}
    if not passed:
        return into
    async with above.hold() as tx:
        held = await _held(tx, passed.values())
        lineage = await tx.lineage(one.id for one in held)
        steps: list[Step] = []
        for key, entry in passed.items():
            same = next((one for one in held if _says_same(one.entry, entry)), None)
            if same is not None and key in {one.source_id for one in lineage.get(same.id, ())}:
                into[key] = same.id
                continue
            made = _step(tx, known[key], entry, same)
            steps += [made, *_support(tx, below, known[key], made, entry)]
            into[key] = same.id if same is not None else made.entry_id or key
            if same is None:
                held.append(StoredEntry(replace(entry, id=into[key]), None, rests=False))
        await above.settle(tx, steps)
        await tx.enqueue("embed")
    return into


async def _held(tx: AnchorTransaction, entries: Iterable[Entry]) -> list[StoredEntry]:
    """What the broader anchor holds that may say the same: by claim, or by the very words."""
    claims = [entry.claim.key for entry in entries if entry.claim is not None]
    texts = [entry.body_text for entry in entries]
    found = await tx.claimed(claims) + await tx.stored_where("worded", texts=texts)
    return list({one.id: one for one in found}.values())


def _says_same(there: Entry, entry: Entry) -> bool:
    """Whether two entries make the same claim; without claims, whether their words are the same."""
    if there.typology is not entry.typology or there.state is not EntryState.CURRENT:
        return False
    if there.claim is None or entry.claim is None:
        return there.claim is entry.claim and there.body_text == entry.body_text
    return there.claim.normalised() == entry.claim.normalised()


def _step(tx: AnchorTransaction, source: Entry, entry: Entry, same: StoredEntry | None) -> LinkStep:
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
        f"anchor:{anchor_of(below)}", source.origin,
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
