"""Undo: an automatic decision, or a verb, taken back; the ledger keeps both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import InputError, NotFound, TransitionRefused
from idetic.evidence import TRANSITIONS, ContradictionStatus
from idetic.ids import uuid7
from idetic.lifecycle.proposals import withdrawal_steps
from idetic.model import Capability, Decision, Entry, EntryState, LedgerRecord, Receipt, Tier
from idetic.store.anchor_transaction import AnchorTransaction, Resolution, StoredEntry
from idetic.store.entries import column_value
from idetic.store.steps import (
    KEPT,
    LinkStep,
    ReinstateStep,
    TurnStep,
    UnresolveStep,
    WithdrawStep,
    state_of,
)
from idetic.verbs.arguments import Between, Wire
from idetic.verbs.declaration import post, verb

QUARANTINED = "quarantined"
WITHDRAWN = "corroboration_withdrawn"
Position = Annotated[int, Between(1, 2**63 - 1)]
# What a turn without its own memory of before was: the verbs of the write path say no more.
_BEFORE: Mapping[str, Mapping[str, None]] = {
    "archived": {"archived_at": None},
    "exempted": {"exempt_at": None},
    "superseded": {"superseded_at": None, "superseded_by": None},
}
_ADDED = ("proposed", "promoted", "compounded", "merged", "preferred")


def position_of(what: object) -> int:
    """Where a decision stands in the ledger: of a receipt, a link, or as given."""
    position = what.position if isinstance(what, Receipt | LedgerRecord) else what
    if type(position) is not int or position < 1:
        raise InputError("what must be a receipt, a link of the ledger, or its position.")
    return position


DecisionRef = Annotated[Receipt | LedgerRecord | int, Wire("position", Position, position_of)]


@verb(
    capability=Capability.UNDO,
    writes=True,
    http=post("/undo", "maturing"),
    examples=('idetic undo 42 --reason "a mistake" {scope}',),
)
async def undo(
    binding: Binding,
    what: DecisionRef,
    *,
    reason: str,
    idempotency_key: str | None = None,
) -> Receipt:
    """Undo a decision about an entry, its support or a contradiction.

    `what` is a receipt, a record of a history, or a position. A promotion, supersession,
    invalidation, merge, archive, exemption, corroboration, tombstone and the resolution of a
    contradiction can be taken back, unless a later decision rests on them. A note that was dropped
    with its scope cannot be restored.
    """
    return await take_back(binding, position_of(what), reason, idempotency_key)


async def take_back(
    binding: Binding,
    position: int,
    reason: str,
    key: str | None,
    *,
    of: str | None = None,
) -> Receipt:
    """Put back what one decision changed, if nothing has built on it since.

    `of` is for a verb with a right of its own, which takes back one kind of decision.
    """
    reason = binding.gated_reason(reason)
    call = {"verb": "undo", "position": position, "reason": reason}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, key, call):
            return known
        links = await tx.links(position)
        if not links or of not in (None, links[0].transition):
            raise NotFound("There is no such receipt in this scope.")
        return await binding.settle_once(tx, await _undo_steps(tx, links, reason), key, call)


async def _undo_steps(
    tx: AnchorTransaction, links: list[LedgerRecord], reason: str
) -> list[LinkStep]:
    """The opposite of each link, last first; refused as a whole if one of them cannot come back."""
    stored = await tx.stored({link.entry_id for link in links if link.entry_id is not None})
    # What has gone from a quarantine since does not keep the rest of it in there.
    if links[0].transition == QUARANTINED:
        stored = [one for one in stored if one.entry.body_text or one.entry.deleted_at is None]
        there = {one.id for one in stored}
        links = [link for link in links if link.entry_id is None or link.entry_id in there]
    if any(one.entry.deleted_at and not one.entry.body_text for one in stored):
        raise TransitionRefused(
            "The entry was disposed of, and its content was deleted; it cannot come back.",
            remedy="Read the entry's history to see when it was disposed of.",
        )
    await _check_withdrawn(tx, links)
    known = {one.id: one for one in stored}
    made: list[LinkStep] = []
    # One receipt for all of it, so that an undo is undone as a whole too.
    receipt, told = uuid7(), {"undone": links[0].position}
    for link in reversed(links):
        entry_id = link.entry_id
        if entry_id is None or link.decision in (Decision.NOOP, Decision.REJECT):
            continue
        if entry_id not in known:
            raise TransitionRefused(
                "This entry was dropped with its scope; its content cannot be restored.",
                remedy="The entry's history names the entry made from it.",
            )
        step = await _undo_step(tx, link, known[entry_id].entry, reason, told)
        made.append(replace(step, receipt=receipt))
        if isinstance(step, TurnStep):
            # An earlier link of the same entry is compared with what this one leaves.
            known[entry_id] = replace(known[entry_id], entry=step.after)
    if not made:
        raise TransitionRefused(
            "This decision changed nothing, so there is nothing to undo.",
            remedy="See the entry's history for the decision you mean.",
        )
    await _check_claims(tx, list(known.values()))
    for step in [one for one in made if isinstance(one, UnresolveStep)]:
        # Under a receipt of their own: a proposal that was withdrawn stays so, whatever is undone.
        made += await withdrawal_steps(tx, step.row_id, reason)
    return made


async def _undo_step(
    tx: AnchorTransaction, link: LedgerRecord, entry: Entry, reason: str, told: dict[str, Any]
) -> LinkStep:
    """One link's opposite."""
    if link.transition == KEPT:
        raise TransitionRefused(
            "The scope of this entry is closed; the entry stays as evidence and cannot return.",
            remedy="Undo the decision about the entry that was made from it.",
        )
    if "contradiction" in link.detail:
        return await undo_resolution(tx, link, entry, reason, told)
    if link.transition in ("corroborated", WITHDRAWN):
        check_unchanged(entry, link, {})
        kind = WithdrawStep if link.transition == "corroborated" else ReinstateStep
        row_id = UUID(link.detail["corroboration"])
        return kind("undone", reason, row_id, entry=entry, detail=told)
    if link.transition in _ADDED and link.state_from is None:
        changes: dict[str, Any] = {"archived_at": tx.at}
        check_unchanged(entry, link, {})
    else:
        changes = columns_before(link)
        check_unchanged(entry, link, link.detail.get("set", {}))
    return TurnStep("undone", reason, changes, entry=entry, detail=told)


