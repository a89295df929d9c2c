"""The compounding pass: what an interaction leaves to its session.

Deterministic: statements that say the same become one entry, which names all of them. Nothing is
summarised here, and no model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from idetic.evidence import Relation
from idetic.gates.gate import Pipeline
from idetic.gateway import steps
from idetic.gateway.steps import Step
from idetic.lifecycle.sameness import Statement, group
from idetic.lifecycle.sources import Inherited, itself
from idetic.model import Decision, Entry, EntryState, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ConsolidationMethod, PromotionPath, ScopeEnd
from idetic.store.known import Known


def statement(known: Known) -> Statement:
    """An entry as something to compare."""
    return Statement(known.entry.body_text, known.entry.claim, known.vector)


def groups(
    spec: MemorySpec, members: Sequence[Known], tier: Tier, typology: Typology
) -> list[list[int]]:
    """Which of some entries say the same, by the cell's own way of consolidating."""
    if spec.consolidation_of(tier, typology).method is ConsolidationMethod.NONE:
        return [[number] for number in range(len(members))]
    return group([statement(m) for m in members], spec.promotion_of(tier, typology))


def compound(
    spec: MemorySpec,
    gate: Pipeline,
    held: Sequence[Known],
    session: Sequence[Known],
    session_id: UUID,
) -> list[Step]:
    """The steps that carry an interaction's entries into its session and let the rest go."""
    made: list[Step] = []
    into: dict[UUID, str] = {}
    for typology in spec.typology.at(Tier.INTERACTION):
        mine = [k for k in held if k.entry.typology is typology and _live(k)]
        path = spec.promotion_of(Tier.INTERACTION, typology).path
        if path is PromotionPath.NONE or typology not in spec.typology.at(Tier.SESSION):
            continue
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
            if step["decision"] != Decision.REJECT:
                into |= {k.id: step["memory"] for k in new}
    return made + steps.drop(dropped(spec, held), "its interaction ended", into)


def _again(there: Known, new: Sequence[Known]) -> Step:
    found = [itself(k, Relation.RECURRED) for k in new]
    return steps.recur(there.entry, found, "said again in another interaction")


def _carry(gate: Pipeline, new: Sequence[Known], typology: Typology, session_id: UUID) -> Step:
    """One entry of the session for several of an interaction, as the gate lets it through."""
    leader = next((k.entry for k in new if k.entry.claim), new[0].entry)
    taken = Inherited.of(new)
    passed = gate.apply(leader.body_text)
    envelope, _, refused = gate.apply_envelope(leader.envelope)
    if why := passed.refused or refused:
        return steps.link("compounding_refused", Decision.REJECT, why, entry=leader)
    return steps.add(
        steps.Draft(
            tier=Tier.SESSION,
            typology=typology,
            text=passed.text,
            envelope=envelope,
            origin=taken.origin,
            trust=taken.trust,
            valid_at=taken.valid_at,
            lineage=[itself(k, Relation.COMPOUNDED) for k in new],
            refs=taken.refs,
            provenance=taken.provenance,
            session_id=session_id,
            copy_of=leader.id if passed.text == leader.body_text else None,
        ),
        "compounded",
        "compounded at the end of its interaction",
    )


def dropped(spec: MemorySpec, held: Iterable[Known]) -> list[Entry]:
    """The entries that go with their scope: transient, and nothing rests on them."""
    return [
        k.entry
        for k in held
        if not k.rests
        and spec.lifecycle_of(k.entry.tier, k.entry.typology).at_scope_end is ScopeEnd.DROP
    ]


def _live(known: Known) -> bool:
    return known.entry.state is EntryState.CURRENT
