"""Erasure in the database: where a subject is named, and emptying what names it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Scope
from idetic.store import templates
from idetic.store.database import Rows
from idetic.store.disposal import notes, noun, row_id
from idetic.store.family import Family
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.templates import raw

FILE = "queries/erasure.sql"
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


class Searched(Held):
    """One anchor, held to look for a subject everywhere and to empty what names it."""

    async def mentioned(self, runs: Sequence[str]) -> Rows:
        """Entries that may name the subject: the id and every text of each."""
        text = self._query("entry_text")
        return await self._look("mentioned", text, runs)

    async def derived(self, ids: Iterable[UUID]) -> list[UUID]:
        """What was made of some entries, however many steps away."""
        rows = await self._ask("derived", ids=sql.Literal(list(ids)))
        return [row[0] for row in rows]

    async def notes(self, runs: Sequence[str]) -> list[Note]:
        """Notes that may name the subject, about whichever entry."""
        found: list[Note] = []
        each = [(table, one) for table, many in notes(self.family).items() for one in many]
        for table, column in each:
            names = {
                "table": self.family.qualified(table),
                "column": sql.Identifier(column),
                "row_id": sql.Identifier(row_id(self.family, table)),
            }
            rows = await self._look("noted", sql.Identifier("m", column), runs, **names)
            found += [Note(noun(self.family, table), *row) for row in rows]
        return found

    async def named(self, runs: Sequence[str]) -> Rows:
        """Columns that may name the subject and stay: (table, column, value, count)."""
        found: Rows = []
        for table, column in _columns(self.family):
            found += await self._look(
                "named",
                raw("m.{}::text").format(sql.Identifier(column)),
                runs,
                table=self.family.qualified(table),
                place=sql.Literal(noun(self.family, table)),
                column=sql.Identifier(column),
                column_text=sql.Literal(column),
            )
        return found

    async def told(self, runs: Sequence[str]) -> Rows:
        """Links that may name the subject: (position, reason, actor, detail)."""
        return await self._look("told", self._query("told_text"), runs)

    async def keyed(self, runs: Sequence[str]) -> Rows:
        """Idempotency keys that may name the subject: (position, key)."""
        return await self._look("keyed", sql.Identifier("m", "idempotency_key"), runs)

    async def digests(self, ids: Sequence[UUID], rows: Sequence[UUID]) -> list[int]:
        """The positions of the keyed requests that wrote some entries or notes."""
        wanted = {"ids": _uuids(ids), "rows": _uuids(rows)}
        return [row[0] for row in await self._ask("digests", **wanted)]

    async def erase(self, going: Going) -> dict[str, list[str]]:
        """Empty it for good; what went, as ids by table."""
        rows = await self._ask(
            "erase",
            ids=_uuids(sorted(going.entries)),
            moment=sql.Literal(self.at),
            noted=_uuids(sorted({note.entry_id for note in going.notes})),
            rows=_uuids([note.row_id for note in going.notes]),
            digests=raw("{}::bigint[]").format(sql.Literal(list(going.digests))),
            keys=raw("{}::bigint[]").format(sql.Literal(list(going.keys))),
        )
        return {table: ids for table, ids in rows if ids}

    async def _look(
        self, query: str, text: Composable, runs: Sequence[str], **values: Composable
    ) -> Rows:
        patterns = sql.Literal([f"%{run}%" for run in runs])
        suspect = self._query("suspect", text=text, runs=patterns)
        return await self._ask(query, suspect=suspect, **values)

    async def _ask(self, query: str, **values: Composable) -> Rows:
        return await self._run(self._query(query, **values).as_string(None))

    def _query(self, query: str, **values: Composable) -> Composable:
        return raw(templates.query(FILE, query)).format(**(self._names | values))


class Searching(Holding):
    """Takes anchors of one family to erase from them."""

    @asynccontextmanager
    async def hold(self, scope: Scope, now: datetime) -> AsyncIterator[Searched]:
        """The anchor, locked until the block ends."""
        async with self._database.transaction(scope) as run:
            held = Searched(self._family, self._entries, self._extensions, scope, run, now)
            await held.take()
            yield held


def _columns(family: Family) -> Iterator[tuple[str, str]]:
    """The text columns that erasure does not change, with their tables."""
    spec = family.spec
    for table, column in _ACTORS.items():
        yield family.table_name(table), column
    provided = [family.table_name("memory"), family.table_name("lineage")]
    if spec.references.corroborations:
        provided.append(family.table_name("corroborations"))
        yield family.table_name("corroborations"), "corroborated_by"
    for canonical in spec.references.canonical:
        provided.append(family.refs_table(canonical))
        if canonical.contradictions:
            table = family.contradictions_table(canonical)
            provided.append(table)
            yield from ((table, column) for column in ("observed_by", "resolved_by", "previous_by"))
    for column in spec.anchor.provenance:
        yield from ((table, column) for table in provided)


def _uuids(ids: Sequence[Any]) -> Composable:
    return raw("{}::uuid[]").format(sql.Literal(list(ids)))
