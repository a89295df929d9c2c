"""The compounding pass: what an interaction leaves to its session.

Deterministic: statements that say the same become one entry, which names all of them. Nothing is
summarised here, and no model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from idetic.evidence import Relation
from idetic.gates.gate import Pipeline
from idetic.lifecycle.promotion_inputs import Inherited, as_source, groups
from idetic.model import Decision, Entry, EntryState, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import PromotionPath, ScopeEnd
from idetic.store.anchor_transaction import StoredEntry
from idetic.store.steps import AddStep, LinkStep, RecurStep, Step, drop_steps


def compound(
    spec: MemorySpec,
    gate: Pipeline,
    own: Sequence[StoredEntry],
    session: Sequence[StoredEntry],
    session_id: UUID,
) -> list[Step]:
    """The steps that carry an interaction's entries into its session and let the rest go."""
    made: list[Step] = []
    into: dict[UUID, UUID] = {}
    for typology in spec.typology.at(Tier.INTERACTION):
        path = spec.promotion_of(Tier.INTERACTION, typology).path
        if path is PromotionPath.NONE or typology not in spec.typology.at(Tier.SESSION):
            continue
        mine = [k for k in own if k.entry.typology is typology and _is_live(k)]
        there = [k for k in session if k.entry.typology is typology]
        members = [*there, *mine]
        for numbers in groups(spec, members, Tier.INTERACTION, typology):
            new = [members[n] for n in numbers if n >= len(there)]
            old = [members[n] for n in numbers if n < len(there)]
            if not new:
                continue
            # One that makes the claim takes in those that only have its words, not the reverse.
            claimed = any(k.entry.claim for k in new)
            same = next((k for k in old if k.entry.claim or not claimed), None)
            step = _again(same, new) if same else _carry(gate, new, typology, session_id)
            made.append(step)
            if step.decision is not Decision.REJECT and step.entry_id is not None:
                into |= dict.fromkeys((k.id for k in new), step.entry_id)
    return made + drop_steps(leaving(spec, own), "its interaction ended", into)


def _again(there: StoredEntry, new: Sequence[StoredEntry]) -> LinkStep:
    sources = [as_source(k.entry, Relation.RECURRED) for k in new]
    return RecurStep("recurred", "said again in another interaction", sources, entry=there.entry)


def _carry(
    gate: Pipeline, new: Sequence[StoredEntry], typology: Typology, session_id: UUID
) -> LinkStep:
    """One entry of the session for several of an interaction, as the gate lets it through."""
    leader = next((k.entry for k in new if k.entry.claim), new[0].entry)
    taken = Inherited.of(new)
    passed = gate.apply(leader.body_text)
    envelope, _, refused = gate.apply_envelope(leader.envelope)
    if why := passed.refused or refused:
        return LinkStep("compounding_refused", why, decision=Decision.REJECT, entry=leader)
    return AddStep(
        "compounded",
        "compounded at the end of its interaction",
        tier=Tier.SESSION,
        typology=typology,
        text=passed.text,
        envelope=envelope,
        origin=taken.origin,
        trust=taken.trust,
        valid_at=taken.valid_at,
        lineage=[as_source(k.entry, Relation.COMPOUNDED) for k in new],
        refs=taken.refs,
        provenance=taken.provenance,
        session_id=session_id,
        copy_of=leader.id if passed.text == leader.body_text else None,
    )


def leaving(spec: MemorySpec, stored: Iterable[StoredEntry]) -> list[Entry]:
    """The entries that go with their scope: transient, and nothing rests on them."""
    return [
        k.entry
        for k in stored
        if not k.rests
        and spec.lifecycle_of(k.entry.tier, k.entry.typology).at_scope_end is ScopeEnd.DROP
    ]


def _is_live(stored: StoredEntry) -> bool:
    return stored.entry.state is EntryState.CURRENT
