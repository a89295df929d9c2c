"""What an action rested on, as it stood then: nouns, frozen, and the same as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.audit import account
from idetic.evidence import Corroboration, Relation
from idetic.model import Entry, LedgerRecord, Origin


@dataclass(frozen=True, slots=True)
class Source:
    """Something an entry was made of. What stood on rows that are gone is None."""

    entry_id: UUID
    relation: Relation | None = None
    origin: Origin | None = None
    trust: int | None = None
    observed_at: datetime | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A canonical row that an entry refers to: the version it meant, and the one that holds now."""

    noun: str
    id: UUID
    version: int | None
    version_now: int | None

    @property
    def changed(self) -> bool:
        """Whether the row has another version by now than the entry meant."""
        return self.version_now is not None and self.version_now != self.version


@dataclass(frozen=True, slots=True)
class ReadReceipt:
    """Who was shown an entry, when and in which session."""

    by: str
    at: datetime
    session_id: UUID | None = None
    interaction_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """An action that rests on memory: what kind, when, who said so and why, on how many entries."""

    action_id: UUID
    kind: str
    at: datetime
    by: str
    entries: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExplainedEntry:
    """An entry as it stood at a link of the chain; only what ends in `_now` is about today.

    `then` is None for an entry that went with its scope: the chain still says who wrote it, what it
    was made of and into what it went, and no longer what it said.
    """

    id: UUID
    then: Entry | None
    written_by: str
    written_at: datetime | None
    state_then: str | None
    state_now: str | None
    sources: tuple[Source, ...] = ()
    references: tuple[Reference, ...] = ()
    corroborations: tuple[Corroboration, ...] = ()
    reads: tuple[ReadReceipt, ...] = ()
    decisions: tuple[LedgerRecord, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        then = self.then
        return {
            "id": self.id,
            "text": then.body_text if then else None,
            "envelope": then.envelope if then else None,
            "tier": then.tier if then else None,
            "typology": then.typology if then else None,
            "origin": then.origin if then else None,
            "trust": then.trust if then else None,
            "valid_at": then.valid_at if then else None,
            "invalid_at": then.invalid_at if then else None,
            "session_id": then.session_id if then else None,
            "written_by": self.written_by,
            "written_at": self.written_at,
            "state_then": self.state_then,
            "state_now": self.state_now,
            "sources": self.sources,
            "references": self.references,
            "corroborations": self.corroborations,
            "reads": self.reads,
            "decisions": self.decisions,
        }


@dataclass(frozen=True, slots=True)
class ActionExplanation:
    """An action, the entries it rested on, and everything those were made of.

    `made_of` holds each source once, however many entries share it. `more` says that the walk
    stopped at its bound.
    """

    action_id: UUID
    kind: str
    at: datetime
    by: str
    reason: str
    entries: tuple[ExplainedEntry, ...]
    made_of: Mapping[UUID, ExplainedEntry] = field(default_factory=dict)
    more: bool = False

    def everything(self) -> Iterator[ExplainedEntry]:
        """The entries it rested on, then all that they were made of."""
        yield from self.entries
        yield from self.made_of.values()

    def as_data(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        data = {
            "action_id": self.action_id,
            "kind": self.kind,
            "at": self.at,
            "by": self.by,
            "reason": self.reason,
            "entries": [each.as_data() for each in self.entries],
            "made_of": [each.as_data() for each in self.made_of.values()],
            "more": self.more,
        }
        plain: dict[str, Any] = account.plain(data)
        return plain

    def explain(self) -> str:
        """The same as a text for people."""
        return "\n".join(account.lines(self))
