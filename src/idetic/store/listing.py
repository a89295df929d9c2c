"""What the numbers of an overview stand for: the entries, refusals and sessions themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import Entry, LedgerRecord, Scope, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.store.entries import record
from idetic.store.overview import Overseeing, Overseen, without_vector
from idetic.store.pipeline import Rows

_FILE = "listing"
_NO_PARTS: Mapping[str, str] = {}


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
        missing = {"without_vector": without_vector()}
        return await self._listed("unembedded", missing, limit=limit, before=before)

    async def refusals(
        self, since: datetime | None, until: datetime | None, limit: int
    ) -> list[LedgerRecord]:
        """What the guard refused."""
        rows = await self.ask(_FILE, "refusals", since=since, until=until, limit=limit)
        return [record(row) for row in rows]

    async def sessions(self, limit: int) -> Rows:
        """The open sessions: (id, opened_at, opened_by, ids of open interactions)."""
        return await self.ask(_FILE, "sessions", limit=limit)

    async def _listed(
        self, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> list[Entry]:
        columns = {"columns": self._entries.columns(self.scope)}
        rows = await self.ask(_FILE, query, {**parts, **columns}, **values)
        return [self._entries.entry(self.scope, row) for row in rows]


class Listing(Overseeing):
    """Lists what anchors of one family hold."""

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Listed]:
        """The anchor's lists; nothing is locked."""
        async with self._database.transaction(scope) as run:
            yield Listed(self._family, self._entries, self._extensions, scope, run, now)
