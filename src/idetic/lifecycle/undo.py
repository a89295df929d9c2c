"""Undo: an automatic decision, or a verb, taken back; the ledger keeps both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import InputError, NotFound, TransitionRefused
from idetic.ids import uuid7
from idetic.lifecycle.undo_link import check_unchanged, columns_before, undo_resolution
from idetic.model import Capability, Decision, Entry, EntryState, LedgerRecord, Receipt, Tier
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.store.steps import LinkStep, ReinstateStep, TurnStep, WithdrawStep
from idetic.verbs.arguments import Between, Wire
from idetic.verbs.declaration import post, verb

QUARANTINED = "quarantined"
WITHDRAWN = "corroboration_withdrawn"
Position = Annotated[int, Between(1, 2**63 - 1)]
_ADDED = ("proposed", "promoted", "compounded", "merged", "preferred")


def position_of(what: object) -> int:
    """Where a decision stands in the ledger: of a receipt, a link, or as given."""
    position = what.position if isinstance(what, Receipt | LedgerRecord) else what
    if type(position) is not int or position < 1:
        raise InputError("what is a receipt, a link of the ledger, or its position.")
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
    """Take a decision back: about an entry, its support, or a contradiction; see the docs."""
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
            "What was disposed of cannot come back: its content is not kept.",
            remedy="The history of the entry says when its grace was over.",
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
                "What went with its scope cannot come back: its content is not kept.",
                remedy="The history of the entry names what it went into.",
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
    return made


async def _undo_step(
    tx: AnchorTransaction, link: LedgerRecord, entry: Entry, reason: str, told: dict[str, Any]
) -> LinkStep:
    """One link's opposite."""
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
            "Another value of the same claim holds by now.",
            remedy="Archive it first, or undo the decision that brought it.",
        )


def _holds(entry: Entry) -> bool:
    """Whether an entry speaks for its claim now; a candidate does not yet."""
    return entry.state is EntryState.CURRENT and not entry.candidate
