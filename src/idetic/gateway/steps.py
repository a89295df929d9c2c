"""What was decided about an anchor, as the database's settle function takes it.

A step carries the link that the ledger will hold: what changed, and what it was before, so that
`undo` can put it back. Never a body: those stay in the entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Corroboration, Lineage
from idetic.gateway.items import content_hash, witnessed
from idetic.gateway.substance import substance
from idetic.ids import uuid7, uuid7_text
from idetic.model import Claim, Decision, Entry, EntryState, Origin, Ref, Tier, Typology

Step = dict[str, Any]


def state_of(entry: Entry) -> str:
    """The state that a link names: a candidate is not yet current."""
    if entry.candidate and entry.state is EntryState.CURRENT:
        return "candidate"
    return entry.state.value


def link(
    transition: str,
    decision: Decision,
    reason: str,
    *,
    entry: Entry | None = None,
    receipt: UUID | None = None,
    state_to: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Step:
    """A link of its own: a decision that changes no row, or the part every step shares."""
    state = None if entry is None else state_of(entry)
    return {
        "op": "note",
        "receipt": str(receipt or uuid7()),
        "memory": None if entry is None else str(entry.id),
        "transition": transition,
        "decision": decision.value,
        "reason": reason,
        "state_from": state,
        "state_to": state_to or state,
        "detail": dict(detail or {}),
    }


def turn(
    entry: Entry, changes: Mapping[str, Any], transition: str, reason: str, *, to: str,
    decision: Decision = Decision.UPDATE, receipt: UUID | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Step:  # fmt: skip
    """Turn an entry's state columns; the link keeps what they were."""
    was = {column: _plain(getattr(entry, column)) for column in changes}
    turned = {column: _plain(value) for column, value in changes.items()}
    told = {**(detail or {}), "was": was, "set": turned}
    step = link(
        transition, decision, reason, entry=entry, receipt=receipt, state_to=to, detail=told
    )
    return step | {"op": "turn", "turned": turned}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An entry to be made of others: what it says, and what it was made of."""

    tier: Tier
    typology: Typology
    text: str
    envelope: Mapping[str, Any]
    origin: Origin
    trust: int
    valid_at: datetime
    lineage: Sequence[Lineage]
    refs: Iterable[Ref] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    session_id: UUID | None = None
    candidate: bool = False
    # An entry with the very same text, whose vector it takes.
    copy_of: UUID | None = None


def add(
    draft: Draft,
    transition: str,
    reason: str,
    *,
    receipt: UUID | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Step:
    """A new entry made of others."""
    envelope = dict(draft.envelope)
    salt, digest = content_hash(draft.text, envelope)
    told: dict[str, Any] = {"content_hash": digest}
    told["sources"] = [str(one.source_id) for one in draft.lineage]
    cell = (draft.tier, draft.typology)
    told |= witnessed(draft.origin, draft.trust, cell, draft.provenance, salt)
    step = link(
        transition, Decision.ADD, reason, receipt=receipt,
        state_to="candidate" if draft.candidate else "current", detail={**(detail or {}), **told},
    )  # fmt: skip
    claim = envelope.get("claim")
    made = step | {
        "op": "add",
        "memory": uuid7_text(),
        "tier": draft.tier.value,
        "typology": draft.typology.value,
        "session": _plain(draft.session_id),
        "body": draft.text,
        "substance": substance(draft.text),
        "envelope": envelope,
        "claim": Claim(**claim).normalised().as_dict() if claim else None,
        "provenance": dict(draft.provenance),
        "origin": draft.origin.value,
        "trust": draft.trust,
        "valid_at": draft.valid_at.isoformat(),
        "candidate": draft.candidate,
        "salt": salt,
        "hash": digest,
        "lineage": [lineage_row(one) for one in draft.lineage],
    }
    if draft.copy_of is not None:
        made |= {"copy_of": str(draft.copy_of), "embedding": uuid7_text()}
    pinned = [
        {"noun": r.noun, "id": str(r.id), "version": r.version, "ref_id": uuid7_text()}
        for r in draft.refs
    ]
    if pinned:
        made["refs"] = pinned
        made["detail"]["refs"] = pinned
    return made


def recur(entry: Entry, lineage: Sequence[Lineage], reason: str) -> Step:
    """More sources that said what an entry says."""
    sources = [str(one.source_id) for one in lineage]
    step = link("recurred", Decision.NOOP, reason, entry=entry, detail={"sources": sources})
    return step | {"lineage": [lineage_row(one) for one in lineage]}


def corroborate(entry: Entry, found: Corroboration, reason: str) -> Step:
    """A source that supports an entry."""
    told = {
        "corroboration": str(found.id),
        "source_type": found.source_type.value,
        "source_ref": str(found.source_ref),
    }
    step = link("corroborated", Decision.UPDATE, reason, entry=entry, detail=told)
    return step | {
        "op": "corroborate",
        "row_id": str(found.id),
        # When the source spoke: carrying it over to another entry makes that no younger.
        "seen_at": found.at.isoformat(),
        "source_type": found.source_type.value,
        "source_ref": str(found.source_ref),
        "session": None if found.session_id is None else str(found.session_id),
        "origin": found.origin.value,
        "notes": found.notes,
        "provenance": dict(found.provenance),
    }


def close(ids: Iterable[UUID], tier: Tier, session_id: UUID, reason: str) -> Step:
    """The end of a session or an interaction."""
    closed = [str(one) for one in ids]
    step = link(
        f"{tier.value}_closed", Decision.UPDATE, reason,
        detail={"scope": closed[0], "session": str(session_id)},
    )  # fmt: skip
    return step | {"op": "close", "ids": closed}


def drop(entries: Sequence[Entry], reason: str, into: Mapping[UUID, str]) -> list[Step]:
    """Transient entries that go with their scope; each leaves a link that says where it went."""
    if not entries:
        return []
    steps: list[Step] = [{"op": "drop", "ids": [str(entry.id) for entry in entries]}]
    receipt = uuid7()
    for entry in entries:
        told = {"into": into[entry.id]} if entry.id in into else {}
        steps.append(
            link("dropped", Decision.DELETE, reason, entry=entry, receipt=receipt,
                 state_to="dropped", detail=told)
        )  # fmt: skip
    return steps


def lineage_row(one: Lineage) -> dict[str, Any]:
    """One source as the database takes it."""
    return {
        "source_id": str(one.source_id),
        "relation": one.relation.value,
        "session_id": None if one.session_id is None else str(one.session_id),
        "interaction_id": None if one.interaction_id is None else str(one.interaction_id),
        "provenance": dict(one.provenance),
        "origin": one.origin.value,
        "trust": one.trust,
        "observed_at": one.observed_at.isoformat(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
