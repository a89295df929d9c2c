"""Proposals in the database: the steps that write them, and how their rows are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar
from uuid import UUID

from idetic.evidence import OutboxMessage, Proposal, ProposalKind, ProposalStatus
from idetic.ids import uuid7
from idetic.model import Decision, Entry, Ref
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.entry_content import row_digest
from idetic.store.row_digests import salted_note
from idetic.store.steps import Encoded, LinkStep

PROPOSALS = "proposals"
EVENTS = {
    ProposalKind.RULE_CANDIDATE: "rule_proposed",
    ProposalKind.REVISION_SIGNAL: "revision_signalled",
    ProposalKind.SAMENESS: "sameness_proposed",
}


@dataclass(frozen=True, slots=True)
class ProposeStep(LinkStep):
    """A proposal that leaves through the outbox; `entry` is the one whose words it has."""

    op: ClassVar[str] = "propose"
    kind: ProposalKind
    statement: str | None
    support: Mapping[str, int]
    about: UUID | None = None
    row_id: UUID = field(default_factory=uuid7)
    _: KW_ONLY
    entry: Entry
    decision: Decision = Decision.ADD

    def encoded(self) -> Encoded:
        """The link, and the row of the proposals table."""
        made, salted = LinkStep.encoded(self), salted_note(self.statement)
        told = {"proposal": str(self.row_id), "kind": self.kind.value}
        told["row"] = proposal_digest(
            self.entry.id, self.row_id, self.kind.value, self.about, self.support
        )
        made["detail"] |= told
        if "notes_hash" in salted.told:
            made["detail"]["statement_hash"] = salted.told["notes_hash"]
        return made | {
            "row_id": str(self.row_id),
            "proposal": self.kind.value,
            "source_ref": None if self.about is None else str(self.about),
            "body": self.statement,
            "salt": salted.salt,
            "support": dict(self.support),
        }


@dataclass(frozen=True, slots=True)
class DecideStep(LinkStep):
    """What became of a proposal: the receiver's decision, or that it was withdrawn."""

    op: ClassVar[str] = "decide"
    row_id: UUID
    status: ProposalStatus
    notes: str
    _: KW_ONLY
    decision: Decision = Decision.UPDATE

    def encoded(self) -> Encoded:
        """The link, and what the row gets."""
        made, salted = LinkStep.encoded(self), salted_note(self.notes)
        told = {"proposal": str(self.row_id), "to": self.status.value}
        made["detail"] |= {**told, **salted.told}
        row = {"row_id": str(self.row_id), "outcome": self.status.value}
        return made | row | {"notes": self.notes, "salt": salted.salt}


@dataclass(frozen=True, slots=True)
class ActionStep(LinkStep):
    """An action that rests on an entry, which then cannot go from beneath it."""

    op: ClassVar[str] = "act"
    action_id: UUID
    kind: str
    _: KW_ONLY
    entry: Entry
    decision: Decision = Decision.ADD

    def encoded(self) -> Encoded:
        """The link, and the row of the actions table."""
        made = LinkStep.encoded(self)
        made["detail"] |= {"action": str(self.action_id), "kind": self.kind}
        return made | {"row_id": str(self.action_id), "noun": self.kind}


def action_steps(
    action_id: UUID, kind: str, reason: str, entries: Sequence[Entry]
) -> list[LinkStep]:
    """That an action rested on some entries: a link for each, and one that closes the call."""
    receipt = uuid7()
    steps: list[LinkStep] = [
        ActionStep("action_linked", reason, action_id, kind, entry=entry, receipt=receipt)
        for entry in entries
    ]
    told = {"action": str(action_id), "kind": kind, "entries": [str(one.id) for one in entries]}
    closing = LinkStep(
        "action_recorded", reason, decision=Decision.ADD, receipt=receipt, detail=told
    )
    return [*steps, closing]


def proposal_digest(
    entry_id: UUID, row_id: UUID, kind: str, about: UUID | None, support: Mapping[str, Any]
) -> str:
    """The digest of a proposal as it was made, without what may be erased."""
    values = {"entry": entry_id, "id": row_id, "kind": kind, "about": about, "support": support}
    return row_digest("proposal", values)


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """A proposal with the entry whose words it has, and the contradiction it is about."""

    proposal: Proposal
    entry_id: UUID
    about: UUID | None


