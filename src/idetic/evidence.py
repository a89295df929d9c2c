"""The nouns of evidence: an entry's corroborations, contradictions, lineage and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Any
from uuid import UUID

from idetic.model import Decision, Entry, Origin, PlainData, Receipt, Ref


class SourceType(StrEnum):
    """The kind of a corroboration's source (ADR-058 D9)."""

    OBSERVATION_EVENT = "observation_event"
    RULE_CHANGE = "rule_change"
    CROSS_VERSION_CARRY = "cross_version_carry"
    OPERATOR_INPUT = "operator_input"
    AGENT_INFERENCE = "agent_inference"

    @property
    def independent(self) -> bool:
        """Whether it counts towards promotion: somebody saw it, or an operator gives his word.

        What an agent infers supports nothing by itself; nor does what the engine concludes from a
        comparison of texts, or carries over from one version of them to the next.
        """
        return self in (SourceType.OBSERVATION_EVENT, SourceType.OPERATOR_INPUT)

    @property
    def conclusive(self) -> bool:
        """Whether it says anew that an entry holds or fails: it ends or extends such a row."""
        return self not in (SourceType.AGENT_INFERENCE, SourceType.CROSS_VERSION_CARRY)

    @property
    def canonical(self) -> bool:
        """Whether a version of a canonical row stands behind it; the engine alone writes these."""
        return self in (SourceType.RULE_CHANGE, SourceType.CROSS_VERSION_CARRY)


class ContradictionStatus(StrEnum):
    """The status of a contradiction (ADR-058 D7)."""

    OPEN = "open"
    DISMISSED = "dismissed"
    SURFACED = "surfaced_to_operator"
    PROMOTED = "promoted_to_revision_signal"


# Open, then before an operator, then settled. `undo` alone goes back, to what stood before.
TRANSITIONS: Mapping[ContradictionStatus, tuple[ContradictionStatus, ...]] = MappingProxyType(
    {
        ContradictionStatus.OPEN: (ContradictionStatus.SURFACED, ContradictionStatus.DISMISSED),
        ContradictionStatus.SURFACED: (
            ContradictionStatus.DISMISSED,
            ContradictionStatus.PROMOTED,
        ),
        ContradictionStatus.DISMISSED: (),
        ContradictionStatus.PROMOTED: (),
    }
)


class Relation(StrEnum):
    """How a source contributed to an entry; a source with `recurred` only repeated it."""

    COMPOUNDED = "compounded"
    PROMOTED = "promoted"
    MERGED = "merged"
    RECURRED = "recurred"
    SUMMARISED = "summarised"


@dataclass(frozen=True, slots=True)
class Lineage:
    """One source of an entry and its place; the source itself may be deleted."""

    source_id: UUID
    relation: Relation
    origin: Origin
    trust: int
    observed_at: datetime
    session_id: UUID | None = None
    interaction_id: UUID | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""


@dataclass(frozen=True, slots=True)
class Corroboration:
    """A source that supports an entry or disputes it.

    `by` recorded it; `source_by` is the principal behind the source, who counts.
    """

    id: UUID
    source_type: SourceType
    source_ref: UUID
    at: datetime
    by: str
    source_by: str
    origin: Origin
    session_id: UUID | None = None
    notes: str | None = None
    withdrawn_at: datetime | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> tuple[SourceType, UUID | str]:
        """The unit that counts once: a thread, an operator, or one version of a canonical row."""
        if self.source_type.canonical:
            return self.source_type, f"{self.source_ref} {self.source_by}"
        word = self.source_type is SourceType.OPERATOR_INPUT
        return self.source_type, self.voice if word else self.source_ref

    @property
    def voice(self) -> str:
        """A mark that differs between the principals behind sources, without a name."""
        return sha256(self.source_by.encode()).hexdigest()[:16]


