"""What the numbers of an overview stand for: the entries, refusals and sessions themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Entry, LedgerRecord, Scope, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.store import templates
from idetic.store.database import Rows
from idetic.store.entries import record
from idetic.store.overview import Overseeing, Overseen
from idetic.store.templates import raw

FILE = "queries/listing.sql"


class Listed(Overseen):
    """One anchor, or those that an open scope reaches, listed. `before` is a page's last id."""

    async def kept(self, state: RetentionState, limit: int, before: UUID | None) -> list[Entry]:
        """The entries in one retention state."""
        return await self._listed("kept", state=state.value, limit=limit, before=before)

    async def written_within(
        self,
        since: datetime,
        until: datetime,
        tier: Tier | None,
        typology: Typology | None,
        limit: int,
        before: UUID | None,
    ) -> list[Entry]:
        """The entries that were written within some time, of one cell or of all."""
        return await self._listed(
            "written",
            since=since,
            until=until,
            tier=None if tier is None else tier.value,
            typology=None if typology is None else typology.value,
            limit=limit,
            before=before,
        )

    async def without_vector(self, limit: int, before: UUID | None) -> list[Entry]:
        """The entries that wait for a vector."""
        missing = {"without_vector": self._without_vector()}
        return await self._listed("unembedded", missing, limit=limit, before=before)

    async def refusals(
        self, since: datetime | None, until: datetime | None, limit: int
    ) -> list[LedgerRecord]:
        """What the guard refused."""
        rows = await self._read("refusals", since=since, until=until, limit=limit)
        return [record(row) for row in rows]

    async def sessions(self, limit: int) -> Rows:
        """The open sessions: (id, opened_at, opened_by, ids of open interactions)."""
        return await self._read("sessions", limit=limit)

    async def _listed(
        self, query: str, names: dict[str, Composable] | None = None, **values: Any
    ) -> list[Entry]:
        rows = await self._read(query, {"columns": self._columns, **(names or {})}, **values)
        return list(map(self._entries.entry, rows))

    async def _read(
        self, query: str, names: dict[str, Composable] | None = None, **values: Any
    ) -> Rows:
        literals = {name: sql.Literal(value) for name, value in values.items()}
        text = raw(templates.query(FILE, query))
        return await self._run(
            text.format(**(self._names | (names or {}) | literals)).as_string(None)
        )


class Listing(Overseeing):
    """Lists what anchors of one family hold."""

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Listed]:
        """The anchor's lists; nothing is locked."""
        async with self._database.transaction(scope) as run:
            yield Listed(self._family, self._entries, self._extensions, scope, run, now)
