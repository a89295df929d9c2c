"""Merging facts: what a verdict or an answer about them changes, as steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Relation
from idetic.gates.gate import Pipeline
from idetic.gateway import steps
from idetic.gateway.content import canonical_json
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.lifecycle import promotion_gates, sameness
from idetic.lifecycle.compounding import statement
from idetic.lifecycle.sources import Inherited, itself
from idetic.lifecycle.subject import Subject
from idetic.model import Claim, Decision, Entry, Tier, Typology
from idetic.reason.port import ConflictAnswered, ConflictVerdict, MergeAnswered, SummaryAnswered
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import ENVELOPE_MAX_BYTES
from idetic.spec.typology import ConflictRule
from idetic.store.known import Known


class Merging:
    """Collects the steps of one decision about some facts. They share one receipt: undoing it
    takes all of them back."""

    def __init__(
        self,
        spec: MemorySpec,
        sanitize: Pipeline,
        at: datetime,
        subjects: Mapping[UUID, Subject],
    ):
        self._spec = spec
        self._sanitize = sanitize
        self._at = at
        self._subjects = subjects
        self._receipt = uuid7()
        self.steps: list[Step] = []

    def same(self, known: Sequence[Known], *, why: str = "they say the same") -> None:
        """One of several equal facts stays, with everything that supported the others."""
        kept, *others = sorted(known, key=self._rank)
        seen = {one.source for one in self._subjects[kept.id].sources}
        for other in others:
            self._gone(other, kept.id, why)
            self._carry(other, kept.entry, seen)
        self._remember(known, ConflictVerdict.SAME.value)

    def _rank(self, known: Known) -> tuple[Any, ...]:
        """Sources are carried to the fact that stays; its claim, trust and exemption are not."""
        entry = known.entry
        support = len(self._subjects[known.id].independent())
        return (entry.claim is None, -entry.trust, entry.exempt_at is None, -support, known.id)

    def judged(self, known: Sequence[Known], answer: ConflictAnswered) -> None:
        """What a reasoner's verdict on two facts changes."""
        if answer.verdict is ConflictVerdict.SAME:
            self.same(known, why="a reasoner found that they say the same")
            return
        older, newer = sorted(known, key=lambda k: (k.entry.valid_at or k.entry.created_at, k.id))
        if answer.verdict is ConflictVerdict.CONFLICT and newer.entry.trust >= older.entry.trust:
            self._replaced(older, newer)
        self._remember(known, answer.verdict.value)

    def _replaced(self, older: Known, newer: Known) -> None:
        """By the spec's own rule, as if the two had claimed different values of one thing."""
        rule = self._spec.conflict_of(Tier.PERSISTENT, older.entry.typology).rule
        why = "a reasoner found a conflict"
        if rule is ConflictRule.SUPERSEDE:
            self._gone(older, newer.id, why)
        elif rule is ConflictRule.VALIDITY:
            self._ended(older, why, detail={"replaced_by": str(newer.id)})

    def answered(self, known: Sequence[Known], answer: MergeAnswered) -> None:
        """What a reasoner's answer about several facts changes."""
        cited = [k for k in known if k.id in answer.cites]
        if answer.decision is Decision.DELETE:
            for k in cited:
                self._ended(k, "a reasoner found it no longer holds", decision=Decision.DELETE)
            self._remember(known, "delete")
        elif answer.decision is Decision.NOOP or answer.text is None:
            self._remember(known, "noop")
        elif answer.decision is Decision.ADD and self._said(known, answer):
            self._remember(known, "add, which one of them says already")
        else:
            self._write(known, cited, answer)

    def _said(self, known: Sequence[Known], answer: MergeAnswered) -> bool:
        made = sameness.Statement(answer.text or "", answer.claim)
        policy = promotion_gates.policy_of(self._spec)
        verdicts = (sameness.compare(made, statement(k), policy).verdict for k in known)
        return sameness.Verdict.SAME in verdicts

    def summarised(self, known: Sequence[Known], answer: SummaryAnswered) -> None:
        """One note in the place of the episodes it rests on."""
        cited = [k for k in known if k.id in answer.cites]
        draft = self._draft(cited, answer.text, None, Typology.EPISODIC)
        if isinstance(draft, str):
            self._remember(known, draft)
            return
        made = self._add(draft, "a reasoner summarised what it was shown")
        for k in cited:
            self._gone(k, made, "summarised in another note")
        self._remember(known, "summary")

    def _write(self, known: Sequence[Known], cited: Sequence[Known], answer: MergeAnswered) -> None:
        """A text made of the cited facts: in their place, or as a candidate beside them."""
        draft = self._draft(cited, answer.text or "", answer.claim, Typology.SEMANTIC)
        if isinstance(draft, str):
            self._remember(known, draft)
            return
        replaces = answer.decision is Decision.UPDATE
        if replaces:
            draft = replace(draft, valid_at=self._at)
        made = self._add(
            replace(draft, candidate=not replaces), "a reasoner merged what it was shown"
        )
        seen: set[Any] = set()
        for k in cited if replaces else ():
            self._gone(k, made, "merged into another fact")
            self._carry(k, replace(k.entry, id=made), seen)
        self._remember(known, answer.decision.value.lower())

    def _draft(
        self, cited: Sequence[Known], text: str, claim: Claim | None, typology: Typology
    ) -> steps.Draft | str:
        """The entry to be made, as it may be written; or the reason why it may not."""
        taken = Inherited.of(cited)
        told = {k: v for k, v in cited[0].entry.envelope.items() if k != "claim"}
        if claim is not None:
            told["claim"] = claim.as_dict()
        passed = self._sanitize.apply(text)
        envelope, _, refused = self._sanitize.apply_envelope(told)
        if passed.refused is not None or refused is not None:
            return "refused by the promotion gate"
        if (
            len(passed.text) > self._spec.backend.body_text_max
            or len(canonical_json(dict(envelope)).encode()) > ENVELOPE_MAX_BYTES
        ):
            return "longer than an entry may be"
        return steps.Draft(
            tier=Tier.PERSISTENT,
            typology=typology,
            text=passed.text,
            envelope=dict(envelope),
            origin=taken.origin,
            trust=taken.trust,
            valid_at=taken.valid_at,
            lineage=[itself(k, Relation.MERGED) for k in cited],
            refs=taken.refs,
            provenance=taken.provenance,
        )

    def _add(self, draft: steps.Draft, why: str) -> UUID:
        step = steps.add(draft, "merged", why, receipt=self._receipt)
        self.steps.append(step)
        return UUID(step["memory"])

    def _gone(self, known: Known, into: UUID, why: str) -> None:
        changes: dict[str, Any] = {"superseded_at": self._at, "superseded_by": into}
        self.steps.append(
            steps.turn(known.entry, changes, "superseded", why, to="superseded",
                       receipt=self._receipt, detail={"replaced_by": str(into)})
        )  # fmt: skip

    def _ended(
        self,
        known: Known,
        why: str,
        *,
        decision: Decision = Decision.UPDATE,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        changes = {"invalid_at": self._at, "invalidated_at": self._at}
        self.steps.append(
            steps.turn(known.entry, changes, "invalidated", why, to="invalidated",
                       decision=decision, receipt=self._receipt, detail=detail)
        )  # fmt: skip

    def _carry(self, source: Known, to: Entry, seen: set[Any]) -> None:
        """What supported one fact supports the one that took its place; no source counts twice."""
        if not self._spec.references.corroborations:
            return
        for one in self._subjects[source.id].sources:
            if one.withdrawn_at is None and one.source not in seen:
                seen.add(one.source)
                moved = replace(one, id=uuid7())
                step = steps.corroborate(to, moved, "it supported what was merged")
                self.steps.append(step | {"receipt": str(self._receipt)})

    def refused(self, known: Sequence[Known]) -> None:
        """The guard refused what was to be written, so nothing is done."""
        self.steps.clear()
        self._remember(known, "refused by the shadow guard")

    def _remember(self, known: Sequence[Known], verdict: str) -> None:
        """So that the same is not asked, and paid for, again; nor done again once it is undone."""
        for k in known:
            others = [str(other.id) for other in known if other.id != k.id]
            told = {"with": others, "verdict": verdict}
            step = steps.link("judged", Decision.NOOP, "looked at together", entry=k.entry,
                              receipt=self._receipt, detail=told)  # fmt: skip
            # It says nothing of the state, which a step before this one may have turned.
            self.steps.append(step | {"state_from": None, "state_to": None})