async def proposal_rows(
    tx: AnchorTransaction,
    *,
    ids: Sequence[UUID] | None = None,
    about: UUID | None = None,
    statements: Sequence[str] | None = None,
    status: Sequence[ProposalStatus] | None = None,
    limit: int = 1_000,
) -> list[ProposalRow]:
    """Proposals by id, by contradiction, by statement or by status, oldest first."""
    rows = await tx.ask(
        PROPOSALS,
        "proposals",
        ids=None if ids is None else list(ids),
        about=about,
        statements=None if statements is None else list(statements),
        status=None if status is None else [one.value for one in status],
        limit=limit,
    )
    alike = [row for row in rows if row[2] == ProposalKind.SAMENESS]
    refs = await _refs(tx, [(row[0], row[3]) for row in rows if row not in alike])
    both = await tx.stored({one for row in alike for one in (row[1], row[3])})
    texts = {one.id: one.entry.body_text for one in both}
    return [_row(_with_texts(row, texts), refs.get(row[0], ())) for row in rows]


def _with_texts(row: tuple[Any, ...], texts: Mapping[UUID, str]) -> tuple[Any, ...]:
    """The row of two entries that may say the same, with both texts while they are there."""
    both = [texts.get(one) for one in (row[1], row[3])]
    if row[2] != ProposalKind.SAMENESS or not all(both):
        return row
    return (*row[:4], "\n".join(f"“{text}”" for text in both), *row[5:])


async def entries_behind(tx: AnchorTransaction, proposal_id: UUID) -> list[Entry]:
    """The entries that a proposal rests on."""
    rows = await tx.ask(PROPOSALS, "behind", ids=[proposal_id])
    return [one.entry for one in await tx.stored(row[1] for row in rows)]


async def outbox_messages(tx: AnchorTransaction, limit: int) -> list[OutboxMessage]:
    """What the receiver has not acknowledged yet, in the order of the anchor's chain."""
    rows = await tx.ask(PROPOSALS, "outbox", limit=limit)
    known = {one.proposal.id: one.proposal for one in await proposal_rows(tx, ids=_ids(rows))}
    return [_message(row, known[row[3]]) for row in rows if row[3] in known]


async def acknowledged(tx: AnchorTransaction) -> int:
    """The position up to which the receiver has acknowledged messages."""
    ((position,),) = await tx.ask(PROPOSALS, "acknowledged")
    return int(position)


def _ids(rows: Sequence[tuple[Any, ...]]) -> list[UUID]:
    """The proposals that messages are about, each once."""
    return list(dict.fromkeys(row[3] for row in rows))


def _message(row: tuple[Any, ...], proposal: Proposal) -> OutboxMessage:
    """One message: the proposal without who made it and where."""
    return OutboxMessage(
        row[0], row[1], row[2], proposal.id, proposal.kind, proposal.statement, proposal.support,
        proposal.refs,
    )  # fmt: skip


def _row(row: tuple[Any, ...], refs: tuple[Ref, ...]) -> ProposalRow:
    """One row of the table."""
    row_id, entry_id, kind, about, statement, support, at, by, status, *decided = row
    made = Proposal(
        row_id, ProposalKind(kind), ProposalStatus(status), statement, support, refs, at, by,
        *decided,
    )  # fmt: skip
    if made.kind is ProposalKind.SAMENESS:
        made = replace(made, entries=(entry_id, about))
    return ProposalRow(made, entry_id, about)


async def _refs(
    tx: AnchorTransaction, rows: Sequence[tuple[UUID, UUID | None]]
) -> dict[UUID, tuple[Ref, ...]]:
    """The canonical rows that each proposal is about: its contradiction's, and its entries'."""
    found: dict[UUID, dict[tuple[str, UUID], Ref]] = {row_id: {} for row_id, _ in rows}
    signals = {about: row_id for row_id, about in rows if about is not None}
    for canonical in tx.spec.references.canonical if signals else ():
        for about in signals if canonical.contradictions else ():
            for one in await tx.contradictions(canonical, row_id=about):
                found[signals[about]][one.ref.noun, one.ref.id] = one.ref
    behind = await tx.ask(PROPOSALS, "behind", ids=list(found)) if found else []
    known = {one.id: one.entry for one in await tx.stored({row[1] for row in behind})}
    for row_id, entry_id in behind:
        for ref in known[entry_id].refs if entry_id in known else ():
            found[row_id].setdefault((ref.noun, ref.id), ref)
    return {row_id: tuple(refs.values()) for row_id, refs in found.items()}
