"""Erasure in the database: where a subject is named, and emptying what names it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from idetic.model import Scope
from idetic.store import templates
from idetic.store.disposal import notes, noun, row_id
from idetic.store.family import Family
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.pipeline import Rows

_FILE = "erasure"
_PATH = "queries/erasure.sql"
_NO_PARTS: Mapping[str, str] = {}
# Who acted, by table: not content, and part of what the chain vouches for.
_ACTORS = {
    "memory": "created_by",
    "actions": "linked_by",
    "reads": "read_by",
    "scopes": "opened_by",
}


@dataclass(frozen=True, slots=True)
class Note:
    """A note about an entry, in the table that holds it."""

    table: str
    row_id: UUID
    entry_id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class Going:
    """What an erasure takes: entries, single notes, digests of requests, keys that name it."""

    entries: Sequence[UUID]
    notes: Sequence[Note]
    digests: Sequence[int]
    keys: Sequence[int]
    events: Sequence[UUID] = ()
    operational: Sequence[UUID] = ()

    @property
    def found(self) -> bool:
        """Whether there is anything to take."""
        return any(map(len, (self.entries, self.notes, self.digests, self.keys, self.events,
                             self.operational)))  # fmt: skip


class Searched(Held):
    """One anchor, held to look for a subject everywhere and to empty what names it."""

    async def mentioned(self, runs: Sequence[str]) -> Rows:
        """Entries that may name the subject: the id and every text of each."""
        return await self._look("mentioned", _text("entry_text"), runs)

    async def derived(self, ids: Iterable[UUID]) -> list[UUID]:
        """What was made of some entries, however many steps away."""
        return [row[0] for row in await self.ask(_FILE, "derived", ids=list(ids))]

    async def notes(self, runs: Sequence[str]) -> list[Note]:
        """Notes that may name the subject, about whichever entry."""
        found: list[Note] = []
        each = [(table, one) for table, many in notes(self.family).items() for one in many]
        for table, column in each:
            parts = {**self._table(table), "column": column, "row_id": row_id(self.family, table)}
            rows = await self._look("noted", f"m.{column}", runs, parts)
            found += [Note(noun(self.family, table), *row) for row in rows]
        return found

    async def named(self, runs: Sequence[str]) -> Rows:
        """Columns that may name the subject and stay: (table, column, value, count).

        Of contextual provenance each name is told as a column.
        """
        found: Rows = []
        for table, column in _actors(self.family):
            parts = {**self._table(table), "column": column}
            rows = await self._look("named", f"m.{column}", runs, parts)
            found += [(noun(self.family, table), column, *row) for row in rows]
        for table in _provided(self.family):
            rows = await self._look("provided", "p.value", runs, self._table(table))
            found += [(noun(self.family, table), *row) for row in rows]
        return found

    async def told(self, runs: Sequence[str]) -> Rows:
        """Links that may name the subject: (position, reason, actor, detail)."""
        return await self._look("told", _text("told_text"), runs)

    async def keyed(self, runs: Sequence[str]) -> Rows:
        """Idempotency keys that may name the subject: (position, key)."""
        return await self._look("keyed", "m.idempotency_key", runs)

    async def logged(self, runs: Sequence[str]) -> Rows:
        """Events that may name the subject: the id, content and metadata of each."""
        if self.family.log_table is None:
            return []
        return await self._look("logged", _text("event_text"), runs)

    async def operational(self, runs: Sequence[str]) -> Rows:
        """Notes of the other persona that may name the subject: (id, body)."""
        if self.family.notes_table is None:
            return []
        return await self._look("operational", "m.body", runs)

    async def mirrored(self, events: Sequence[UUID], entries: Sequence[UUID]) -> Rows:
        """Pairs of (event, entry) in which either is among those given."""
        if self.family.log_table is None or not (events or entries):
            return []
        return await self.ask(_FILE, "mirrored", events=list(events), ids=list(entries))

    async def digests(self, ids: Sequence[UUID], rows: Sequence[UUID]) -> list[int]:
        """The positions of the keyed requests that wrote some entries or notes."""
        found = await self.ask(_FILE, "digests", ids=list(ids), rows=list(rows))
        return [row[0] for row in found]

    async def erase(self, going: Going) -> dict[str, list[str]]:
        """Empty it for good; what went, as ids by table."""
        rows = await self.ask(
            _FILE,
            "erase",
            ids=sorted(going.entries),
            moment=self.at,
            noted=sorted({note.entry_id for note in going.notes}),
            rows=[note.row_id for note in going.notes],
            digests=list(going.digests),
            keys=list(going.keys),
        )
        if going.events or going.operational:
            events, notes = list(going.events), list(going.operational)
            rows += await self.ask(_FILE, "erase_log", events=events, notes=notes)
        return {table: ids for table, ids in rows if ids}

    def _table(self, table: str) -> dict[str, str]:
        return {"table": self.family.qualified(table).as_string(None)}

    async def _look(
        self, query: str, text: str, runs: Sequence[str], parts: Mapping[str, str] = _NO_PARTS
    ) -> Rows:
        suspect = {"suspect": _text("suspect"), "text": text}
        return await self.ask(_FILE, query, {**parts, **suspect}, runs=[f"%{run}%" for run in runs])


class Searching(Holding):
    """Takes anchors of one family to erase from them."""

    @asynccontextmanager
    async def hold(self, scope: Scope, now: datetime) -> AsyncIterator[Searched]:
        """The anchor, locked until the block ends."""
        async with self._database.transaction(scope) as run:
            held = Searched(self._family, self._entries, self._extensions, scope, run, now)
            await held.take()
            yield held


def _actors(family: Family) -> Iterator[tuple[str, str]]:
    """The columns that say who acted, with their tables."""
    for table, column in _ACTORS.items():
        yield family.table_name(table), column
    if family.spec.references.corroborations:
        yield family.table_name("corroborations"), "corroborated_by"
    for canonical in family.spec.references.canonical:
        if canonical.contradictions:
            table = family.contradictions_table(canonical)
            yield from ((table, column) for column in ("observed_by", "resolved_by", "previous_by"))


def _provided(family: Family) -> Iterator[str]:
    """The tables that keep contextual provenance."""
    yield family.table_name("memory")
    yield family.table_name("lineage")
    if family.spec.references.corroborations:
        yield family.table_name("corroborations")
    for canonical in family.spec.references.canonical:
        yield family.refs_table(canonical)
        if canonical.contradictions:
            yield family.contradictions_table(canonical)


def _text(query: str) -> str:
    return templates.query(_PATH, query)
