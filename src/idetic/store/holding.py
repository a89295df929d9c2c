"""Taking an anchor: with its lock, to decide and write; or without, only to know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.evidence import Disposition, DispositionCause
from idetic.model import Scope
from idetic.store import decay, templates
from idetic.store.compiler import Extensions
from idetic.store.database import Database, Rows
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.held import Held
from idetic.store.queue import Marks
from idetic.store.scans import FILE, statement_names
from idetic.store.templates import raw


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
        rows = await self.rows(
            scope,
            "due",
            columns=self._entries.columns(scope),
            cause=decay.cause(self._family.spec),
            pressure=decay.pressure(self._family, scope, sql.Literal(moment)),
            due=decay.due(self._family, scope),
            live=raw(templates.query(FILE, "live")),
            moment=sql.Literal(moment),
            limit=sql.Literal(limit),
        )
        return [
            Disposition(self._entries.entry(row[3:]), DispositionCause(row[0]), row[1], row[2])
            for row in rows
        ]

    async def mark(self, scope: Scope, kind: str, position: int, at: datetime) -> None:
        """Note how far a kind of background work has come in an anchor."""
        await Marks(self._database, self._family.spec).mark(scope, kind, position, at)

    async def renew(self, scope: Scope, ids: list[UUID], at: datetime) -> list[UUID]:
        """Extend the leases of open scopes; those that were open."""
        wanted = {"ids": sql.Literal(ids), "moment": sql.Literal(at)}
        return [row[0] for row in await self.rows(scope, "renew", **wanted)]

    async def silent(self, scope: Scope, since: datetime, limit: int) -> list[UUID]:
        """Open sessions in which nothing happened since a moment."""
        wanted = {"moment": sql.Literal(since), "limit": sql.Literal(limit)}
        return [row[0] for row in await self.rows(scope, "silent", **wanted)]

    async def silent_interactions(
        self, scope: Scope, since: datetime, limit: int
    ) -> list[tuple[UUID, UUID]]:
        """Open interactions, with their session, in which nothing happened since a moment."""
        wanted = {"moment": sql.Literal(since), "limit": sql.Literal(limit)}
        rows = await self.rows(scope, "silent_interactions", **wanted)
        return [(row[0], row[1]) for row in rows]

    async def rows(self, scope: Scope, query: str, **values: Composable) -> Rows:
        """A query of the lifecycle without holding anything."""
        names = statement_names(self._family, scope) | values
        text = raw(templates.query(FILE, query)).format(**names).as_string(None)
        return await self._database.run(scope, text)
