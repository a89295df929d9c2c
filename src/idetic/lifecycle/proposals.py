"""Proposals: rule candidates and revision signals, which leave; and entries that may be one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import EntryNotFound, InputError, NotFound, TransitionRefused, WritePolicyRefused
from idetic.evidence import (
    Aggregated,
    Contradiction,
    Corroboration,
    Proposal,
    ProposalKind,
    ProposalStatus,
)
from idetic.gates.gate import Passed
from idetic.ids import uuid7
from idetic.lifecycle import sameness
from idetic.lifecycle.aggregation import AggregationGate, support_of
from idetic.model import Capability, Decision, Entry, Receipt
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.proposal_rows import (
    EVENTS,
    DecideStep,
    ProposalRow,
    ProposeStep,
    action_steps,
    entries_behind,
    proposal_rows,
)
from idetic.store.steps import LinkStep, Step
from idetic.verbs.arguments import Limit
from idetic.verbs.declaration import McpTool, get, post, verb

MOST = 1_000
MAX_DECISION = 2_000
DELIVER = "deliver"
_Crossed = tuple[Entry, Passed]


@verb(
    capability=Capability.PROMOTE,
    writes=True,
    repeatable=False,
    http=post("/proposals", "governing"),
    examples=('idetic propose ENTRY_ID --reason "seen in three runs" {scope}',),
)
async def propose(binding: Binding, entries: Iterable[UUID], *, reason: str) -> Aggregated:
    """Propose a rule from what entries have in common, without naming their owners."""
    wanted = list(dict.fromkeys(entries))
    if not 0 < len(wanted) <= MOST:
        raise InputError(f"Give 1 to {MOST} entries.")
    reason = binding.gated_reason(reason)
    async with binding.hold() as tx:
        gate = await AggregationGate.of(binding, tx)
        if gate is None:
            raise WritePolicyRefused(
                f"The spec of {binding.spec.agent} has no gate at the aggregation boundary.",
                remedy="Declare a gate: `{boundary: aggregation, apply: [strip_identifiers],"
                " because: …}`.",
            )
        known = {one.id: one.entry for one in await tx.stored(wanted)}
        if missing := [one for one in wanted if one not in known]:
            raise EntryNotFound(f"{len(missing)} of {len(wanted)} entries are not here.")
        steps, alike, refused = _crossings(gate, [known[one] for one in wanted], reason)
        made, ids = await _candidates(tx, alike, reason)
        receipts = await binding.settle(tx, [*steps, *made])
        await tx.enqueue(*[DELIVER] if made else [])
        rows = {one.proposal.id: one.proposal for one in await proposal_rows(tx, ids=ids)}
        return Aggregated(receipts[0], tuple(rows[one] for one in ids), refused)


def _crossings(
    gate: AggregationGate, entries: Sequence[Entry], reason: str
) -> tuple[list[Step], list[list[_Crossed]], dict[UUID, str]]:
    """A link for each entry, those that crossed grouped by what is left of them, and the rest."""
    receipt, links = uuid7(), list[Step]()
    refused: dict[UUID, str] = {}
    alike: dict[str, list[_Crossed]] = {}
    for entry in entries:
        passed = gate.crossed(entry)
        if isinstance(passed, str):
            refused[entry.id] = passed
            stays = LinkStep("aggregation_refused", passed, entry=entry, receipt=receipt)
            links.append(replace(stays, decision=Decision.REJECT))
            continue
        alike.setdefault(" ".join(passed.text.casefold().split()), []).append((entry, passed))
        told = {"removed": {change.kind: change.count for change in passed.changes}}
        links.append(LinkStep("aggregated", reason, entry=entry, receipt=receipt, detail=told))
    whole = {"patterns": len(alike), "refused": len(refused)}
    first = LinkStep("aggregation", reason, receipt=receipt, detail=whole)
    return [first, *links], list(alike.values()), refused


async def _candidates(
    tx: AnchorTransaction, alike: Sequence[Sequence[_Crossed]], reason: str
) -> tuple[list[Step], list[UUID]]:
    """Steps for what was not proposed yet, and the proposals of all in their order."""
    statements = [found[0][1].text for found in alike]
    open_ones = await proposal_rows(tx, statements=statements, status=[ProposalStatus.OPEN])
    standing = {one.proposal.statement: one.proposal.id for one in open_ones}
    sources = await tx.corroborations(entry.id for found in alike for entry, _ in found)
    steps, ids = list[Step](), list[UUID]()
    for found, statement in zip(alike, statements, strict=True):
        if statement in standing:
            ids.append(standing[statement])
            continue
        entries = [entry for entry, _ in found]
        support = support_of(found, _sources_of(sources, entries))
        kind = ProposalKind.RULE_CANDIDATE
        step = ProposeStep(EVENTS[kind], reason, kind, statement, support, entry=entries[0])
        steps += [step, *action_steps(step.row_id, kind.value, reason, entries)]
        ids.append(step.row_id)
    return steps, ids


def _sources_of(
    sources: dict[UUID, list[Corroboration]], entries: Sequence[Entry]
) -> list[Corroboration]:
    """What supports some entries, as one list."""
    return [one for entry in entries for one in sources.get(entry.id, ())]


async def signal_steps(
    binding: Binding, tx: AnchorTransaction, found: Contradiction, entry: Entry, reason: str
) -> list[Step]:
    """Steps that send a contradiction out as a signal: what crosses the gate, or its rule alone."""
    gate = await AggregationGate.of(binding, tx)
    passed = None if gate is None else gate.stripped(entry)
    left = passed if isinstance(passed, Passed) else None
    sources = await tx.corroborations([entry.id])
    support = support_of([(entry, left)], sources.get(entry.id, ()))
    kind, said = ProposalKind.REVISION_SIGNAL, None if left is None else left.text
    kept = {} if left else {"withheld": passed or "the spec lets nothing across"}
    step = ProposeStep(
        EVENTS[kind], reason, kind, said, support, found.id, entry=entry, detail=kept
    )
    await tx.enqueue(DELIVER)
    return [step, *action_steps(step.row_id, kind.value, reason, [entry])]


async def withdrawal_steps(tx: AnchorTransaction, about: UUID, reason: str) -> list[LinkStep]:
    """Steps that withdraw the signal of a contradiction; refused if its receiver took it up."""
    steps: list[LinkStep] = []
    for one in await proposal_rows(tx, about=about):
        if one.proposal.status is ProposalStatus.ACCEPTED:
            raise TransitionRefused(
                "The receiver of this revision signal accepted it.",
                remedy="Ask the receiver to undo the change of its rule first.",
            )
        if one.proposal.status is ProposalStatus.OPEN:
            entry = (await tx.entry(one.entry_id)).entry
            steps.append(_decision(one, ProposalStatus.WITHDRAWN, reason, entry))
    return steps


@verb(
    capability=Capability.READ,
    http=get("/proposals", "governing"),
    tool=McpTool(
        "List proposals",
        "Rule candidates and revision signals that left this memory, entries that may say the "
        "same, and what was decided.",
        name="list_proposals",
        hidden=("limit",),
    ),
    examples=("idetic proposals {scope}", "idetic proposals --status accepted {scope} --json"),
)
async def proposals(
    binding: Binding,
    *,
    status: Sequence[ProposalStatus] | None = None,
    limit: Limit = 100,
) -> list[Proposal]:
    """List proposals, oldest first: open ones unless you say which."""
    if not binding.spec.proposes:
        return []
    wanted = [ProposalStatus.OPEN] if status is None else status
    async with binding.look() as tx:
        return [one.proposal for one in await proposal_rows(tx, status=wanted, limit=limit)]


@verb(
    capability=Capability.READ,
    http=get("/proposals/{proposal_id}/entries", "governing"),
    examples=("idetic proposal-entries PROPOSAL_ID {scope}",),
)
async def proposal_entries(binding: Binding, proposal_id: UUID) -> list[Entry]:
    """List the entries that a proposal rests on."""
    async with binding.look() as tx:
        found = await entries_behind(tx, proposal_id) if tx.spec.proposes else []
    if not found:
        raise NotFound("There is no such proposal in this scope.")
    return found


@verb(
    capability=Capability.RESOLVE,
    writes=True,
    http=post("/proposals/{proposal_id}/decide", "governing"),
    examples=('idetic decide PROPOSAL_ID accepted --reason "it is rule 12 now" {scope}',),
    describes={"action": "The id of the result, such as a rule; by default a new id."},
)
async def decide(
    binding: Binding,
    proposal_id: UUID,
    status: ProposalStatus,
    *,
    reason: str,
    action: UUID | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """Accept, decline or withdraw a proposal; accepting links an action to its entries.

    If you accept that two entries are the same, they become one; `undo` reverses that.
    """
    if status is ProposalStatus.OPEN:
        raise InputError("status must be accepted, declined or withdrawn.")
    reason = binding.gated_reason(reason, "reason", MAX_DECISION)
    named = {"proposal": str(proposal_id), "to": status.value, "action": str(action or "")}
    call = {"verb": "decide", **named, "reason": reason}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return known
        found = await _open(tx, proposal_id)
        entry = (await tx.entry(found.entry_id)).entry
        steps: list[Step] = [_decision(found, status, reason, entry)]
        if found.proposal.kind is ProposalKind.SAMENESS:
            steps += await sameness.decision_steps(binding, tx, found, status)
        elif status is ProposalStatus.ACCEPTED:
            kind, why = f"{found.proposal.kind.value}_accepted", "its proposal was accepted"
            behind = await entries_behind(tx, proposal_id)
            steps += action_steps(action or uuid7(), kind, why, behind)
        elif status is ProposalStatus.WITHDRAWN:
            await tx.enqueue(DELIVER)
        return await binding.settle_once(tx, steps, idempotency_key, call)


async def _open(tx: AnchorTransaction, proposal_id: UUID) -> ProposalRow:
    """The open proposal with this id."""
    found = await proposal_rows(tx, ids=[proposal_id]) if tx.spec.proposes else []
    if not found:
        raise NotFound("There is no such proposal in this scope.")
    status = found[0].proposal.status
    if status is not ProposalStatus.OPEN:
        raise TransitionRefused(
            f"The proposal was {status} already.", remedy="Propose it again if it is still true."
        )
    return found[0]


def _decision(row: ProposalRow, status: ProposalStatus, notes: str, entry: Entry) -> DecideStep:
    """The step that turns a proposal; the link tells a hash of the reason, the row has it."""
    why = f"its proposal was {status.value}"
    told = {"kind": row.proposal.kind.value}
    made = (f"proposal_{status.value}", why, row.proposal.id, status, notes)
    return DecideStep(*made, entry=entry, detail=told)
