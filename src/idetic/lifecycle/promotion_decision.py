"""Whether a persistent entry moves up, stays or goes: what its gates say, and what follows.

A conflict is the same claim key with another value, or a reasoner's verdict. Similar words are
never one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Corroboration, GateResult, PromotionGate, Relation
from idetic.gates.gate import Pipeline
from idetic.ids import uuid7
from idetic.lifecycle.promotion_inputs import SupportedEntry, as_source, policy_of
from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ArchiveCause, ConflictRule, PromotionPath
from idetic.store.steps import AddStep, CorroborateStep, LinkStep, Step, TurnStep

# --- the four gates: each says what it saw and what it needed -------------------------------------


def sessions(sources: Sequence[Corroboration]) -> set[UUID]:
    """The contexts that sources come from; one outside any session is a context of its own."""
    return {one.session_id or one.source_ref for one in sources}


def deduplication(why: str, similarity: float | None = None) -> GateResult:
    """It is the one entry that says this."""
    have = 1.0 if similarity is None else round(float(similarity), 4)
    return GateResult(PromotionGate.DEDUPLICATION, True, have, have, why)


def duplicate() -> GateResult:
    """Another entry states this already, and one is enough."""
    return GateResult(PromotionGate.DEDUPLICATION, False, 2, 1, "another entry states this already")


def corroboration(sources: Sequence[Corroboration], need: int) -> GateResult:
    """Enough independent sources."""
    have = len(sources)
    why = f"{have} independent source{'' if have == 1 else 's'}, {need} needed"
    return GateResult(PromotionGate.CORROBORATION, have >= need, have, need, why)


def confidence(agree: int, against: int, need: float) -> GateResult:
    """A pattern repeated often enough: the rule of succession over what was seen."""
    have = (agree + 1) / (agree + against + 2)
    why = f"seen {agree} times for and {against} against: confidence {have:.2f}, {need:.2f} needed"
    return GateResult(PromotionGate.CORROBORATION, have >= need, round(have, 4), need, why)


def sanitization(pipeline: Pipeline, text: str) -> GateResult:
    """Nothing in it that its boundary would have changed."""
    passed = pipeline.apply(text)
    found = sum(change.count for change in passed.changes)
    if passed.refused is not None:
        return GateResult(PromotionGate.SANITIZATION, False, found, 0, passed.refused)
    why = "nothing to remove" if not found else f"{found} removed"
    return GateResult(PromotionGate.SANITIZATION, found == 0, found, 0, why)


def cross_context(sources: Sequence[Corroboration], need: int) -> GateResult:
    """More than one session says so."""
    have = len(sessions(sources))
    why = f"{have} session{'' if have == 1 else 's'} agree, {need} needed"
    return GateResult(PromotionGate.CROSS_CONTEXT, have >= need, have, need, why)


def outranked(trust: int, other: int) -> GateResult:
    """What would replace a stronger statement waits for somebody to decide."""
    why = f"its trust is {trust}, and it would replace a statement of {other}"
    return GateResult(PromotionGate.CROSS_CONTEXT, False, trust, other, why)


# --- the decision -------------------------------------------------------------------------------


@dataclass(slots=True)
class PromotionDecision:
    """Decides about entries, one after the other, and collects the steps."""

    spec: MemorySpec
    sanitize: Pipeline
    at: datetime
    steps: list[Step] = field(default_factory=list)

    def weigh(
        self,
        supported: SupportedEntry,
        about: Sequence[SupportedEntry],
        *,
        forced: str | None = None,
        quiet: bool = False,
    ) -> None:
        """Whether an entry moves up now, by its gates; `forced` is an operator's word instead.

        `quiet` leaves no link about one that stays: nothing has happened to it.
        """
        if not supported.live:
            return
        if supported.entry.typology is Typology.EPISODIC:
            self._to_semantic(supported, forced)
        elif supported.entry.candidate:
            self._to_current(supported, about, forced, quiet=quiet)
        elif supported.entry.typology is Typology.SEMANTIC:
            self._to_meta(supported)

    def gates(
        self, supported: SupportedEntry, about: Sequence[SupportedEntry] = ()
    ) -> list[GateResult]:
        """What each of the four gates says about an entry now."""
        found = supported.independent()
        policy = policy_of(self.spec)
        if supported.entry.typology is Typology.PROCEDURAL:
            need = self.spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL).min_confidence
            others = (s for s in about if s.live and s.value != supported.value)
            against = sum(len(other.independent()) for other in others)
            counted = confidence(len(found), against, need)
        else:
            counted = corroboration(found, policy.min_corroborations)
        single = deduplication("the one entry that says this")
        if any(is_twin(s, supported) for s in about):
            single = duplicate()
        gates = [
            single,
            counted,
            sanitization(self.sanitize, supported.entry.body_text),
            cross_context(found, policy.min_sessions),
        ]
        replaced = (s.entry.trust for s in about if is_conflict(s, supported))
        stronger = max(replaced, default=0)
        if stronger > supported.entry.trust:
            gates.append(outranked(supported.entry.trust, stronger))
        return gates

    def _to_current(
        self,
        supported: SupportedEntry,
        about: Sequence[SupportedEntry],
        forced: str | None,
        *,
        quiet: bool,
    ) -> None:
        """Promote a candidate if its gates pass or an operator says so, and resolve conflicts."""
        gates = self.gates(supported, about)
        detail: dict[str, Any] = {"gates": [gate.as_data() for gate in gates]}
        if forced is None and not all(gate.passed for gate in gates):
            if not quiet:
                missing = "; ".join(gate.why for gate in gates if not gate.passed)
                entry = supported.entry
                self.steps.append(LinkStep("held", missing[:200], entry=entry, detail=detail))
            return
        replaced = [s for s in about if is_conflict(s, supported)]
        changes: dict[str, Any] = {"candidate": False}
        if replaced:
            # Until now, what it replaces has held.
            changes["valid_at"] = self.at
            detail["replaces"] = [str(s.id) for s in replaced]
        why = forced or "every gate passed"
        step = TurnStep("promoted", why, changes, entry=supported.entry, detail=detail)
        self.steps.append(step)
        supported.entry = replace(supported.entry, candidate=False)
        rule = self.spec.conflict_of(Tier.PERSISTENT, supported.entry.typology).rule
        for other in replaced:
            self.steps += resolve_conflict(rule, other, supported, self.at, step.receipt)
        if supported.entry.typology is Typology.SEMANTIC:
            self._to_meta(supported)

    def _to_semantic(self, supported: SupportedEntry, forced: str | None) -> None:
        """An episode that enough independent sources confirm becomes a fact."""
        if Typology.SEMANTIC not in self.spec.typology.at(Tier.PERSISTENT):
            return
        gates = self.gates(supported)
        if forced is None and not all(gate.passed for gate in gates):
            return
        entry = supported.entry
        step = AddStep(
            "promoted",
            forced or "every gate passed",
            detail={"gates": [gate.as_data() for gate in gates]},
            tier=Tier.PERSISTENT,
            typology=Typology.SEMANTIC,
            text=entry.body_text,
            envelope=entry.envelope,
            origin=entry.origin,
            trust=entry.trust,
            valid_at=entry.valid_at or self.at,
            lineage=[as_source(entry, Relation.PROMOTED)],
            refs=entry.refs,
            provenance={k: v for k, v in entry.provenance.items() if v is not None},
            copy_of=entry.id,
        )
        fact, carried = step.entry_like(entry), "carried over from its episode"
        self.steps.append(step)
        self.steps += [
            CorroborateStep("corroborated", carried, replace(one, id=uuid7()), entry=fact)
            for one in supported.sources
            if self.spec.references.corroborations and one.withdrawn_at is None
        ]
        archived, told = {"archived_at": self.at}, {"into": str(fact.id)}
        self.steps.append(
            TurnStep("archived", "promoted to a fact", archived, entry=entry,
                     receipt=step.receipt, detail=told)
        )  # fmt: skip
        supported.live = False

    def _to_meta(self, supported: SupportedEntry) -> None:
        """A fact that holds in several versions of the model, and still refers to something."""
        policy = self.spec.promotion_of(Tier.PERSISTENT, Typology.SEMANTIC)
        entry = supported.entry
        if policy.path is not PromotionPath.META_SEMANTIC or entry.meta_at is not None:
            return
        found = supported.independent()
        versions = _versions(found, self.spec.anchor.provenance)
        enough = len(versions) >= policy.min_versions and len(found) >= policy.min_corroborations
        if not enough or not entry.refs:
            return
        why = f"holds under {len(versions)} versions, {len(found)} sources"
        told = {"versions": sorted(versions), "refs": len(entry.refs)}
        step = TurnStep("meta_promoted", why, {"meta_at": self.at}, entry=entry, detail=told)
        self.steps.append(step)
        supported.entry = step.after

    def fail(self, supported: SupportedEntry, one: Corroboration) -> None:
        """One source that should have confirmed an entry and did not.

        A weaker origin than the entry's own says nothing against it: repeating a poisoned tool
        output must not wear a stronger fact down.
        """
        key = (one.source_type.value, str(one.source_ref))
        if key in supported.failures or not one.source_type.independent:
            return
        if self.spec.trust_of(one.origin) < supported.entry.trust:
            return
        supported.failures.add(key)
        # Where it came from, so that a roll-back of that source finds what it wore down.
        told = {"source_type": key[0], "source_ref": key[1], "origin": one.origin.value}
        if one.session_id is not None:
            told["session"] = str(one.session_id)
        entry, why = supported.entry, "a source says otherwise"
        self.steps.append(LinkStep("corroboration_failed", why, entry=entry, detail=told))
        policy = self.spec.lifecycle_of(Tier.PERSISTENT, entry.typology)
        cause = ArchiveCause.FAILED_CORROBORATIONS
        often = len(supported.failures) >= policy.failed_corroborations
        if supported.live and cause in policy.archive_on and often:
            why = f"{len(supported.failures)} sources in a row said otherwise"
            archived, because = {"archived_at": self.at}, {"cause": cause.value}
            step = TurnStep("archived", why, archived, entry=entry, detail=because)
            self.steps.append(step)
            # Later links of the same pass name the state it is in by then.
            supported.entry, supported.live = step.after, False


def is_conflict(other: SupportedEntry, supported: SupportedEntry) -> bool:
    """Whether two entries claim different values of one thing, and the other one stands."""
    return _same_key(other, supported) and other.value != supported.value


def is_twin(other: SupportedEntry, supported: SupportedEntry) -> bool:
    """Whether another entry that stands makes the very claim of this one."""
    return _same_key(other, supported) and other.value == supported.value


def _same_key(other: SupportedEntry, supported: SupportedEntry) -> bool:
    """Whether another live entry, of the same typology and no candidate, has the same claim key."""
    mine, yours = supported.entry.claim, other.entry.claim
    return (
        other.live
        and not other.entry.candidate
        and other.id != supported.id
        and other.entry.typology is supported.entry.typology
        and mine is not None
        and yours is not None
        and mine.key == yours.key
    )


def resolve_conflict(
    rule: ConflictRule, other: SupportedEntry, by: SupportedEntry, at: datetime, receipt: UUID
) -> list[Step]:
    """The steps that settle a conflict with what stood. Both stay, with the time each held."""
    if rule is ConflictRule.NOOP:
        return []
    transition, why = "invalidated", "another value of the same claim holds now"
    changes: dict[str, Any] = {"invalid_at": at, "invalidated_at": at}
    if rule is ConflictRule.SUPERSEDE:
        transition, why = "superseded", "a later statement of the same claim"
        changes = {"superseded_at": at, "superseded_by": by.id}
    told = {"replaced_by": str(by.id)}
    step = TurnStep(transition, why, changes, entry=other.entry, receipt=receipt, detail=told)
    other.entry, other.live = step.after, False
    return [step]


def _versions(sources: Sequence[Corroboration], names: Sequence[str]) -> set[str]:
    """The versions of the canonical model under which sources spoke: the first declared name."""
    if not names:
        return set()
    return {v for one in sources if (v := one.provenance.get(names[0])) is not None}