async def _check_withdrawn(tx: AnchorTransaction, links: Sequence[LedgerRecord]) -> None:
    """A corroboration is withdrawn once, and the time of it stays."""
    rows = {
        link.detail["corroboration"]
        for link in links
        if link.transition == "corroborated" and link.decision is not Decision.NOOP
    }
    found = await tx.corroborations({link.entry_id for link in links if link.entry_id})
    for one in (one for many in found.values() for one in many):
        if str(one.id) in rows and one.withdrawn_at is not None:
            raise TransitionRefused(
                "This corroboration was withdrawn already.",
                remedy="See the entry's history for the decision you mean.",
            )


async def _check_claims(tx: AnchorTransaction, known: Sequence[StoredEntry]) -> None:
    """Two current statements of one claim would be a conflict that nobody resolved."""
    claims = [k.entry.claim for k in known if k.entry.claim and _holds(k.entry)]
    after = {k.id: k.entry for k in known}
    found = await tx.claimed(claim.key for claim in claims)
    standing: dict[Any, set[UUID]] = {}
    for entry in (*(after.get(k.id, k.entry) for k in found), *(after.values() if claims else ())):
        if entry.claim and _holds(entry) and entry.tier is Tier.PERSISTENT:
            standing.setdefault((*entry.claim.key, entry.typology), set()).add(entry.id)
    if any(len(ids) > 1 for ids in standing.values()):
        raise TransitionRefused(
            "Another entry with the same claim key is current now.",
            remedy="Archive that entry first, or undo the decision that promoted it.",
        )


def _holds(entry: Entry) -> bool:
    """Whether an entry speaks for its claim now; a candidate does not yet."""
    return entry.state is EntryState.CURRENT and not entry.candidate


# --- one link: what restores the previous state, if nothing has changed since --------------------


def columns_before(link: LedgerRecord) -> dict[str, Any]:
    """The state columns that a link turned, as they were before it."""
    if "was" in link.detail:
        return {column: column_value(column, value) for column, value in link.detail["was"].items()}
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
            remedy="Undo the later decisions first; the entry's history lists them.",
        )


def is_unchanged(entry: Entry, link: LedgerRecord) -> bool:
    """Whether an entry is still as a link left it, replaced by what that link says."""
    columns = link.detail.get("set", {})
    if not columns and link.transition == "superseded":
        columns = {"superseded_by": link.detail["superseded_by"]}
    return _stands(entry, link, columns)


def _stands(entry: Entry, link: LedgerRecord, columns: Mapping[str, Any]) -> bool:
    """Whether an entry still has the state and the columns that a link gave it."""
    same = all(column_value(c, v) == getattr(entry, c) for c, v in columns.items())
    return link.state_to is None or (state_of(entry) == link.state_to and same)


# --- contradictions -----------------------------------------------------------------------------


async def undo_resolution(
    tx: AnchorTransaction, link: LedgerRecord, entry: Entry, reason: str, told: Mapping[str, Any]
) -> UnresolveStep:
    """Undo of a contradiction's resolution. Its notes stay in the row, which keeps them itself."""
    if link.transition == "contradicted":
        raise TransitionRefused(
            "The report of a contradiction cannot be undone.",
            remedy="Resolve it as dismissed, and say why.",
        )
    row_id = UUID(link.detail["contradiction"])
    found = await _resolution(tx, row_id)
    left, before = (ContradictionStatus(link.detail[which]) for which in ("to", "from"))
    if (found.status, found.at) != (left, _told_moment(link, "resolved_at", link.at)):
        raise TransitionRefused(
            f"The contradiction is {found.status} now; a later decision changed it.",
            remedy="Undo the later decision first; the entry's history lists it.",
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
            f"The contradiction's earlier state, {before}, is not stored any more.",
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
