"""Steps: what was decided about an anchor, as frozen types; each encodes itself for the database.

The composite type `idetic.step` of the database has a field for each key. A step carries the link
that the ledger will hold: what changed, and what it was before, so that `undo` can put it back.
Never a body: those stay in the entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from idetic.evidence import ContradictionStatus, Corroboration, Lineage
from idetic.ids import uuid7, uuid7_text
from idetic.model import Claim, Decision, Entry, EntryState, Origin, Ref, Tier, Typology
from idetic.store.entry_content import content_hash, link_detail
from idetic.store.row_digests import (
    contradiction_digest,
    corroboration_digest,
    lineage_values,
    salted_note,
    told_lineage,
)

# The transition of an entry that outlives its scope because something was made of it.
KEPT = "kept"
_NOTHING: Mapping[str, Any] = {}
Encoded = dict[str, Any]


def state_of(entry: Entry) -> str:
    """The state that a link names: a candidate is not yet current."""
    if entry.candidate and entry.state is EntryState.CURRENT:
        return "candidate"
    return entry.state.value


@dataclass(frozen=True, slots=True)
class LinkStep:
    """A decision that changes no row, and the part that every step with a link shares."""

    op: ClassVar[str] = "note"
    transition: str
    reason: str
    _: KW_ONLY
    entry: Entry | None = None
    decision: Decision = Decision.NOOP
    receipt: UUID = field(default_factory=uuid7)
    detail: Mapping[str, Any] = field(default_factory=dict)
    state_to: str | None = None
    # A link that says nothing of the state: a step before it may have turned that.
    stateless: bool = False

    @property
    def entry_id(self) -> UUID | None:
        """The entry it is about."""
        return None if self.entry is None else self.entry.id

    def encoded(self) -> Encoded:
        """What the SQL function reads."""
        state = None if self.entry is None or self.stateless else state_of(self.entry)
        return {
            "op": self.op,
            "receipt": str(self.receipt),
            "memory": _text(self.entry_id),
            "transition": self.transition,
            "decision": self.decision.value,
            "reason": self.reason,
            "state_from": state,
            "state_to": self.state_to or state,
            "detail": dict(self.detail),
        }


@dataclass(frozen=True, slots=True)
class RecurStep(LinkStep):
    """More sources that said what an entry says."""

    lineage: Sequence[Lineage] = ()

    def encoded(self) -> Encoded:
        """The link, and the sources that it adds."""
        made = LinkStep.encoded(self)
        made["detail"] |= told_lineage(self.entry_id, self.lineage)
        return made | {"lineage": [_lineage(one) for one in self.lineage]}


@dataclass(frozen=True, slots=True)
class TurnStep(LinkStep):
    """Turns an entry's state columns; the link keeps what they were."""

    op: ClassVar[str] = "turn"
    changes: Mapping[str, Any]
    _: KW_ONLY
    entry: Entry
    decision: Decision = Decision.UPDATE

    @property
    def after(self) -> Entry:
        """The entry as it stands after this step."""
        return replace(self.entry, **self.changes)

    def encoded(self) -> Encoded:
        """The link with the columns before and after."""
        made = LinkStep.encoded(self)
        turned = {column: _text(value) for column, value in self.changes.items()}
        was = {column: _text(getattr(self.entry, column)) for column in self.changes}
        made["detail"] |= {"was": was, "set": turned}
        return made | {"state_to": state_of(self.after), "turned": turned}


