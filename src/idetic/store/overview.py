"""An anchor at a glance: how much there is, what waits, what was refused. Numbers, no content."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from idetic.model import Scope
from idetic.store import entry_sql, templates
from idetic.store.family import canonical_names
from idetic.store.pipeline import Rows
from idetic.store.retention import Retained, Retaining

_FILE = "overview"
_NO_PARTS: Mapping[str, str] = {}


class Overseen(Retained):
    """One anchor, or those that an open scope reaches, counted."""

    async def cells(self) -> Rows:
        """Current entries by cell: (tier, typology, all of them, candidates)."""
        return await self.ask(_FILE, "cells")

    async def written(self, since: datetime) -> Rows:
        """Entries by the day they were written: (day, tier, typology, count)."""
        return await self.ask(_FILE, "written", since=since)

    async def refused(self, since: datetime) -> Rows:
        """Refusals by day: (day, reason, count)."""
        return await self.ask(_FILE, "refused", since=since)

    async def unembedded(self) -> tuple[int, datetime | None]:
        """How many entries wait for a vector, and since when the first of them does."""
        ((count, since),) = await self.ask(
            _FILE, "unembedded", {"without_vector": without_vector()}
        )
        return count, since

    async def due(self) -> int:
        """How many entries wait for a disposition."""
        parts = {"due": entry_sql.due(self.family, self.scope)}
        return await self._number("due", parts, moment=self.at)

    async def contradicted(self, status: Sequence[str]) -> int:
        """How many contradictions are in one of some states."""
        return sum(
            [
                await self._number(
                    "contradicted", canonical_names(self.family, canonical), status=list(status)
                )
                for canonical in self.family.spec.references.canonical
                if canonical.contradictions
            ]
        )

    async def _number(self, query: str, parts: Mapping[str, str], **values: Any) -> int:
        ((count,),) = await self.ask(_FILE, query, parts, **values)
        return int(count)


class Overseeing(Retaining):
    """Looks at anchors of one family."""

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Overseen]:
        """The anchor's numbers; nothing is locked."""
        async with self._database.transaction(scope) as run:
            yield Overseen(self._family, self._entries, self._extensions, scope, run, now)


def without_vector() -> str:
    """The condition that an entry called m waits for a vector."""
    return templates.query("queries/overview.sql", "without_vector")
