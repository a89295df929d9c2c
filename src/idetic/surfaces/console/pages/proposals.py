"""Proposals: what left memory for another context, from the evidence to the decision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from idetic.errors import NotFound
from idetic.evidence import Proposal, ProposalKind, ProposalStatus
from idetic.library.handles import Memory
from idetic.model import Capability, Entry, LedgerRecord, Receipt
from idetic.surfaces.console.bulk_form import LISTED, QueueItem, show_items, show_more
from idetic.surfaces.console.decision_form import Changed, Choice, DecisionForm, unchanged
from idetic.surfaces.console.markup import part, show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import shortened, words
from idetic.verbs.arguments import MAX_PAGE

# As much evidence as somebody reads; `support` counts all of it.
_SHOWN = 20
_DECISIONS = {
    ProposalStatus.ACCEPTED: ("Accept", "Accepted.", "primary"),
    ProposalStatus.DECLINED: ("Decline", "Declined.", "danger"),
    ProposalStatus.WITHDRAWN: ("Withdraw", "Withdrawn.", ""),
}
_DECIDED = [status for status in ProposalStatus if status is not ProposalStatus.OPEN]


async def show_queue(context: PageContext, changed: Changed) -> None:
    """Show the proposals that wait for their receiver, oldest first; or those that were decided."""
    decided = context.asked("settled") == "1"
    status = _DECIDED if decided else [ProposalStatus.OPEN]
    shown = context.shown(LISTED)
    found = await (await context.memory()).proposals(status=status, limit=shown + 1)
    if not found:
        part(
            "empty",
            "No proposal was decided yet." if decided else "No proposal waits for a decision.",
            "Memory proposes a rule when many entries have something in common. A contradiction "
            "that was made a revision signal comes here too.",
        )
    show_items(context, [_item(context, one) for one in found[:shown]], changed)
    show_more(context, len(found) > shown)
    show("proposals_foot.html", decided=decided)


def _item(context: PageContext, one: Proposal) -> QueueItem:
    """Return the card of a proposal."""
    shown = partial(show, "proposal.html", one=one, alone=False)
    return QueueItem(one.id, _about(one), _choices(context, one), shown)


def _about(one: Proposal) -> str:
    """Name a proposal in one line."""
    return shortened(one.statement or words(one.kind))


def _choices(context: PageContext, one: Proposal) -> list[Choice]:
    """Return what this login may decide: nothing once it is decided, which is final."""

    async def decide(status: ProposalStatus, memory: Memory, reason: str) -> Receipt:
        return await memory.decide(one.id, status, reason=reason)

    if one.status is not ProposalStatus.OPEN or not context.may(Capability.RESOLVE):
        return []
    return [
        Choice(label, partial(decide, status), done, cls, final=True)
        for status, (label, done, cls) in _DECISIONS.items()
    ]


async def build(context: PageContext) -> None:
    """Build the page of one proposal: from what was said to what the receiver decided."""
    wrong = ("This address names no proposal.", "Choose one from the queue of proposals.")
    proposal_id = context.path_id("proposal_id", *wrong)
    memory = await context.memory()
    every = await memory.proposals(status=list(ProposalStatus), limit=MAX_PAGE)
    one = next((each for each in every if each.id == proposal_id), None)
    if one is None:
        raise NotFound("There is no such proposal in this scope.")
    behind = (await memory.proposal_entries(proposal_id))[:_SHOWN]
    history = await memory.history(behind[0].id)
    show(
        "proposed.html",
        one=one,
        alone=True,
        reasons=await memory.why([each.id for each in behind]),
        steps=[record for record in history if record.state_from != record.state_to],
        canonical=await _canonical(memory, behind),
        acceptance=_acceptance(one, history),
        audits=context.may(Capability.AUDIT) and context.whole,
    )
    DecisionForm(context, _choices(context, one), _about(one), unchanged)


async def _canonical(memory: Memory, behind: Sequence[Entry]) -> dict[UUID, str]:
    """Return the canonical rows that the evidence refers to, as they read now, by their ids."""
    found = {}
    for entry in behind:
        for each in await memory.references(entry.id) if entry.refs else ():
            if each.text:
                found[each.ref.id] = each.text
    return found


def _acceptance(one: Proposal, history: Sequence[LedgerRecord]) -> str | None:
    """Return the action that an acceptance was; None for everything else."""
    kind = f"{one.kind.value}_accepted"
    linked = [r for r in history if r.detail.get("kind") == kind and r.at == one.decided_at]
    return linked[0].detail["action"] if linked else None


def proposal_of(record: LedgerRecord) -> str | None:
    """Return the id of the proposal that an action is; None for every other action."""
    kinds = {kind.value for kind in ProposalKind}
    return record.detail.get("action") if record.detail.get("kind") in kinds else None
