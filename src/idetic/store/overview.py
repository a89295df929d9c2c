"""An anchor at a glance: how much there is, what waits, what was refused. Numbers, no content."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Scope
from idetic.store import decay, templates
from idetic.store.canonical import canonical_names
from idetic.store.database import Rows
from idetic.store.retention import Retained, Retaining
from idetic.store.templates import raw

FILE = "queries/overview.sql"


class Overseen(Retained):
    """One anchor, or those that an open scope reaches, counted."""

    async def cells(self) -> Rows:
        """Current entries by cell: (tier, typology, all of them, candidates)."""
        return await self._count("cells", live=self.compose("live"))

    async def written(self, since: datetime) -> Rows:
        """Entries by the day they were written: (day, tier, typology, count)."""
        return await self._count("written", since=sql.Literal(since))

    async def refused(self, since: datetime) -> Rows:
        """Refusals by day: (day, reason, count)."""
        return await self._count("refused", since=sql.Literal(since))

    async def unembedded(self) -> tuple[int, datetime | None]:
        """How many entries wait for a vector, and since when the first of them does."""
        ((count, since),) = await self._count("unembedded", without_vector=self._without_vector())
        return count, since

    def _without_vector(self) -> Composable:
        return raw(templates.query(FILE, "without_vector")).format(**self._names)

    async def due(self) -> int:
        """How many entries wait for a disposition."""
        return await self._number(
            "due",
            live=self.compose("live"),
            due=decay.due(self.family, self.scope),
            moment=sql.Literal(self.at),
        )

    async def contradicted(self, status: Sequence[str]) -> int:
        """How many contradictions are in one of some states."""
        wanted = sql.Literal(list(status))
        return sum(
            [
                await self._number(
                    "contradicted", **canonical_names(self.family, canonical), status=wanted
                )
                for canonical in self.family.spec.references.canonical
                if canonical.contradictions
            ]
        )

    async def _number(self, query: str, **values: Composable) -> int:
        ((count,),) = await self._count(query, **values)
        return int(count)

    async def _count(self, query: str, **values: Composable) -> Rows:
        text = raw(templates.query(FILE, query)).format(**(self._names | values))
        return await self._run(text.as_string(None))


class Overseeing(Retaining):
    """Looks at anchors of one family."""

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Overseen]:
        """The anchor's numbers; nothing is locked."""
        async with self._database.transaction(scope) as run:
            yield Overseen(self._family, self._entries, self._extensions, scope, run, now)