@dataclass(frozen=True, slots=True)
class AddStep(LinkStep):
    """A new entry, made of others or derived from an event: what it says, what it was made of."""

    op: ClassVar[str] = "add"
    _: KW_ONLY
    tier: Tier
    typology: Typology
    text: str
    envelope: Mapping[str, Any]
    origin: Origin
    trust: int
    valid_at: datetime
    lineage: Sequence[Lineage] = ()
    refs: Sequence[Ref] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    session_id: UUID | None = None
    candidate: bool = False
    copy_of: UUID | None = None
    """An entry with the very same text, whose vector the new one takes."""
    event: UUID | None = None
    loop_id: UUID | None = None
    importance: float | None = None
    new_id: UUID = field(default_factory=uuid7)
    decision: Decision = Decision.ADD

    @property
    def entry_id(self) -> UUID:
        """The entry that it adds."""
        return self.new_id

    def entry_like(self, model: Entry) -> Entry:
        """The entry it adds, as later steps of the same pass see it; the rest is as in `model`."""
        return replace(
            model,
            id=self.new_id,
            tier=self.tier,
            typology=self.typology,
            body_text=self.text,
            envelope=self.envelope,
            origin=self.origin,
            trust=self.trust,
            valid_at=self.valid_at,
            session_id=None,
            interaction_id=None,
            candidate=self.candidate,
            refs=tuple(self.refs),
        )

    def encoded(self) -> Encoded:
        """The link, and the columns of the new row."""
        made = LinkStep.encoded(self)
        envelope = dict(self.envelope)
        salt, digest = content_hash(self.text, envelope)
        cell = (self.tier, self.typology)
        detail = made["detail"]
        detail |= told_lineage(self.new_id, self.lineage)
        detail["valid_at"] = self.valid_at.isoformat()
        if self.session_id is not None:
            detail["session"] = str(self.session_id)
        detail |= link_detail(self.origin, self.trust, cell, self.provenance, salt, digest)
        claim = envelope.get("claim")
        made |= {
            "state_to": "candidate" if self.candidate else "current",
            "tier": self.tier.value,
            "typology": self.typology.value,
            "session": _text(self.session_id),
            "body": self.text,
            "envelope": envelope,
            "claim": Claim(**claim).normalised().as_dict() if claim else None,
            "provenance": dict(self.provenance),
            "origin": self.origin.value,
            "trust": self.trust,
            "valid_at": self.valid_at.isoformat(),
            "candidate": self.candidate,
            "salt": salt,
            "hash": digest,
            "lineage": [_lineage(one) for one in self.lineage],
        }
        if self.copy_of is not None:
            made |= {"copy_of": str(self.copy_of), "embedding": uuid7_text()}
        if self.refs:
            made["refs"] = detail["refs"] = [reference(ref) for ref in self.refs]
        if self.event is not None:
            made |= {"event": str(self.event), "importance": self.importance}
            detail["importance"] = self.importance
        if self.loop_id is not None:
            made["loop_id"] = str(self.loop_id)
        return made


@dataclass(frozen=True, slots=True)
class CorroborateStep(LinkStep):
    """A source that supports an entry."""

    op: ClassVar[str] = "corroborate"
    corroboration: Corroboration
    lineage: Sequence[Lineage] = ()
    """The entries that say so: they stay as evidence as long as what they confirm."""
    _: KW_ONLY
    decision: Decision = Decision.UPDATE

    def encoded(self) -> Encoded:
        """The link, and the row of the corroborations table."""
        made, found = LinkStep.encoded(self), self.corroboration
        source = {"source_type": found.source_type.value, "source_ref": str(found.source_ref)}
        seen, witness = found.at.isoformat(), corroboration_digest(self.entry_id, found)
        told = {"corroboration": str(found.id), **source, "seen_at": seen, "row": witness}
        salted = salted_note(found.notes)
        made["detail"] |= {**told, **salted.told}
        if self.lineage:
            made["detail"] |= told_lineage(self.entry_id, self.lineage)
        return made | {
            "lineage": [_lineage(one) for one in self.lineage],
            "salt": salted.salt,
            "row_id": str(found.id),
            # When the source spoke: carrying it over to another entry makes that no younger.
            "seen_at": seen,
            **source,
            "source_by": found.source_by,
            "session": _text(found.session_id),
            "origin": found.origin.value,
            "notes": found.notes,
            "provenance": dict(found.provenance),
        }


@dataclass(frozen=True, slots=True)
class WithdrawStep(LinkStep):
    """A corroboration that no longer counts."""

    op: ClassVar[str] = "withdraw"
    corroboration_id: UUID
    _: KW_ONLY
    decision: Decision = Decision.UPDATE

    def encoded(self) -> Encoded:
        """The link, which names the corroboration."""
        made, row_id = LinkStep.encoded(self), str(self.corroboration_id)
        made["detail"] |= {"corroboration": row_id, "op": self.op}
        return made | {"row_id": row_id}


@dataclass(frozen=True, slots=True)
class ReinstateStep(WithdrawStep):
    """A withdrawn corroboration that counts again."""

    op: ClassVar[str] = "reinstate"


