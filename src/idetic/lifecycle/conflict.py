"""Conflict resolution by typology: what happens to an entry that another one contradicts.

A conflict is the same claim key with another value, or a reasoner's verdict. Similar words are
never one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from idetic.gateway import steps
from idetic.gateway.steps import Step
from idetic.lifecycle.subject import Subject
from idetic.model import Decision
from idetic.spec.typology import ConflictRule


def conflicting(other: Subject, subject: Subject) -> bool:
    """Whether two entries claim different values of one thing, and the other one stands."""
    return _beside(other, subject) and other.value != subject.value


def twin(other: Subject, subject: Subject) -> bool:
    """Whether another entry that stands makes the very claim of this one."""
    return _beside(other, subject) and other.value == subject.value


def _beside(other: Subject, subject: Subject) -> bool:
    mine, yours = subject.entry.claim, other.entry.claim
    return (
        other.live
        and not other.entry.candidate
        and other.id != subject.id
        and other.entry.typology is subject.entry.typology
        and mine is not None
        and yours is not None
        and mine.key == yours.key
    )


def resolve(
    rule: ConflictRule, other: Subject, by: Subject, at: datetime, receipt: UUID
) -> list[Step]:
    """The steps that settle a conflict with what stood. Both stay, with the time each held."""
    if rule is ConflictRule.NOOP:
        return []
    told = {"replaced_by": str(by.id)}
    other.live = False
    if rule is ConflictRule.SUPERSEDE:
        changes = {"superseded_at": at, "superseded_by": by.id}
        step = steps.turn(
            other.entry, changes, "superseded", "a later statement of the same claim",
            to="superseded", decision=Decision.UPDATE, receipt=receipt, detail=told,
        )  # fmt: skip
        other.entry = replace(other.entry, superseded_at=at, superseded_by=by.id)
    else:
        changes = {"invalid_at": at, "invalidated_at": at}
        step = steps.turn(
            other.entry, changes, "invalidated", "another value of the same claim holds now",
            to="invalidated", decision=Decision.UPDATE, receipt=receipt, detail=told,
        )  # fmt: skip
        other.entry = replace(other.entry, invalid_at=at, invalidated_at=at)
    return [step]
