"""The explanation of an action: frozen nouns, and the same as plain data and as a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Corroboration, Relation
from idetic.model import Entry, LedgerRecord, Origin
from idetic.plain_data import plain

_GONE = "what it said went with its scope"
_EMPTIED = "its content was disposed of"
_THEN = "envelope tier typology origin trust valid_at invalid_at session_id".split()
_FIELDS = (
    "written_by written_at state_then state_now sources references corroborations reads decisions"
).split()


@dataclass(frozen=True, slots=True)
class EntrySource:
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
    sources: tuple[EntrySource, ...] = ()
    references: tuple[Reference, ...] = ()
    corroborations: tuple[Corroboration, ...] = ()
    reads: tuple[ReadReceipt, ...] = ()
    decisions: tuple[LedgerRecord, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON: of the entry as it stood, and of what is known about it."""
        then = self.then
        entry = {name: getattr(then, name, None) for name in _THEN}
        told = {name: getattr(self, name) for name in _FIELDS}
        text = then.body_text if then else None
        data: dict[str, Any] = plain({"id": self.id, "text": text, **entry, **told})
        return data


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
        names = ("action_id", "kind", "at", "by", "reason", "more")
        return {
            **{name: plain(getattr(self, name)) for name in names},
            "entries": [each.as_data() for each in self.entries],
            "made_of": [each.as_data() for each in self.made_of.values()],
        }

    def explain(self) -> str:
        """The same as a text for people."""
        return "\n".join(lines(self))


def lines(told: ActionExplanation) -> Iterator[str]:
    """An explained action as a text for people, line by line."""
    yield f"Action {told.action_id} ({told.kind}), {_time(told.at)}, by {told.by}: {told.reason}"
    count = len(told.entries)
    yield f"It rested on {count} {'entry' if count == 1 else 'entries'}."
    for number, each in enumerate(told.entries, start=1):
        yield ""
        yield f"{number}. Entry {each.id}"
        yield from (f"   {line}" for line in _entry(each))
    if told.made_of:
        yield ""
        yield "Made of:"
    for each in told.made_of.values():
        yield f"- Entry {each.id}"
        yield from (f"  {line}" for line in _entry(each))
    if told.more:
        yield "There is more behind these than is shown."


def _entry(each: ExplainedEntry) -> Iterator[str]:
    """The lines about one entry: what it said, where it came from, who saw it, what was decided."""
    then = each.then
    yield _GONE if then is None else f'"{then.body_text}"' if then.body_text else _EMPTIED
    place = (
        f"{then.tier} {then.typology}, origin {then.origin}, trust {then.trust}, " if then else ""
    )
    yield f"{place}written {_time(each.written_at)} by {each.written_by}"
    now = "" if each.state_now == each.state_then else f", {each.state_now} now"
    yield f"{each.state_then} then{now}"
    for source in each.sources:
        related = source.relation is not None
        where = f", {source.relation}, origin {source.origin}, trust {source.trust}"
        yield f"made of entry {source.entry_id}{where if related else ''}"
    for ref in each.references:
        pinned = "" if ref.version is None else f" version {ref.version}"
        since = f"; it is at version {ref.version_now} now" if ref.changed else ""
        yield f"refers to {ref.noun} {ref.id}{pinned}{since}"
    for one in each.corroborations:
        back = f", withdrawn {_time(one.withdrawn_at)}" if one.withdrawn_at else ""
        yield f"supported by {one.source_type} {one.source_ref}, {_time(one.at)}, by {one.by}{back}"
    for read in each.reads:
        where = f", session {read.session_id}" if read.session_id else ""
        yield f"shown to {read.by}, {_time(read.at)}{where}"
    for link in each.decisions:
        who = f"{link.actor_kind}:{link.actor}"
        said = f"{link.transition} ({link.decision}) by {who}: {link.reason}"
        yield f"decided at {link.position}, {_time(link.at)}: {said}"


def _time(at: datetime | None) -> str:
    """A moment to the second in UTC, also where it is unknown."""
    return "at a time unknown" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
