"""The promotion pass: what a session leaves to persistent memory, and what that changes there.

Pure: statements, existing entries and their evidence in; steps out. Similarity decides at most
that two statements are the same; only a claim key with another value is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from idetic.evidence import GateResult, PromotionGate, Relation
from idetic.gateway import steps
from idetic.lifecycle import promotion_gates
from idetic.lifecycle.sources import Inherited
from idetic.lifecycle.subject import Heard, Subject, target
from idetic.lifecycle.weighing import Weighing, entry_of
from idetic.model import Decision, Tier, Typology
from idetic.spec.typology import (
    CandidateGround,
    PromotionPath,
)


class PromotionPass(Weighing):
    """Decides about one session's statements, one after the other."""

    def settle(self, heard: Heard, about: list[Subject], match: Subject | None) -> None:
        """One statement: `about` speaks of the same claim key, `match` says the same."""
        if match is None or not match.live:
            match = self._saying(heard, about)
        if match is None:
            match = self._enter(heard)
            about += [] if match is None else [match]
        else:
            self._support(match, heard)
        if match is not None:
            self.into |= {member.id: str(match.id) for member in heard.members}
            self.weigh(match, about)
        self._speak_against(heard, about)

    def _saying(self, heard: Heard, about: Sequence[Subject]) -> Subject | None:
        claim = heard.claim
        same = [s for s in about if s.live and claim is not None and s.value == claim.value]
        # A fact before an episode that says it; a settled one before a candidate.
        same.sort(key=lambda s: (s.entry.typology is Typology.EPISODIC, s.entry.candidate))
        return same[0] if same else None

    def _support(self, subject: Subject, heard: Heard) -> None:
        """Every source that has not spoken for this entry yet does so now."""
        known = {one.source for one in subject.sources}
        new = [one for one in heard.sources if one.source not in known]
        subject.sources += new
        if not self._spec.references.corroborations:
            lineage = [replace(one, relation=Relation.RECURRED) for one in heard.lineage]
            self.steps.append(steps.recur(subject.entry, lineage, "said again in another session"))
            return
        if any(one.source_type.independent for one in new):
            subject.failures.clear()
        for one in new:
            self.steps.append(steps.corroborate(subject.entry, one, "the same statement again"))
        if not new:
            told = {"sources": [str(member.id) for member in heard.members]}
            self.steps.append(
                steps.link("replayed", Decision.NOOP, "a source that was already counted",
                           entry=subject.entry, detail=told)
            )  # fmt: skip

    def _enter(self, heard: Heard) -> Subject | None:
        """A statement that persistent memory does not hold yet: a candidate, or nothing."""
        typology = target(self._spec, heard.claim)
        if typology is None or self._policy.path is PromotionPath.NONE:
            return None
        if not self._worth(heard):
            return None
        clean = self._cleaned(heard)
        if clean is None:
            return None
        text, envelope = clean
        leader, taken = heard.leader, Inherited.of(heard.members, heard.lineage)
        gate = promotion_gates.deduplication("nothing persistent says this yet")
        step = steps.add(
            steps.Draft(
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
            ),
            "proposed" if typology is not Typology.EPISODIC else "compounded",
            "left by its session",
            detail={"gates": [gate.as_data()]},
        )
        self.steps.append(step)
        subject = Subject(entry_of(step, leader, taken), list(heard.sources))
        if self._spec.references.corroborations:
            for one in heard.sources:
                self.steps.append(steps.corroborate(subject.entry, one, "where it was first said"))
        return subject

    def _worth(self, heard: Heard) -> bool:
        """Whether a statement has a ground to be kept although nobody has confirmed it."""
        if target(self._spec, heard.claim) is Typology.EPISODIC:
            return True
        grounds = {
            CandidateGround.ANY: True,
            CandidateGround.CLAIM: heard.claim is not None,
            CandidateGround.REFERENCE: any(member.entry.refs for member in heard.members),
            CandidateGround.RECURRENCE: len(heard.sources) > 1,
        }
        return any(grounds[ground] for ground in self._policy.candidates)

    def _cleaned(self, heard: Heard) -> tuple[str, dict[str, Any]] | None:
        """The statement as it may leave its session, or None where the gate refuses it."""
        passed = self._sanitize.apply(heard.leader.body_text)
        envelope, _, refused = self._sanitize.apply_envelope(heard.leader.envelope)
        why = passed.refused or refused
        if why is None:
            return passed.text, dict(envelope)
        gate = GateResult(PromotionGate.SANITIZATION, False, 1, 0, why)
        self.steps.append(
            steps.link("promotion_refused", Decision.REJECT, why, entry=heard.leader,
                       detail={"gates": [gate.as_data()]})
        )  # fmt: skip
        return None

    def _speak_against(self, heard: Heard, about: Sequence[Subject]) -> None:
        """A statement of another value fails to corroborate what stands; often enough, it goes."""
        claim = heard.claim
        for other in about:
            entry = other.entry
            if not other.live or entry.candidate or claim is None or other.value == claim.value:
                continue
            if entry.typology is not Typology.SEMANTIC:
                continue
            for one in heard.sources:
                self.fail(other, one)
