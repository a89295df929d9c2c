"""Quarantine in the database: what comes from a source, and what that source has done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import LedgerRecord, Origin, Scope
from idetic.store import templates
from idetic.store.entries import record
from idetic.store.held import Held
from idetic.store.holding import Holding

_FILE = "quarantine"
_PATH = "queries/quarantine.sql"
_NO_PARTS: Mapping[str, str] = {}
# What a column is compared with, by the part of a source that it tells.
_FITS = {
    "origin": "= %(origin)s::idetic.origin",
    "created_by": "= %(created_by)s::text",
    "session_id": "= %(session_id)s::uuid",
    "since": ">= %(since)s::timestamptz",
}


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
        behind = _fits(source, origin="l.origin", session_id="l.session_id", since="l.observed_at")
        if source.created_by is not None:
            behind += f" AND {_text('author')}"
        stated = _fits(
            source,
            origin="m.origin",
            created_by="m.created_by",
            session_id="m.session_id",
            since="m.created_at",
        )
        rows = await self.ask(
            _FILE, "sourced", {"behind": behind, "stated": stated}, **_values(source)
        )
        found = {row[0] for row in rows}
        if found:
            found |= {row[0] for row in await self.ask(_FILE, "derived", ids=sorted(found))}
        return found

    async def vouched(self, source: Source, but: Iterable[UUID]) -> list[tuple[UUID, UUID]]:
        """Corroborations that a source made of other entries: (corroboration, entry)."""
        if not self.family.spec.references.corroborations:
            return []
        spoken = _fits(
            source,
            origin="c.origin",
            created_by="c.corroborated_by",
            session_id="c.session_id",
            since="c.corroborated_at",
        )
        rows = await self.ask(
            _FILE, "vouched", {"spoken": spoken}, ids=sorted(but), **_values(source)
        )
        return [(row[0], row[1]) for row in rows]

    async def opposed(
        self, source: Source, but: Iterable[UUID]
    ) -> dict[UUID, set[tuple[str, str]]]:
        """The sources, by entry, that failed to confirm it and belong to this one."""
        said = _fits(
            source,
            origin="(l.detail ->> 'origin')::idetic.origin",
            created_by="l.actor_kind || ':' || l.actor",
            session_id="(l.detail ->> 'session')::uuid",
            since="l.at",
        )
        rows = await self.ask(_FILE, "opposed", {"said": said}, ids=sorted(but), **_values(source))
        found: dict[UUID, set[tuple[str, str]]] = {}
        for memory_id, kind, ref in rows:
            found.setdefault(memory_id, set()).add((kind, ref))
        return found

    async def replaced(self, ids: Iterable[UUID]) -> list[LedgerRecord]:
        """The links by which entries gave way to some others."""
        rows = await self.ask(_FILE, "replaced", {"link": _text("link")}, ids=sorted(ids))
        return [record(row) for row in rows]

    async def turned(self, ids: Iterable[UUID], transition: str) -> dict[UUID, LedgerRecord]:
        """The last link of one kind about each of some entries."""
        parts = {"link": _text("link")}
        rows = await self.ask(_FILE, "turned", parts, ids=sorted(ids), transition=transition)
        return {link.entry_id: link for row in rows if (link := record(row)).entry_id}

    async def quarantines(
        self, limit: int
    ) -> list[tuple[LedgerRecord, datetime | None, str | None, str | None]]:
        """The first link of each quarantine, newest first; when, by whom, why it was released."""
        rows = await self.ask(_FILE, "quarantines", {"link": _text("link")}, limit=limit)
        return [(record(row[:-3]), row[-3], row[-2], row[-1]) for row in rows]


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


def _fits(source: Source, **columns: str) -> str:
    """The conditions of a source on the columns that a table has for it."""
    given = _values(source)
    conditions = (f"{column} {_FITS[part]}" for part, column in columns.items() if part in given)
    return " AND ".join(["true", *conditions])


def _values(source: Source) -> dict[str, Any]:
    """The parts of a source that are given."""
    parts = ((name, getattr(source, name)) for name in _FITS)
    return {name: value for name, value in parts if value is not None}


def _text(query: str) -> str:
    return templates.query(_PATH, query)
