"""Merging facts: what a verdict or an answer about them changes, as steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Relation
from idetic.gates.gate import Pipeline
from idetic.ids import uuid7
from idetic.lifecycle.duplicates import ComparedStatement, Sameness, compare
from idetic.lifecycle.promotion_inputs import (
    Inherited,
    SupportedEntry,
    as_source,
    policy_of,
    statement,
)
from idetic.model import Claim, Decision, Entry, Tier, Typology
from idetic.reason.port import ConflictAnswered, ConflictVerdict, MergeAnswered, SummaryAnswered
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import ENVELOPE_MAX_BYTES
from idetic.spec.typology import ConflictRule
from idetic.store.anchor_transaction import StoredEntry
from idetic.store.entry_content import canonical_json
from idetic.store.steps import AddStep, CorroborateStep, LinkStep, TurnStep


@dataclass(slots=True)
class FactMerge:
    """Collects the steps of one decision about some facts.

    They share one receipt: undoing it takes all of them back.
    """

    spec: MemorySpec
    sanitize: Pipeline
    at: datetime
    supported: Mapping[UUID, SupportedEntry]
    receipt: UUID = field(default_factory=uuid7)
    steps: list[LinkStep] = field(default_factory=list)

    def same(self, known: Sequence[StoredEntry], *, why: str = "they say the same") -> UUID:
        """One of several equal facts stays, with everything that supported the others; its id."""
        kept, *others = sorted(known, key=self._rank)
        seen = {one.source for one in self.supported[kept.id].sources}
        for other in others:
            self._gone(other, kept.id, why)
            self._carry(other, kept.entry, seen)
        self.remember(known, ConflictVerdict.SAME.value)
        return kept.id

    def _rank(self, known: StoredEntry) -> tuple[Any, ...]:
        """Sources are carried to the fact that stays; its claim, trust and exemption are not."""
        entry = known.entry
        rule = policy_of(self.spec).independence
        support = len(self.supported[known.id].independent(rule))
        return (
            entry.candidate,
            entry.claim is None,
            -entry.trust,
            entry.exempt_at is None,
            -support,
            known.id,
        )

    def judged(self, known: Sequence[StoredEntry], answer: ConflictAnswered) -> None:
        """What a reasoner's verdict on two facts changes."""
        if answer.verdict is ConflictVerdict.SAME:
            self.same(known, why="a reasoner found that they say the same")
            return
        older, newer = sorted(known, key=lambda k: (k.entry.valid_at or k.entry.created_at, k.id))
        if answer.verdict is ConflictVerdict.CONFLICT and newer.entry.trust >= older.entry.trust:
            self._replaced(older, newer)
        self.remember(known, answer.verdict.value)

    def _replaced(self, older: StoredEntry, newer: StoredEntry) -> None:
        """By the spec's own rule, as if the two had claimed different values of one thing."""
        rule = self.spec.conflict_of(Tier.PERSISTENT, older.entry.typology).rule
        why = "a reasoner found a conflict"
        if rule is ConflictRule.SUPERSEDE:
            self._gone(older, newer.id, why)
        elif rule is ConflictRule.VALIDITY:
            self._ended(older, why, {"replaced_by": str(newer.id)})

    def answered(self, known: Sequence[StoredEntry], answer: MergeAnswered) -> None:
        """What a reasoner's answer about several facts changes."""
        cited = [k for k in known if k.id in answer.cites]
        if answer.decision is Decision.DELETE:
            for k in cited:
                self._ended(k, "a reasoner found it no longer holds", {}, decision=Decision.DELETE)
            self.remember(known, "delete")
        elif answer.decision is Decision.NOOP or answer.text is None:
            self.remember(known, "noop")
        elif answer.decision is Decision.ADD and self._is_said(known, answer):
            self.remember(known, "add, which one of them says already")
        else:
            self._write(known, cited, answer)

    def _is_said(self, known: Sequence[StoredEntry], answer: MergeAnswered) -> bool:
        """Whether one of the facts says already what the answer would add."""
        made = ComparedStatement(answer.text or "", answer.claim)
        policy = policy_of(self.spec)
        return Sameness.SAME in (compare(made, statement(k), policy).verdict for k in known)

    def summarised(self, known: Sequence[StoredEntry], answer: SummaryAnswered) -> None:
        """One note in the place of the episodes it rests on."""
        cited = [k for k in known if k.id in answer.cites]
        why = "a reasoner summarised what it was shown"
        step = self._new(cited, answer.text, None, Typology.EPISODIC, why)
        if isinstance(step, str):
            self.remember(known, step)
            return
        self.steps.append(step)
        for k in cited:
            self._gone(k, step.entry_id, "summarised in another note")
        self.remember(known, "summary")

    def _write(
        self, known: Sequence[StoredEntry], cited: Sequence[StoredEntry], answer: MergeAnswered
    ) -> None:
        """A text made of the cited facts: in their place, or as a candidate beside them."""
        why = "a reasoner merged what it was shown"
        step = self._new(cited, answer.text or "", answer.claim, Typology.SEMANTIC, why)
        if isinstance(step, str):
            self.remember(known, step)
            return
        replaces = answer.decision is Decision.UPDATE
        if replaces:
            step = replace(step, valid_at=self.at)
        self.steps.append(replace(step, candidate=not replaces))
        seen: set[Any] = set()
        for k in cited if replaces else ():
            self._gone(k, step.entry_id, "merged into another fact")
            self._carry(k, replace(k.entry, id=step.entry_id), seen)
        self.remember(known, answer.decision.value.lower())

    def _new(
        self,
        cited: Sequence[StoredEntry],
        text: str,
        claim: Claim | None,
        typology: Typology,
        why: str,
    ) -> AddStep | str:
        """The entry to be made, as it may be written; or the reason why it may not."""
        told = {k: v for k, v in cited[0].entry.envelope.items() if k != "claim"}
        if claim is not None:
            told["claim"] = claim.as_dict()
        passed = self.sanitize.apply(text)
        envelope, _, refused = self.sanitize.apply_envelope(told)
        if passed.refused is not None or refused is not None:
            return "refused by the promotion gate"
        if (
            len(passed.text) > self.spec.backend.body_text_max
            or len(canonical_json(dict(envelope)).encode()) > ENVELOPE_MAX_BYTES
        ):
            return "longer than an entry may be"
        return AddStep(
            "merged",
            why,
            receipt=self.receipt,
            tier=Tier.PERSISTENT,
            typology=typology,
            text=passed.text,
            envelope=dict(envelope),
            lineage=[as_source(k.entry, Relation.MERGED) for k in cited],
            **vars(Inherited.of(cited)),
        )

    def _gone(self, stored: StoredEntry, into: UUID, why: str) -> None:
        """Supersede an entry by the one that took over what it said."""
        changes = {"superseded_at": self.at, "superseded_by": into}
        self._turn(stored, "superseded", why, changes, {"replaced_by": str(into)})

    def _ended(self, stored: StoredEntry, why: str, detail: Mapping[str, Any], **how: Any) -> None:
        """Invalidate an entry: from now on it no longer holds."""
        changes = {"invalid_at": self.at, "invalidated_at": self.at}
        self._turn(stored, "invalidated", why, changes, detail, **how)

    def _turn(
        self,
        stored: StoredEntry,
        transition: str,
        why: str,
        changes: Mapping[str, Any],
        detail: Mapping[str, Any],
        decision: Decision = Decision.UPDATE,
    ) -> None:
        """Add the step that turns an entry, under the one receipt of the whole merge."""
        self.steps.append(
            TurnStep(transition, why, changes, entry=stored.entry, decision=decision,
                     receipt=self.receipt, detail=detail)
        )  # fmt: skip

    def _carry(self, source: StoredEntry, to: Entry, seen: set[Any]) -> None:
        """What supported one fact supports the one that took its place; no source counts twice."""
        if not self.spec.references.corroborations:
            return
        for one in self.supported[source.id].sources:
            if one.withdrawn_at is None and one.source not in seen:
                seen.add(one.source)
                why, moved = "it supported what was merged", replace(one, id=uuid7())
                self.steps.append(
                    CorroborateStep("corroborated", why, moved, entry=to, receipt=self.receipt)
                )

    def refused(self, known: Sequence[StoredEntry]) -> None:
        """The guard refused what was to be written, so nothing is done."""
        self.steps.clear()
        self.remember(known, "refused by the shadow guard")

    def remember(self, known: Sequence[StoredEntry], verdict: str) -> None:
        """So that the same is not asked, and paid for, again; nor done again once it is undone."""
        for k in known:
            others = [str(other.id) for other in known if other.id != k.id]
            told = {"with": others, "verdict": verdict}
            self.steps.append(
                LinkStep("judged", "looked at together", entry=k.entry, receipt=self.receipt,
                         detail=told, stateless=True)
            )  # fmt: skip
