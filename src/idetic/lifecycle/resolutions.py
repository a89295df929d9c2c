"""What was decided about a contradiction, taken back: to exactly what stood before."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.errors import NotFound, TransitionRefused
from idetic.evidence import TRANSITIONS, ContradictionStatus
from idetic.gateway import steps
from idetic.gateway.steps import Step
from idetic.lifecycle import reversal
from idetic.model import Decision, Entry, LedgerRecord
from idetic.spec.memory_spec import MemorySpec
from idetic.store.held import Held
from idetic.store.known import Resolution

RAISED = "contradicted"


def concerns(link: LedgerRecord) -> bool:
    """Whether a link is about a contradiction: its raising, its resolution, or an undo of that."""
    return "contradiction" in link.detail


async def back(
    spec: MemorySpec,
    held: Held,
    link: LedgerRecord,
    entry: Entry,
    reason: str,
    told: Mapping[str, Any],
) -> Step:
    """The opposite of a resolution. Notes never pass through here: the row keeps them itself."""
    if link.transition == RAISED:
        raise TransitionRefused(
            "That a contradiction was raised stays on record.",
            remedy="Resolve it as dismissed, and say why.",
        )
    row_id = UUID(link.detail["contradiction"])
    found = await _found(spec, held, row_id)
    left, before = (ContradictionStatus(link.detail[which]) for which in ("to", "from"))
    if (found.status, found.at) != (left, _moment(link, "resolved_at", link.at)):
        raise TransitionRefused(
            f"The contradiction is {found.status} by now, and not as that decision left it.",
            remedy="Undo what was decided about it since first; the entry's history says what.",
        )
    reversal.check(entry, link, {})
    _check_kept(found, link, before)
    if TRANSITIONS[before]:
        await _check_alone(spec, held, entry, found, row_id)
    # What came back from `before` was open: it had no moment. Otherwise, what the row remembers.
    came = None if before is ContradictionStatus.OPEN else found.previous_at
    more = {
        **told,
        "contradiction": str(row_id),
        "from": left.value,
        "to": before.value,
        "was_at": None if found.at is None else found.at.isoformat(),
        "resolved_at": None if came is None else came.isoformat(),
    }
    step = steps.link("undone", Decision.UPDATE, reason, entry=entry, detail=more)
    return step | {
        "op": "unresolve",
        "row_id": str(row_id),
        "noun": found.ref.noun,
        "status": before.value,
    }


async def _found(spec: MemorySpec, held: Held, row_id: UUID) -> Resolution:
    for canonical in spec.references.canonical:
        if canonical.contradictions:
            found = await held.resolution(canonical, row_id)
            if found is not None:
                return found
    raise NotFound("There is no such contradiction in this scope.")


def _check_kept(found: Resolution, link: LedgerRecord, before: ContradictionStatus) -> None:
    """A row remembers one move. What was surfaced was open before, which needs no remembering."""
    if (found.status, before) == (ContradictionStatus.SURFACED, ContradictionStatus.OPEN):
        return
    wanted = _moment(link, "was_at", found.previous_at)
    if (found.previous, found.previous_at) != (before, wanted):
        raise TransitionRefused(
            f"How it stood as {before} is not kept any more.",
            remedy=f"Resolve it as {before} again."
            if before in TRANSITIONS[found.status]
            else "Contradict the entry again.",
        )


async def _check_alone(
    spec: MemorySpec, held: Held, entry: Entry, found: Resolution, row_id: UUID
) -> None:
    """An entry has one contradiction with a row in the queue; a second one was raised since."""
    (canonical,) = (c for c in spec.references.canonical if c.noun == found.ref.noun)
    known = await held.contradictions(canonical, entry_id=entry.id, ref_id=found.ref.id)
    if any(one.id != row_id and TRANSITIONS[one.status] for one in known):
        raise TransitionRefused(
            "The same contradiction was raised again, and waits in the queue.",
            remedy="Resolve that one.",
        )


def _moment(link: LedgerRecord, name: str, otherwise: datetime | None) -> datetime | None:
    """A moment that an undo's link tells; a resolution's own link has none but its time."""
    if name not in link.detail:
        return otherwise
    told = link.detail[name]
    return None if told is None else datetime.fromisoformat(told)
