"""Explanations of actions: the entries that each rested on, and who was shown an entry.

An entry is told as it stood at a link of its chain: what came after is taken back. Positions
decide, not times: two decisions can share a moment. State columns say what is, and hold one time
each; the links say what each of them was before (ADR 0009).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import EntryNotFound, NotFound
from idetic.evidence import Corroboration, Lineage, Relation
from idetic.model import Capability, Decision, Entry, LedgerRecord, Origin, Ref, plain
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import AUDIT, entries_by_id, histories, versions_now, went_into
from idetic.store.entries import column_value
from idetic.verbs.arguments import Cursor, Limit
from idetic.verbs.declaration import Paging, get, verb

# Far more than any action has behind it; a bound all the same.
MOST = 10_000
# What supersession on the write path changes; every other turn says itself what it changed.
_SUPERSEDED = {"superseded_at": None, "superseded_by": None}
_GONE = "what it said went with its scope"
_EMPTIED = "its content was disposed of"
_THEN = "envelope tier typology origin trust valid_at invalid_at session_id".split()
_FIELDS = "written_by written_at state_then state_now sources references corroborations".split()
_FIELDS += ["reads", "decisions", "imported"]


@dataclass(frozen=True, slots=True)
class EntrySource:
    """A source that an entry was made from; fields of deleted rows are None."""

    entry_id: UUID
    relation: Relation | None = None
    origin: Origin | None = None
    trust: int | None = None
    observed_at: datetime | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A canonical row that an entry refers to, with its pinned and its current version."""

    noun: str
    id: UUID
    version: int | None
    version_now: int | None

    @property
    def changed(self) -> bool:
        """Whether the current version differs from the pinned one."""
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
    """An action that rests on memory: its kind, time, author, reason and number of entries."""

    action_id: UUID
    kind: str
    at: datetime
    by: str
    entries: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExplainedEntry:
    """An entry as it was at a link of the chain; only fields that end in `_now` are about today.

    `then` is None for an entry that was dropped with its scope. The chain still names its author,
    its sources and the entries made from it, but not its text.
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

    @property
    def imported(self) -> bool:
        """Whether the entry came from an export."""
        return bool(self.decisions) and self.decisions[0].imported_at is not None

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        then = self.then
        entry = {name: getattr(then, name, None) for name in _THEN}
        about = {name: getattr(self, name) for name in _FIELDS}
        text = then.body_text if then else None
        data: dict[str, Any] = plain({"id": self.id, "text": text, **entry, **about})
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


def lines(action: ActionExplanation) -> Iterator[str]:
    """An explained action as a text for people, line by line."""
    about = f"({action.kind}), {_time(action.at)}, by {action.by}: {action.reason}"
    yield f"Action {action.action_id} {about}"
    count = len(action.entries)
    yield f"It rested on {count} {'entry' if count == 1 else 'entries'}."
    for number, each in enumerate(action.entries, start=1):
        yield ""
        yield f"{number}. Entry {each.id}"
        yield from (f"   {line}" for line in _entry(each))
    if action.made_of:
        yield ""
        yield "Made of:"
    for each in action.made_of.values():
        yield f"- Entry {each.id}"
        yield from (f"  {line}" for line in _entry(each))
    if action.more:
        yield "There is more behind these than is shown."


def _entry(each: ExplainedEntry) -> Iterator[str]:
    """The lines about one entry: what it said, where it came from, who saw it, what was decided."""
    then = each.then
    yield _GONE if then is None else f'"{then.body_text}"' if then.body_text else _EMPTIED
    place = f"{then.tier} {then.typology}, origin {then.origin}, " if then else ""
    place += f"trust {then.trust}, " if then else ""
    source_note = ", as an import says" if each.imported else ""
    yield f"{place}written {_time(each.written_at)} by {each.written_by}{source_note}"
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
        decision = f"{link.transition} ({link.decision}) by {who}: {link.reason}"
        source_note = "" if link.imported_at is None else f" (imported at {link.imported_at})"
        yield f"decided at {link.position}, {_time(link.at)}: {decision}{source_note}"


def _time(at: datetime | None) -> str:
    """A moment to the second in UTC, also where it is unknown."""
    return "at a time unknown" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/actions", "auditing", page=Paging("actions", lambda one: one.action_id)),
)
async def actions(
    binding: Binding, *, limit: Limit = 100, before: Cursor = None
) -> list[ActionRecord]:
    """List the actions that rest on this memory, newest first; `before` is the last id seen."""
    async with binding.look() as tx:
        rows = await tx.ask(AUDIT, "actions", before=before, limit=limit)
        return [ActionRecord(*row) for row in rows]


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/entries/{entry_id}/readers", "auditing"),
)
async def readers(binding: Binding, entry_id: UUID, *, limit: Limit = 100) -> list[ReadReceipt]:
    """List who was shown an entry, newest first."""
    async with binding.look() as tx:
        rows = await tx.ask(AUDIT, "readers", entry_id=entry_id, limit=limit)
        if not rows and not await histories(tx, [entry_id]):
            raise EntryNotFound
        return [ReadReceipt(*row) for row in rows]


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/actions/{action_id}/explanation", "auditing"),
    command="explain",
    examples=("idetic explain ACTION_ID {scope}",),
)
async def explain_action(binding: Binding, action_id: UUID) -> ActionExplanation:
    """Show the entries that an action rested on, as they were then, and their sources."""
    ground = _Ground()
    async with binding.look() as tx:
        rows = await tx.ask(AUDIT, "action", action_id=action_id)
        if not rows:
            raise NotFound("There is no such action in this scope.")
        cuts = {entry_id: position for entry_id, _, _, _, position, _ in rows}
        moments = {position: at for _, _, at, _, position, _ in rows}
        more = await ground.gather(tx, cuts, max(moments.values()))
    explained = {one: ground.explained(one, cut, moments[cut]) for one, cut in cuts.items()}
    _, kind, at, by, _, reason = rows[0]
    entries = tuple(explained.pop(row[0]) for row in rows)
    return ActionExplanation(action_id, kind, at, by, reason or "", entries, explained, more)


@dataclass(slots=True)
class _Ground:
    """What was read about entries: rows as they are now, to be seen as they were."""

    entries: dict[UUID, Entry] = field(default_factory=dict)
    histories: dict[UUID, list[LedgerRecord]] = field(default_factory=dict)
    went: dict[UUID, list[tuple[UUID, int]]] = field(default_factory=dict)
    lineage: dict[UUID, list[Lineage]] = field(default_factory=dict)
    corroborations: dict[UUID, list[Corroboration]] = field(default_factory=dict)
    reads: dict[UUID, list[ReadReceipt]] = field(default_factory=dict)
    versions: dict[tuple[str, UUID], int] = field(default_factory=dict)

    async def gather(self, tx: AnchorTransaction, cuts: dict[UUID, int], last: datetime) -> bool:
        """Read level by level: the entries, what those were made of, and so on; into `cuts` too.

        A source is seen as of the latest of the entries that it went into. Says whether there is
        more than the bound.
        """
        level = list(cuts)
        while level:
            await self._read(tx, level, last)
            sources: dict[UUID, int] = {}
            for entry_id in level:
                for source in self._sources(entry_id, cuts[entry_id]):
                    if source not in cuts:
                        sources[source] = max(sources.get(source, 0), cuts[entry_id])
            if len(cuts) + len(sources) > MOST:
                return True
            cuts |= sources
            level = list(sources)
        return False

    async def _read(self, tx: AnchorTransaction, ids: Sequence[UUID], last: datetime) -> None:
        """Read all that the explanation tells of these entries, a query for each kind of it."""
        entries = await entries_by_id(tx, ids)
        self.entries |= entries
        self.histories |= await histories(tx, ids)
        self.went |= await went_into(tx, ids)
        self.lineage |= await tx.lineage(ids)
        self.corroborations |= await tx.corroborations(ids)
        reads = await tx.ask(AUDIT, "shown", ids=list(ids), moment=last, limit=MOST)
        for entry_id, *receipt in reads:
            self.reads.setdefault(entry_id, []).append(ReadReceipt(*receipt))
        by_noun: dict[str, set[UUID]] = {}
        for ref in (ref for entry in entries.values() for ref in entry.refs):
            by_noun.setdefault(ref.noun, set()).add(ref.id)
        for noun, ids_of_noun in by_noun.items():
            now = await versions_now(tx, noun, ids_of_noun)
            self.versions |= {(noun, ref_id): version for ref_id, version in now.items()}

    def explained(self, entry_id: UUID, cut: int, moment: datetime) -> ExplainedEntry:
        """One entry as it stood at a position and a moment."""
        whole = self.histories.get(entry_id, [])
        history = self._upto(entry_id, cut)
        entry = self.entries.get(entry_id)
        first = history[0] if history else None
        rows = {one.source_id: one for one in self.lineage.get(entry_id, ())}
        refs = entry.refs if entry else _refs_of_links(history)
        reads = self.reads.get(entry_id, ())
        return ExplainedEntry(
            id=entry_id,
            then=None if entry is None else entry_at(entry, whole, cut),
            written_by=f"{first.actor_kind}:{first.actor}" if first else "somebody unknown",
            written_at=first.at if first else None,
            state_then=_state_of(history),
            state_now=_state_of(whole),
            sources=tuple(_source(one, rows.get(one)) for one in self._sources(entry_id, cut)),
            references=tuple(
                Reference(r.noun, r.id, r.version, self.versions.get((r.noun, r.id))) for r in refs
            ),
            corroborations=corroborations_at(self.corroborations.get(entry_id, ()), history),
            reads=tuple(one for one in reads if one.at <= moment),
            decisions=history,
        )

    def _upto(self, entry_id: UUID, cut: int) -> tuple[LedgerRecord, ...]:
        """The links of an entry's history up to a position."""
        return tuple(link for link in self.histories.get(entry_id, ()) if link.position <= cut)

    def _sources(self, entry_id: UUID, cut: int) -> list[UUID]:
        """What an entry was made of by a position, by the links that say so; each source once.

        What left with its scope for this entry is among them, once the chain says so.
        """
        history = self._upto(entry_id, cut)
        named = [UUID(one) for link in history for one in link.detail.get("sources", ())]
        went = (one for one, at in self.went.get(entry_id, ()) if at <= cut)
        return list(dict.fromkeys([*named, *went]))


