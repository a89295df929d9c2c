"""Taking an anchor: with its lock, to decide and write; or without, only to know."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Disposition, DispositionCause
from idetic.model import Scope
from idetic.store import entry_sql
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.held import Held
from idetic.store.pipeline import Rows
from idetic.store.queue import Marks
from idetic.store.scans import FILE

_NO_PARTS: Mapping[str, str] = {}


class Holding:
    """Takes anchors of one family and gives them to a pass."""

    def __init__(
        self, database: Database, family: Family, entries: Entries, extensions: Extensions
    ):
        self._database = database
        self._family = family
        self._entries = entries
        self._extensions = extensions

    @asynccontextmanager
    async def hold(self, scope: Scope, now: datetime) -> AsyncIterator[Held]:
        """The anchor, locked until the block ends; then all of it is committed, or nothing."""
        async with self._database.transaction(scope) as run:
            held = Held(self._family, self._entries, self._extensions, scope, run, now)
            await held.take()
            yield held

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Held]:
        """The same reads without the lock: for those who only want to know."""
        async with self._database.transaction(scope) as run:
            yield Held(self._family, self._entries, self._extensions, scope, run, now)

    async def due(self, scope: Scope, moment: datetime, limit: int) -> list[Disposition]:
        """The disposition queue of the scope, the hardest pressed first."""
        parts = {
            "columns": self._entries.columns(scope),
            "cause": entry_sql.cause(self._family.spec),
            "pressure": entry_sql.pressure(self._family, scope, "%(moment)s"),
            "due": entry_sql.due(self._family, scope),
        }
        rows = await self.rows(scope, "due", parts, moment=moment, limit=limit)
        return [
            Disposition(
                self._entries.entry(scope, row[3:]), DispositionCause(row[0]), row[1], row[2]
            )
            for row in rows
        ]

    async def mark(self, scope: Scope, kind: str, position: int, at: datetime) -> None:
        """Note how far a kind of background work has come in an anchor."""
        await Marks(self._database, self._family).mark(scope, kind, position, at)

    async def renew(self, scope: Scope, ids: list[UUID], at: datetime) -> list[UUID]:
        """Extend the leases of open scopes; those that were open."""
        return [row[0] for row in await self.rows(scope, "renew", ids=ids, moment=at)]

    async def silent(self, scope: Scope, since: datetime, limit: int) -> list[UUID]:
        """Open sessions in which nothing happened since a moment."""
        rows = await self.rows(scope, "silent", moment=since, limit=limit)
        return [row[0] for row in rows]

    async def silent_interactions(
        self, scope: Scope, since: datetime, limit: int
    ) -> list[tuple[UUID, UUID]]:
        """Open interactions, with their session, in which nothing happened since a moment."""
        rows = await self.rows(scope, "silent_interactions", moment=since, limit=limit)
        return [(row[0], row[1]) for row in rows]

    async def rows(
        self, scope: Scope, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> Rows:
        """A query of the lifecycle without holding anything."""
        call = self._family.call(FILE, query, scope, parts, **values)
        return await self._database.run(scope, call.statement, call.values)
