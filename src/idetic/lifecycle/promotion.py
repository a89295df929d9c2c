"""The promotion pass: what a session leaves to persistent memory, what moves up there, what goes.

The pass is pure: statements, existing entries and their evidence in; steps out. Similarity decides
at most that two statements are the same. A conflict is the same claim key with another value, or a
reasoner's verdict; similar words are never one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Corroboration, Decided, GateResult, PromotionGate, Relation
from idetic.gates.gate import Pipeline
from idetic.ids import uuid7
from idetic.lifecycle.promotion_inputs import (
    Inherited,
    SessionStatement,
    SupportedEntry,
    as_source,
    confidence,
    corroboration,
    cross_context,
    deduplication,
    duplicate,
    outranked,
    policy_of,
    sanitization,
)
from idetic.model import Claim, Decision, Receipt, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ArchiveCause, CandidateGround, ConflictRule, PromotionPath
from idetic.store.steps import (
    AddStep,
    CloseStep,
    CorroborateStep,
    LinkStep,
    RecurStep,
    Step,
    TurnStep,
)


@dataclass(slots=True)
class PromotionPass:
    """Decides about statements and entries, one after the other, and collects the steps.

    `into` says, for each transient entry, which persistent one it went into.
    """

    spec: MemorySpec
    sanitize: Pipeline
    at: datetime
    # Whether an entry holds since its own time, and not since it was promoted: people say when.
    dated: bool = False
    steps: list[Step] = field(default_factory=list)
    into: dict[UUID, UUID] = field(default_factory=dict)

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
        policy = policy_of(self.spec)
        found = supported.independent(policy.independence)
        if supported.entry.typology is Typology.PROCEDURAL:
            need = self.spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL).min_confidence
            others = (s for s in about if s.live and s.value != supported.value)
            against = sum(len(other.independent(policy.independence)) for other in others)
            counted = confidence(len(found), against, need)
        else:
            counted = corroboration(found, policy.min_corroborations)
        single = deduplication("the one entry that says this")
        if any(s.is_twin(supported) for s in about):
            single = duplicate()
        gates = [
            single,
            counted,
            sanitization(self.sanitize, supported.entry.body_text),
            cross_context(found, policy.min_sessions),
        ]
        replaced = (s.entry.trust for s in about if s.is_conflict(supported))
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
        replaced = [s for s in about if s.is_conflict(supported)]
        changes: dict[str, Any] = {"candidate": False}
        since = self.at
        if replaced:
            # Until then, what it replaces has held.
            since = (supported.entry.valid_at if self.dated else None) or self.at
            changes["valid_at"] = since
            detail["replaces"] = [str(s.id) for s in replaced]
        why = forced or "every gate passed"
        step = TurnStep("promoted", why, changes, entry=supported.entry, detail=detail)
        self.steps.append(step)
        supported.entry = replace(supported.entry, candidate=False)
        rule = self.spec.conflict_of(Tier.PERSISTENT, supported.entry.typology).rule
        for other in replaced:
            ended = since if self.dated else None
            self.steps += resolve_conflict(rule, other, supported, self.at, step.receipt, ended)
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
        found = supported.independent(policy.independence)
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
        key = (one.source_type.value, str(one.source[1]))
        if key in supported.failures or not one.source_type.conclusive:
            return
        if self.spec.trust_of(one.origin) < supported.entry.trust:
            return
        supported.failures[key] = one.voice
        # Where it came from, so that a roll-back of that source finds what it wore down.
        told = {"source_type": key[0], "source_ref": key[1], "origin": one.origin.value}
        told["voice"] = one.voice
        if one.session_id is not None:
            told["session"] = str(one.session_id)
        entry, why = supported.entry, "a source says otherwise"
        self.steps.append(LinkStep("corroboration_failed", why, entry=entry, detail=told))
        policy = self.spec.lifecycle_of(Tier.PERSISTENT, entry.typology)
        cause = ArchiveCause.FAILED_CORROBORATIONS
        rule = policy_of(self.spec).independence
        often = rule.counted(list(supported.failures.values()))
        enough = often >= policy.failed_corroborations
        if supported.live and cause in policy.archive_on and enough:
            why = f"{often} sources in a row said otherwise"
            archived, because = {"archived_at": self.at}, {"cause": cause.value}
            step = TurnStep("archived", why, archived, entry=entry, detail=because)
            self.steps.append(step)
            # Later links of the same pass name the state it is in by then.
            supported.entry, supported.live = step.after, False

    def settle(
        self,
        heard: SessionStatement,
        about: list[SupportedEntry],
        match: SupportedEntry | None,
    ) -> None:
        """One statement: `about` speaks of the same claim key, `match` says the same."""
        if match is None or not match.live:
            match = _saying(heard, about)
        if match is None:
            match = self._enter(heard)
            about += [] if match is None else [match]
        else:
            self._support(match, heard)
        if match is not None:
            behind = (one.source_id for one in heard.lineage)
            self.into |= dict.fromkeys((*behind, *(m.id for m in heard.members)), match.id)
            self.weigh(match, about)
        self._speak_against(heard, about)

    def _support(self, supported: SupportedEntry, heard: SessionStatement) -> None:
        """Every source that has not spoken for this entry yet does so now."""
        entry = supported.entry
        known = {one.source for one in supported.sources}
        new = [one for one in heard.sources if one.source not in known]
        supported.sources += new
        lineage = [replace(one, relation=Relation.RECURRED) for one in heard.lineage]
        if not self.spec.references.corroborations:
            why = "said again in another session"
            self.steps.append(RecurStep("recurred", why, lineage, entry=entry))
            return
        if any(one.source_type.independent for one in new):
            supported.failures.clear()
        for one in new:
            why = "the same statement again"
            self.steps.append(CorroborateStep("corroborated", why, one, lineage, entry=entry))
            # Once names them all.
            lineage = []
        if not new:
            told = {"sources": [str(member.id) for member in heard.members]}
            why = "a source that was already counted"
            self.steps.append(LinkStep("replayed", why, entry=entry, detail=told))

    def _enter(self, heard: SessionStatement) -> SupportedEntry | None:
        """A statement that persistent memory does not hold yet: a candidate, or nothing."""
        typology = target(self.spec, heard.claim)
        policy = policy_of(self.spec)
        if typology is None or policy.path is PromotionPath.NONE:
            return None
        unconfirmed = typology is not Typology.EPISODIC
        ground = _ground(heard, policy.candidates)
        if unconfirmed and ground is None:
            return None
        clean = self._cleaned(heard)
        if clean is None:
            return None
        text, envelope = clean
        leader, gate = heard.leader, deduplication("nothing persistent says this yet")
        step = AddStep(
            "proposed" if unconfirmed else "compounded",
            "left by its session",
            detail={"gates": [gate.as_data()]} | ({"ground": ground} if unconfirmed else {}),
            tier=Tier.PERSISTENT,
            typology=typology,
            text=text,
            envelope=envelope,
            lineage=heard.lineage,
            candidate=unconfirmed,
            copy_of=leader.id if text == leader.body_text and not heard.drawn else None,
            **vars(Inherited.of(heard.members, heard.lineage)),
        )
        self.steps.append(step)
        supported = SupportedEntry(step.entry_like(leader), list(heard.sources))
        for one in heard.sources if self.spec.references.corroborations else ():
            why = "where it was first said"
            self.steps.append(CorroborateStep("corroborated", why, one, entry=supported.entry))
        return supported

    def _cleaned(self, heard: SessionStatement) -> tuple[str, dict[str, Any]] | None:
        """The statement as it may leave its session, or None where the gate refuses it."""
        passed = self.sanitize.apply(heard.leader.body_text)
        envelope, _, refused = self.sanitize.apply_envelope(heard.leader.envelope)
        why = passed.refused or refused
        if why is None:
            return passed.text, dict(envelope)
        gate = GateResult(PromotionGate.SANITIZATION, False, 1, 0, why)
        told: dict[str, Any] = {"decision": Decision.REJECT, "detail": {"gates": [gate.as_data()]}}
        self.steps.append(LinkStep("promotion_refused", why, entry=heard.leader, **told))
        return None

    def _speak_against(self, heard: SessionStatement, about: Sequence[SupportedEntry]) -> None:
        """A statement of another value fails to corroborate what stands; often enough, it goes."""
        claim = heard.claim
        for other in about:
            entry = other.entry
            if not other.live or entry.candidate or claim is None or other.value == claim.value:
                continue
            for one in heard.sources if entry.typology is Typology.SEMANTIC else ():
                self.fail(other, one)


def resolve_conflict(
    rule: ConflictRule,
    other: SupportedEntry,
    by: SupportedEntry,
    at: datetime,
    receipt: UUID,
    until: datetime | None = None,
) -> list[Step]:
    """The steps that settle a conflict with what stood. Both stay, with the time each held.

    `until` is when the other one ceased to hold, if that is not now; never before it began to.
    """
    if rule is ConflictRule.NOOP:
        return []
    transition, why = "invalidated", "another value of the same claim holds now"
    ended = at if until is None else max(until, other.entry.valid_at or until)
    changes: dict[str, Any] = {"invalid_at": ended, "invalidated_at": at}
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


def _saying(heard: SessionStatement, about: Sequence[SupportedEntry]) -> SupportedEntry | None:
    """The live entry that claims what the statement does, with the same value, or None."""
    claim = heard.claim
    same = [s for s in about if s.live and claim is not None and s.value == claim.value]
    # A fact before an episode that says it; a settled one before a candidate.
    same.sort(key=lambda s: (s.entry.typology is Typology.EPISODIC, s.entry.candidate))
    return same[0] if same else None


def _ground(heard: SessionStatement, grounds: Sequence[CandidateGround]) -> CandidateGround | None:
    """Why a statement is kept although nobody has confirmed it; None where nothing keeps it."""
    holds = {
        CandidateGround.CLAIM: heard.claim is not None,
        CandidateGround.REFERENCE: any(member.entry.refs for member in heard.members),
        CandidateGround.RECURRENCE: len(heard.sources) > 1,
        CandidateGround.ANY: True,
        # The last, because it keeps for a time only: else nobody would see a repetition.
        CandidateGround.REPETITION: True,
    }
    return next((ground for ground, so in holds.items() if so and ground in grounds), None)


def target(spec: MemorySpec, claim: Claim | None) -> Typology | None:
    """The persistent typology that a statement may become, if any."""
    mix = spec.typology.at(Tier.PERSISTENT)
    if claim is not None and Typology.PROCEDURAL in mix:
        policy = spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL)
        if policy.auto_extract and is_pattern(claim, policy.pattern_attributes):
            return Typology.PROCEDURAL
    for typology in (Typology.EPISODIC, Typology.SEMANTIC):
        if typology in mix:
            return typology
    return None


def is_pattern(claim: Claim, attributes: Sequence[str]) -> bool:
    """Whether a claim's attribute is, or begins with, one that the spec reads as a pattern."""
    said = claim.normalised().attribute
    begun = tuple(a + joint for a in attributes for joint in "_ /:")
    return said in attributes or said.startswith(begun)


def decisions(steps: Sequence[Step], receipts: Sequence[Receipt]) -> list[Decided]:
    """The decisions behind steps; a refused note's steps left no link, and have no receipt."""
    by_link = {(r.id, r.entry_id, r.reason): r for r in receipts}
    decided = []
    for step in steps:
        if not isinstance(step, LinkStep) or isinstance(step, CloseStep):
            continue
        receipt = by_link.get((step.receipt, step.entry_id, step.reason))
        if receipt is not None:
            gates = (
                GateResult(**{**data, "gate": PromotionGate(data["gate"])})
                for data in step.detail.get("gates", ())
            )
            decided.append(Decided(step.transition, receipt, tuple(gates)))
    return decided