def _source(source_id: UUID, row: Lineage | None) -> EntrySource:
    """A source of an entry, with what its lineage says if that is still there."""
    if row is None:
        return EntrySource(source_id)
    place = (row.observed_at, row.session_id)
    return EntrySource(source_id, row.relation, row.origin, row.trust, *place)


def _refs_of_links(history: Sequence[LedgerRecord]) -> tuple[Ref, ...]:
    """The references of an entry that is gone, as its first link names them."""
    named: list[dict[str, Any]] = [ref for link in history for ref in link.detail.get("refs", ())]
    return tuple(Ref(ref["noun"], UUID(ref["id"]), ref["version"]) for ref in named)


def _state_of(history: Sequence[LedgerRecord]) -> str | None:
    """The last state that a history says."""
    states = (link.state_to for link in reversed(history) if link.state_to is not None)
    return next(states, None)


def entry_at(entry: Entry, history: Sequence[LedgerRecord], position: int) -> Entry:
    """The entry as it stood after the link at a position."""
    for link in reversed(history):
        if link.position > position and link.decision not in (Decision.NOOP, Decision.REJECT):
            was = link.detail.get("was")
            if was is None:
                was = _SUPERSEDED if link.transition == "superseded" else {}
            then = {column: column_value(column, old) for column, old in was.items()}
            entry = replace(entry, **then)
    return entry


def corroborations_at(
    rows: Iterable[Corroboration], history: Sequence[LedgerRecord]
) -> tuple[Corroboration, ...]:
    """What supported an entry by then, each withdrawn only if it was by then."""
    counting: set[str | None] = set()
    withdrawn: dict[str | None, datetime] = {}
    for link in history:
        corroboration = link.detail.get("corroboration")
        if link.transition == "corroborated" and link.decision is not Decision.NOOP:
            counting.add(corroboration)
        elif link.transition == "undone":
            withdrawn[corroboration] = link.at
    stood = (one for one in rows if str(one.id) in counting)
    return tuple(replace(one, withdrawn_at=withdrawn.get(str(one.id))) for one in stood)
