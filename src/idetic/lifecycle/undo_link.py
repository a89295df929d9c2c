"""Undo of one ledger link: what restores the previous state, if nothing has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.errors import NotFound, TransitionRefused
from idetic.evidence import TRANSITIONS, ContradictionStatus
from idetic.model import Entry, LedgerRecord
from idetic.store.anchor_transaction import AnchorTransaction, Resolution
from idetic.store.steps import UnresolveStep, state_of

# What a turn without its own memory of before was: the verbs of the write path say no more.
_BEFORE: Mapping[str, Mapping[str, None]] = {
    "archived": {"archived_at": None},
    "exempted": {"exempt_at": None},
    "superseded": {"superseded_at": None, "superseded_by": None},
}


def columns_before(link: LedgerRecord) -> dict[str, Any]:
    """The state columns that a link turned, as they were before it."""
    if "was" in link.detail:
        return {column: _typed(column, value) for column, value in link.detail["was"].items()}
    if link.transition in _BEFORE:
        return dict(_BEFORE[link.transition])
    raise TransitionRefused(
        f"A decision of the kind `{link.transition}` cannot be undone.",
        remedy="See docs/reference/python.md for what undo takes back.",
    )


def check_unchanged(entry: Entry, link: LedgerRecord, columns: Mapping[str, Any]) -> None:
    """Raise if something has built on a link: the entry must stand as the decision left it."""
    if not _stands(entry, link, columns):
        raise TransitionRefused(
            f"The entry is {state_of(entry)} by now; it was {link.state_to} after that decision.",
            remedy="Undo what happened to it since first; its history says what.",
        )


def is_unchanged(entry: Entry, link: LedgerRecord) -> bool:
    """Whether an entry is still as a link left it, replaced by what that link says."""
    columns = link.detail.get("set", {})
    if not columns and link.transition == "superseded":
        columns = {"superseded_by": link.detail["superseded_by"]}
    return _stands(entry, link, columns)


def _stands(entry: Entry, link: LedgerRecord, columns: Mapping[str, Any]) -> bool:
    """Whether an entry still has the state and the columns that a link gave it."""
    same = all(_typed(c, v) == getattr(entry, c) for c, v in columns.items())
    return link.state_to is None or (state_of(entry) == link.state_to and same)


def _typed(column: str, value: Any) -> Any:
    """A column's value out of the ledger's JSON: a moment or an id again."""
    if value is None or isinstance(value, bool):
        return value
    return datetime.fromisoformat(value) if column.endswith("_at") else UUID(value)


# --- contradictions -----------------------------------------------------------------------------


async def undo_resolution(
    tx: AnchorTransaction, link: LedgerRecord, entry: Entry, reason: str, told: Mapping[str, Any]
) -> UnresolveStep:
    """Undo of a contradiction's resolution. Its notes stay in the row, which keeps them itself."""
    if link.transition == "contradicted":
        raise TransitionRefused(
            "That a contradiction was raised stays on record.",
            remedy="Resolve it as dismissed, and say why.",
        )
    row_id = UUID(link.detail["contradiction"])
    found = await _resolution(tx, row_id)
    left, before = (ContradictionStatus(link.detail[which]) for which in ("to", "from"))
    if (found.status, found.at) != (left, _told_moment(link, "resolved_at", link.at)):
        raise TransitionRefused(
            f"The contradiction is {found.status} by now, and not as that decision left it.",
            remedy="Undo what was decided about it since first; the entry's history says what.",
        )
    check_unchanged(entry, link, {})
    _check_remembered(found, link, before)
    if TRANSITIONS[before]:
        await _check_alone(tx, entry, found, row_id)
    # What came back from `before` was open: it had no moment. Otherwise, what the row remembers.
    came = None if before is ContradictionStatus.OPEN else found.previous_at
    detail = {
        **told,
        "contradiction": str(row_id),
        "from": left.value,
        "to": before.value,
        "was_at": None if found.at is None else found.at.isoformat(),
        "resolved_at": None if came is None else came.isoformat(),
    }
    noun = found.ref.noun
    return UnresolveStep("undone", reason, row_id, noun, before, entry=entry, detail=detail)


async def _resolution(tx: AnchorTransaction, row_id: UUID) -> Resolution:
    """How a contradiction was resolved, under whichever noun it is kept, or `NotFound`."""
    for canonical in tx.spec.references.canonical:
        if canonical.contradictions:
            found = await tx.resolution(canonical, row_id)
            if found is not None:
                return found
    raise NotFound("There is no such contradiction in this scope.")


def _check_remembered(found: Resolution, link: LedgerRecord, before: ContradictionStatus) -> None:
    """A row remembers one move. What was surfaced was open before, which needs no remembering."""
    if (found.status, before) == (ContradictionStatus.SURFACED, ContradictionStatus.OPEN):
        return
    wanted = _told_moment(link, "was_at", found.previous_at)
    if (found.previous, found.previous_at) != (before, wanted):
        raise TransitionRefused(
            f"How it stood as {before} is not kept any more.",
            remedy=f"Resolve it as {before} again."
            if before in TRANSITIONS[found.status]
            else "Contradict the entry again.",
        )


async def _check_alone(
    tx: AnchorTransaction, entry: Entry, found: Resolution, row_id: UUID
) -> None:
    """An entry has one contradiction with a row in the queue; a second one was raised since."""
    (canonical,) = (c for c in tx.spec.references.canonical if c.noun == found.ref.noun)
    known = await tx.contradictions(canonical, entry_id=entry.id, ref_id=found.ref.id)
    if any(one.id != row_id and TRANSITIONS[one.status] for one in known):
        raise TransitionRefused(
            "The same contradiction was raised again, and waits in the queue.",
            remedy="Resolve that one.",
        )


def _told_moment(link: LedgerRecord, name: str, otherwise: datetime | None) -> datetime | None:
    """A moment that an undo's link tells; a resolution's own link has none but its time."""
    if name not in link.detail:
        return otherwise
    told = link.detail[name]
    return None if told is None else datetime.fromisoformat(told)
