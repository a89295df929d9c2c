"""Weighing a persistent entry: what its gates say, and what follows when they pass or fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Corroboration, GateResult, Relation
from idetic.gates.gate import Pipeline
from idetic.gateway import steps
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.lifecycle import conflict, promotion_gates
from idetic.lifecycle.sources import Inherited, itself
from idetic.lifecycle.subject import Subject
from idetic.model import Decision, Entry, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ArchiveCause, PromotionPath
from idetic.store.known import Known


class Weighing:
    """Decides whether entries move up, stay or go; collects the steps."""

    def __init__(self, spec: MemorySpec, sanitize: Pipeline, at: datetime, by: str):
        self._spec = spec
        self._policy = promotion_gates.policy_of(spec)
        self._sanitize = sanitize
        self._at = at
        self._by = by
        self.steps: list[Step] = []
        self.into: dict[UUID, str] = {}

    def weigh(
        self,
        subject: Subject,
        about: Sequence[Subject],
        *,
        forced: str | None = None,
        quiet: bool = False,
    ) -> None:
        """Whether an entry moves up now, by its gates; `forced` is an operator's word instead.

        `quiet` leaves no link about one that stays: nothing has happened to it.
        """
        if not subject.live:
            return
        if subject.entry.typology is Typology.EPISODIC:
            self._to_semantic(subject, forced)
        elif subject.entry.candidate:
            self._to_current(subject, about, forced, quiet=quiet)
        elif subject.entry.typology is Typology.SEMANTIC:
            self._to_meta(subject)

    def gates(self, subject: Subject, about: Sequence[Subject] = ()) -> list[GateResult]:
        """What each of the four gates says about an entry now."""
        found = subject.independent()
        if subject.entry.typology is Typology.PROCEDURAL:
            need = self._spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL).min_confidence
            against = sum(
                len(s.independent()) for s in about if s.live and s.value != subject.value
            )
            counted = promotion_gates.confidence(len(found), against, need)
        else:
            counted = promotion_gates.corroboration(found, self._policy.min_corroborations)
        single = promotion_gates.deduplication("the one entry that says this")
        if any(conflict.twin(s, subject) for s in about):
            single = promotion_gates.duplicate()
        gates = [
            single,
            counted,
            promotion_gates.sanitization(self._sanitize, subject.entry.body_text),
            promotion_gates.cross_context(found, self._policy.min_sessions),
        ]
        replaced = (s.entry.trust for s in about if conflict.conflicting(s, subject))
        stronger = max(replaced, default=0)
        if stronger > subject.entry.trust:
            gates.append(promotion_gates.outranked(subject.entry.trust, stronger))
        return gates

    def _to_current(
        self,
        subject: Subject,
        about: Sequence[Subject],
        forced: str | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        gates = self.gates(subject, about)
        replaced = [s for s in about if conflict.conflicting(s, subject)]
        if forced is None and not all(gate.passed for gate in gates):
            if not quiet:
                self._hold(subject, gates)
            return
        receipt = uuid7()
        changes: dict[str, Any] = {"candidate": False}
        if replaced:
            changes["valid_at"] = self._at
        detail: dict[str, Any] = {"gates": [gate.as_data() for gate in gates]}
        if replaced:
            detail["replaces"] = [str(s.id) for s in replaced]
        self.steps.append(
            steps.turn(subject.entry, changes, "promoted", forced or "every gate passed",
                       to="current", receipt=receipt, detail=detail)
        )  # fmt: skip
        subject.entry = replace(subject.entry, candidate=False)
        rule = self._spec.conflict_of(Tier.PERSISTENT, subject.entry.typology).rule
        for other in replaced:
            self.steps += conflict.resolve(rule, other, subject, self._at, receipt)
        if subject.entry.typology is Typology.SEMANTIC:
            self._to_meta(subject)

    def _hold(self, subject: Subject, gates: Sequence[GateResult]) -> None:
        missing = "; ".join(gate.why for gate in gates if not gate.passed)
        self.steps.append(
            steps.link("held", Decision.NOOP, missing[:200], entry=subject.entry,
                       detail={"gates": [gate.as_data() for gate in gates]})
        )  # fmt: skip

    def _to_semantic(self, subject: Subject, forced: str | None) -> None:
        """An episode that enough independent sources confirm becomes a fact."""
        if Typology.SEMANTIC not in self._spec.typology.at(Tier.PERSISTENT):
            return
        gates = self.gates(subject)
        if forced is None and not all(gate.passed for gate in gates):
            return
        entry, receipt = subject.entry, uuid7()
        member = Known(entry, None, rests=False)
        told = {"gates": [gate.as_data() for gate in gates]}
        step = steps.add(
            steps.Draft(
                tier=Tier.PERSISTENT,
                typology=Typology.SEMANTIC,
                text=entry.body_text,
                envelope=entry.envelope,
                origin=entry.origin,
                trust=entry.trust,
                valid_at=entry.valid_at or self._at,
                lineage=[itself(member, Relation.PROMOTED)],
                refs=entry.refs,
                provenance={k: v for k, v in entry.provenance.items() if v is not None},
                copy_of=entry.id,
            ),
            "promoted",
            forced or "every gate passed",
            receipt=receipt,
            detail=told,
        )
        made = entry_of(step, entry, Inherited.of([member]))
        self.steps.append(step)
        self.steps += [
            steps.corroborate(made, replace(one, id=uuid7()), "carried over from its episode")
            for one in subject.sources
            if self._spec.references.corroborations and one.withdrawn_at is None
        ]
        self.steps.append(
            steps.turn(entry, {"archived_at": self._at}, "archived", "promoted to a fact",
                       to="archived", receipt=receipt, detail={"into": str(made.id)})
        )  # fmt: skip
        subject.live = False

    def _to_meta(self, subject: Subject) -> None:
        """A fact that holds in several versions of the model, and still refers to something."""
        policy = self._spec.promotion_of(Tier.PERSISTENT, Typology.SEMANTIC)
        if policy.path is not PromotionPath.META_SEMANTIC or subject.entry.meta_at is not None:
            return
        found = subject.independent()
        versions = _versions(found, self._spec.anchor.provenance)
        enough = len(versions) >= policy.min_versions and len(found) >= policy.min_corroborations
        if not enough or not subject.entry.refs:
            return
        why = f"holds under {len(versions)} versions, {len(found)} sources"
        self.steps.append(
            steps.turn(subject.entry, {"meta_at": self._at}, "meta_promoted", why, to="current",
                       detail={"versions": sorted(versions), "refs": len(subject.entry.refs)})
        )  # fmt: skip
        subject.entry = replace(subject.entry, meta_at=self._at)

    def fail(self, subject: Subject, one: Corroboration) -> None:
        """One source that should have confirmed an entry and did not.

        A weaker origin than the entry's own says nothing against it: repeating a poisoned tool
        output must not wear a stronger fact down.
        """
        key = (one.source_type.value, str(one.source_ref))
        if key in subject.failures or not one.source_type.independent:
            return
        if self._spec.trust_of(one.origin) < subject.entry.trust:
            return
        subject.failures.add(key)
        # Where it came from, so that a roll-back of that source finds what it wore down.
        told = {"source_type": key[0], "source_ref": key[1], "origin": one.origin.value}
        if one.session_id is not None:
            told["session"] = str(one.session_id)
        self.steps.append(
            steps.link("corroboration_failed", Decision.NOOP, "a source says otherwise",
                       entry=subject.entry, detail=told)
        )  # fmt: skip
        policy = self._spec.lifecycle_of(Tier.PERSISTENT, subject.entry.typology)
        if (
            subject.live
            and ArchiveCause.FAILED_CORROBORATIONS in policy.archive_on
            and len(subject.failures) >= policy.failed_corroborations
        ):
            why = f"{len(subject.failures)} sources in a row said otherwise"
            self.steps.append(
                steps.turn(subject.entry, {"archived_at": self._at}, "archived", why, to="archived",
                           detail={"cause": ArchiveCause.FAILED_CORROBORATIONS.value})
            )  # fmt: skip
            # Later links of the same pass name the state it is in by then.
            subject.entry, subject.live = replace(subject.entry, archived_at=self._at), False


def _versions(sources: Sequence[Corroboration], names: Sequence[str]) -> set[str]:
    """The versions of the canonical model under which sources spoke: the first declared name."""
    if not names:
        return set()
    return {v for one in sources if (v := one.provenance.get(names[0])) is not None}


def entry_of(step: Step, leader: Entry, taken: Inherited) -> Entry:
    """The entry that a step will make, as later steps of the same pass see it."""
    return replace(
        leader,
        id=UUID(step["memory"]),
        tier=Tier(step["tier"]),
        typology=Typology(step["typology"]),
        body_text=step["body"],
        envelope=step["envelope"],
        origin=taken.origin,
        trust=taken.trust,
        valid_at=taken.valid_at,
        session_id=None,
        interaction_id=None,
        candidate=step["candidate"],
        refs=taken.refs,
    )
