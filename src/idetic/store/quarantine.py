"""Quarantine in the database: what comes from a source, and what that source has done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import LedgerRecord, Origin, Scope
from idetic.store import templates
from idetic.store.database import Rows
from idetic.store.entries import record
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.scope import anchor_equals
from idetic.store.templates import raw

FILE = "queries/quarantine.sql"


@dataclass(frozen=True, slots=True)
class Source:
    """Where something came from: every part that is given must fit."""

    origin: Origin | None = None
    created_by: str | None = None
    session_id: UUID | None = None
    since: datetime | None = None


class Sourced(Held):
    """One anchor, held to take a source and what it did out of it."""

    async def sourced(self, source: Source) -> set[UUID]:
        """Entries in any state that come from a source, and all that was made of them."""
        behind = _fits(
            source,
            origin=raw("l.origin"),
            session_id=raw("l.session_id"),
            since=raw("l.observed_at"),
        )
        if source.created_by is not None:
            behind.append(self._query("author", created_by=sql.Literal(source.created_by)))
        stated = _fits(
            source,
            origin=raw("m.origin"),
            created_by=raw("m.created_by"),
            session_id=raw("m.session_id"),
            since=raw("m.created_at"),
        )
        rows = await self._ask("sourced", behind=_all(behind), stated=_all(stated))
        found = {row[0] for row in rows}
        if found:
            found |= {row[0] for row in await self._ask("derived", ids=_uuids(found))}
        return found

    async def vouched(self, source: Source, but: Iterable[UUID]) -> list[tuple[UUID, UUID]]:
        """Corroborations that a source made of other entries: (corroboration, entry)."""
        if not self.family.spec.references.corroborations:
            return []
        spoken = _fits(
            source,
            origin=raw("c.origin"),
            created_by=raw("c.corroborated_by"),
            session_id=raw("c.session_id"),
            since=raw("c.corroborated_at"),
        )
        rows = await self._ask("vouched", ids=_uuids(but), spoken=_all(spoken))
        return [(row[0], row[1]) for row in rows]

    async def opposed(
        self, source: Source, but: Iterable[UUID]
    ) -> dict[UUID, set[tuple[str, str]]]:
        """The sources, by entry, that failed to confirm it and belong to this one."""
        said = _fits(
            source,
            origin=raw("(l.detail ->> 'origin')::idetic.origin"),
            created_by=raw("l.actor_kind || ':' || l.actor"),
            session_id=raw("(l.detail ->> 'session')::uuid"),
            since=raw("l.at"),
        )
        found: dict[UUID, set[tuple[str, str]]] = {}
        for memory_id, kind, ref in await self._ask("opposed", ids=_uuids(but), said=_all(said)):
            found.setdefault(memory_id, set()).add((kind, ref))
        return found

    async def replaced(self, ids: Iterable[UUID]) -> list[LedgerRecord]:
        """The links by which entries gave way to some others."""
        rows = await self._ask("replaced", ids=_uuids(ids), link=self._query("link"))
        return [record(row) for row in rows]

    async def turned(self, ids: Iterable[UUID], transition: str) -> dict[UUID, LedgerRecord]:
        """The last link of one kind about each of some entries."""
        rows = await self._ask(
            "turned", ids=_uuids(ids), transition=sql.Literal(transition), link=self._query("link")
        )
        return {link.entry_id: link for row in rows if (link := record(row)).entry_id}

    async def quarantines(
        self, limit: int
    ) -> list[tuple[LedgerRecord, datetime | None, str | None, str | None]]:
        """The first link of each quarantine, newest first; when, by whom, why it was released."""
        same = {f"anchor_{a}_is_l": anchor_equals(self.family.keys, a, "l") for a in ("k", "r")}
        rows = await self._ask(
            "quarantines", limit=sql.Literal(limit), link=self._query("link"), **same
        )
        return [(record(row[:-3]), row[-3], row[-2], row[-1]) for row in rows]

    async def _ask(self, query: str, **values: Composable) -> Rows:
        return await self._run(self._query(query, **values).as_string(None))

    def _query(self, query: str, **values: Composable) -> Composable:
        return raw(templates.query(FILE, query)).format(**(self._names | values))


class Sourcing(Holding):
    """Takes anchors of one family to roll a source back."""

    @asynccontextmanager
    async def hold(self, scope: Scope, now: datetime) -> AsyncIterator[Sourced]:
        """The anchor, locked until the block ends."""
        async with self.look(scope, now) as held:
            await held.take()
            yield held

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Sourced]:
        """The same reads without the lock."""
        async with self._database.transaction(scope) as run:
            yield Sourced(self._family, self._entries, self._extensions, scope, run, now)


def _fits(source: Source, **columns: Composable) -> list[Composable]:
    """The conditions of a source on the columns that a table has for it."""
    values: Mapping[str, object] = {
        "origin": None if source.origin is None else source.origin.value,
        "created_by": source.created_by,
        "session_id": source.session_id,
        "since": source.since,
    }
    return [
        raw("{} {} {}").format(
            column, raw(">=" if part == "since" else "="), sql.Literal(values[part])
        )
        for part, column in columns.items()
        if values[part] is not None
    ]


def _all(conditions: list[Composable]) -> Composable:
    return raw("({})").format(raw(" AND ").join([raw("true"), *conditions]))


def _uuids(ids: Iterable[UUID]) -> Composable:
    return raw("{}::uuid[]").format(sql.Literal(sorted(ids)))