# The sources that failed to corroborate an entry, by type and id, and whose voice each is.
Failures = dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An entry that contradicts canonical content, and the status of the contradiction."""

    id: UUID
    entry_id: UUID
    ref: Ref
    observed_at: datetime
    observed_by: str
    status: ContradictionStatus
    resolution_notes: str | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None


@dataclass(frozen=True, slots=True)
class Referenced:
    """A canonical row that an entry refers to, with its current text.

    `ref` has the pinned version, `version_now` is the current one.
    """

    ref: Ref
    version_now: int | None
    text: str | None
    strength: str | None
    referenced_at: datetime

    @property
    def changed(self) -> bool:
        """Whether the current version differs from the pinned one."""
        return self.version_now is not None and self.version_now != self.ref.version


class PromotionGate(StrEnum):
    """The four gates of primitive 9."""

    DEDUPLICATION = "deduplication"
    CORROBORATION = "corroboration"
    SANITIZATION = "sanitization"
    CROSS_CONTEXT = "cross_context_validity"


@dataclass(frozen=True, slots=True)
class GateResult(PlainData):
    """The result of one gate: numbers and a sentence, never content."""

    gate: PromotionGate
    passed: bool
    have: float
    need: float
    why: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that waits for support, with the current results of its gates."""

    entry: Entry
    gates: tuple[GateResult, ...]

    @property
    def missing(self) -> int:
        """The number of gates that it does not pass yet."""
        return sum(not gate.passed for gate in self.gates)


@dataclass(frozen=True, slots=True)
class Decided:
    """One automatic decision: its transition, entry, gates, and the receipt that undoes it."""

    transition: str
    receipt: Receipt
    gates: tuple[GateResult, ...] = ()

    @property
    def decision(self) -> Decision:
        """ADD, UPDATE, DELETE, NOOP or REJECT."""
        return self.receipt.decision

    @property
    def entry_id(self) -> UUID | None:
        """The entry it is about."""
        return self.receipt.entry_id


@dataclass(frozen=True, slots=True)
class Closed:
    """The result of closing a scope; every decision in it has its receipt."""

    receipt: Receipt
    decided: tuple[Decided, ...] = ()

    def count(self, transition: str) -> int:
        """How many decisions of one kind were made."""
        return sum(one.transition == transition for one in self.decided)

    def entries(self, transition: str) -> list[UUID]:
        """The entries of one kind of decision."""
        return [
            one.entry_id for one in self.decided if one.transition == transition and one.entry_id
        ]


class DispositionCause(StrEnum):
    """Why an entry waits for somebody to decide about it."""

    LAPSED = "validity_lapsed"
    FORCED = "forcing_function"
    STALE_CANDIDATE = "candidate_without_support"
    CANONICAL_CHANGE = "canonical_change"


class Outcome(StrEnum):
    """The outcome of a disposition."""

    PROMOTE = "promote"
    RECORROBORATE = "recorroborate"
    EXEMPT = "exempt"
    ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class Disposition:
    """An entry in the disposition queue: its cause, its pressure, and since when it is due."""

    entry: Entry
    cause: DispositionCause
    pressure: float
    due_at: datetime


class ProposalKind(StrEnum):
    """The kind of a proposal: a new rule, a doubt about a rule, or two equal entries.

    The first two go to another context; a proposal that two entries are equal never leaves this
    memory.
    """

    RULE_CANDIDATE = "rule_candidate"
    REVISION_SIGNAL = "revision_signal"
    SAMENESS = "sameness"


class ProposalStatus(StrEnum):
    """The status of a proposal; everything but `open` is final."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pattern, a contradiction or a pair of equal entries that was proposed, and its status.

    `statement` is the text after the aggregation gate. It is None if the gate kept it back, or if
    its entry was emptied later. `support` counts the evidence. For two `entries` that may say the
    same, it has both texts and their similarity.
    """

    id: UUID
    kind: ProposalKind
    status: ProposalStatus
    statement: str | None
    support: Mapping[str, int]
    refs: tuple[Ref, ...]
    proposed_at: datetime
    proposed_by: str
    decided_at: datetime | None = None
    decided_by: str | None = None
    decision_reason: str | None = None
    entries: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One message to another context; it has no id of an entry, an anchor or a person.

    `position` orders the messages of an anchor and acknowledges them; `event` is the transition.
    """

    position: int
    event: str
    at: datetime
    proposal_id: UUID
    kind: ProposalKind
    statement: str | None
    support: Mapping[str, int]
    refs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The patterns that passed the aggregation gate, and the entries that mean nothing without
    names."""

    receipt: Receipt
    proposals: tuple[Proposal, ...] = ()
    refused: Mapping[UUID, str] = field(default_factory=dict)