@dataclass(frozen=True, slots=True)
class ContradictStep(LinkStep):
    """An entry that speaks against canonical content."""

    op: ClassVar[str] = "contradict"
    ref: Ref
    provenance: Mapping[str, str]
    row_id: UUID = field(default_factory=uuid7)
    _: KW_ONLY
    decision: Decision = Decision.ADD

    def encoded(self) -> Encoded:
        """The link, and the row of the noun's contradictions table."""
        made, row_id, ref_id = LinkStep.encoded(self), str(self.row_id), str(self.ref.id)
        made["detail"] |= {"contradiction": row_id, "noun": self.ref.noun, "id": ref_id}
        made["detail"]["row"] = contradiction_digest(self.entry_id, self.row_id, self.provenance)
        row = {"row_id": row_id, "noun": self.ref.noun, "source_ref": ref_id}
        return made | row | {"provenance": dict(self.provenance)}


@dataclass(frozen=True, slots=True)
class ResolveStep(LinkStep):
    """A contradiction that moves on to another status."""

    op: ClassVar[str] = "resolve"
    row_id: UUID
    noun: str
    status: ContradictionStatus
    notes: str | None = None
    _: KW_ONLY
    decision: Decision = Decision.UPDATE

    def encoded(self) -> Encoded:
        """The link, and the status that the row gets."""
        made, salted = LinkStep.encoded(self), salted_note(self.notes)
        made["detail"] |= {"contradiction": str(self.row_id), "op": self.op, **salted.told}
        row = {"row_id": str(self.row_id), "noun": self.noun, "status": self.status.value}
        noted = {} if self.notes is None else {"notes": self.notes, "salt": salted.salt}
        return made | row | noted


@dataclass(frozen=True, slots=True)
class UnresolveStep(ResolveStep):
    """A contradiction that goes back to where it stood before its last move."""

    op: ClassVar[str] = "unresolve"


@dataclass(frozen=True, slots=True)
class CloseStep(LinkStep):
    """The end of a session or an interaction."""

    op: ClassVar[str] = "close"
    scope_id: UUID
    session_id: UUID
    _: KW_ONLY
    decision: Decision = Decision.UPDATE

    def encoded(self) -> Encoded:
        """The link, which names the scope."""
        made, scope_id = LinkStep.encoded(self), str(self.scope_id)
        made["detail"] |= {"scope": scope_id, "session": str(self.session_id)}
        return made | {"ids": [scope_id]}


@dataclass(frozen=True, slots=True)
class DropStep:
    """Transient rows that go with their scope; links of their own say where each went."""

    ids: Sequence[UUID]

    def encoded(self) -> Encoded:
        """The ids; it leaves no link itself."""
        return {"op": "drop", "ids": [str(one) for one in self.ids]}


Step = LinkStep | DropStep


def drop_steps(entries: Sequence[Entry], reason: str, into: Mapping[UUID, UUID]) -> list[Step]:
    """Transient entries that go with their scope; each leaves a link that says where it went."""
    if not entries:
        return []
    receipt = uuid7()
    links = [
        LinkStep(
            "dropped", reason, entry=entry, decision=Decision.DELETE, receipt=receipt,
            state_to="dropped",
            detail={"into": str(into[entry.id])} if entry.id in into else _NOTHING,
        )
        for entry in entries
    ]  # fmt: skip
    return [DropStep([entry.id for entry in entries]), *links]


def evidence_steps(
    entries: Sequence[Entry], reason: str, into: Mapping[UUID, UUID], at: datetime
) -> list[Step]:
    """Transient entries that stay after their scope, because something was made of them."""
    receipt, archived = uuid7(), {"archived_at": at}
    return [
        TurnStep(
            KEPT, reason, archived, entry=entry, receipt=receipt,
            detail={"cause": "evidence"}
            | ({"into": str(into[entry.id])} if entry.id in into else {}),
        )
        for entry in entries
    ]  # fmt: skip


def reference(ref: Ref) -> Encoded:
    """One reference as the database takes it, with an id of its own."""
    return {"noun": ref.noun, "id": str(ref.id), "version": ref.version, "ref_id": uuid7_text()}


def _lineage(one: Lineage) -> Encoded:
    """One source of an entry as the database reads it."""
    return {name: _text(value) for name, value in lineage_values(one).items()}


def _text(value: Any) -> Any:
    """A moment or an id as JSON takes it; what is plain already stays."""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
