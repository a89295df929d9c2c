"""The promotion pass: what a session leaves to persistent memory, and what that changes there.

The pass is pure: statements, existing entries and their evidence in; steps out. Similarity decides
at most that two statements are the same; only a claim key with another value is a conflict.
`promote` weighs candidates again: gates may pass later than the moment their evidence came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.evidence import Decided, GateResult, PromotionGate, Relation
from idetic.lifecycle.promotion_decision import PromotionDecision, deduplication
from idetic.lifecycle.promotion_inputs import (
    Inherited,
    SessionStatement,
    SupportedEntry,
    beside,
    policy_of,
    supported_entries,
)
from idetic.model import Capability, Claim, Decision, Receipt, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import CandidateGround, PromotionPath
from idetic.store import anchor_scans
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.steps import (
    AddStep,
    CloseStep,
    CorroborateStep,
    LinkStep,
    RecurStep,
    Step,
)
from idetic.verbs.declaration import post, verb

BATCH = 200


@dataclass(slots=True)
class PromotionPass(PromotionDecision):
    """Decides about one session's statements, one after the other.

    `into` says, for each transient entry, which persistent one it went into.
    """

    into: dict[UUID, UUID] = field(default_factory=dict)

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
            self.into |= dict.fromkeys((member.id for member in heard.members), match.id)
            self.weigh(match, about)
        self._speak_against(heard, about)

    def _support(self, supported: SupportedEntry, heard: SessionStatement) -> None:
        """Every source that has not spoken for this entry yet does so now."""
        entry = supported.entry
        known = {one.source for one in supported.sources}
        new = [one for one in heard.sources if one.source not in known]
        supported.sources += new
        if not self.spec.references.corroborations:
            lineage = [replace(one, relation=Relation.RECURRED) for one in heard.lineage]
            why = "said again in another session"
            self.steps.append(RecurStep("recurred", why, lineage, entry=entry))
            return
        if any(one.source_type.independent for one in new):
            supported.failures.clear()
        for one in new:
            why = "the same statement again"
            self.steps.append(CorroborateStep("corroborated", why, one, entry=entry))
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
        if typology is not Typology.EPISODIC and not _has_ground(heard, policy.candidates):
            return None
        clean = self._cleaned(heard)
        if clean is None:
            return None
        text, envelope = clean
        leader, taken = heard.leader, Inherited.of(heard.members, heard.lineage)
        gate = deduplication("nothing persistent says this yet")
        step = AddStep(
            "proposed" if typology is not Typology.EPISODIC else "compounded",
            "left by its session",
            detail={"gates": [gate.as_data()]},
            tier=Tier.PERSISTENT,
            typology=typology,
            text=text,
            envelope=envelope,
            origin=taken.origin,
            trust=taken.trust,
            valid_at=taken.valid_at,
            lineage=heard.lineage,
            refs=taken.refs,
            provenance=taken.provenance,
            candidate=typology is not Typology.EPISODIC,
            copy_of=leader.id if text == leader.body_text else None,
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
        told = {"gates": [gate.as_data()]}
        self.steps.append(
            LinkStep("promotion_refused", why, decision=Decision.REJECT, entry=heard.leader,
                     detail=told)
        )  # fmt: skip
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


def _saying(heard: SessionStatement, about: Sequence[SupportedEntry]) -> SupportedEntry | None:
    """The live entry that claims what the statement does, with the same value, or None."""
    claim = heard.claim
    same = [s for s in about if s.live and claim is not None and s.value == claim.value]
    # A fact before an episode that says it; a settled one before a candidate.
    same.sort(key=lambda s: (s.entry.typology is Typology.EPISODIC, s.entry.candidate))
    return same[0] if same else None


def _has_ground(heard: SessionStatement, grounds: Sequence[CandidateGround]) -> bool:
    """Whether a statement has a ground to be kept although nobody has confirmed it."""
    holds = {
        CandidateGround.ANY: True,
        CandidateGround.CLAIM: heard.claim is not None,
        CandidateGround.REFERENCE: any(member.entry.refs for member in heard.members),
        CandidateGround.RECURRENCE: len(heard.sources) > 1,
    }
    return any(holds[ground] for ground in grounds)


def target(spec: MemorySpec, claim: Claim | None) -> Typology | None:
    """The persistent typology that a statement may become, if any."""
    mix = spec.typology.at(Tier.PERSISTENT)
    if claim is not None and Typology.PROCEDURAL in mix:
        policy = spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL)
        if policy.auto_extract and _is_pattern(claim, policy.pattern_attributes):
            return Typology.PROCEDURAL
    for typology in (Typology.EPISODIC, Typology.SEMANTIC):
        if typology in mix:
            return typology
    return None


def _is_pattern(claim: Claim, attributes: Sequence[str]) -> bool:
    """Whether a claim's attribute is, or begins with, one that the spec reads as a pattern."""
    said = claim.normalised().attribute
    return any(said == a or said.startswith((f"{a}_", f"{a} ", f"{a}/")) for a in attributes)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/candidates/promote", "upkeep"))
async def promote(binding: Binding) -> list[Decided]:
    """Promote every candidate of this anchor whose gates pass by now."""
    decided: list[Decided] = []
    after: UUID | None = None
    while True:
        async with binding.hold() as tx:
            ids = await anchor_scans.candidates(tx, after, BATCH)
            steps = await _weighed_again(binding, tx, ids)
            decided += decisions(steps, await binding.settle(tx, steps))
        if len(ids) < BATCH:
            return decided
        after = ids[-1]


async def _weighed_again(
    binding: Binding, tx: AnchorTransaction, ids: Sequence[UUID]
) -> list[Step]:
    """Steps that promote candidates whose gates pass by now; those that stay get no link."""
    work = PromotionDecision(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    candidates = await supported_entries(tx, await tx.stored(ids))
    # What happens to one of them, the next one sees.
    seen = {one.id: one for one in candidates}
    for candidate in candidates:
        about = [seen.setdefault(one.id, one) for one in await beside(tx, candidate)]
        if all(gate.passed for gate in work.gates(candidate, about)):
            work.weigh(candidate, about, quiet=True)
    return work.steps


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
