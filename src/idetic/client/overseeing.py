"""How memory stands, over HTTP: its numbers, and the list behind each of them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from idetic.client.line import Line
from idetic.client.questions import Page
from idetic.lifecycle.overview import OpenSession, Overview
from idetic.model import Entry, LedgerRecord, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.store.backlog import Job, JobState


class RemoteOverseeing:
    """What an operator looks at; nothing here changes anything."""

    _line: Line

    async def overview(self, *, days: int = 30) -> Overview:
        """How memory stands: what it holds, what waits, what was refused. Numbers, no content."""
        return await self._line.read("/v1/overview", Overview, {"days": days})

    async def kept(
        self, state: RetentionState, *, limit: int = 100, before: UUID | None = None
    ) -> list[Entry]:
        """The entries in one retention state, newest first; `before` is a page's last id."""
        asked = {"state": state, "limit": limit, "cursor": before}
        page = await self._line.read("/v1/kept", Page, asked)
        return list(page.entries)

    async def written(
        self,
        since: datetime,
        until: datetime,
        *,
        tier: Tier | None = None,
        typology: Typology | None = None,
        limit: int = 100,
        before: UUID | None = None,
    ) -> list[Entry]:
        """The entries that were written from one moment up to another, whatever became of them."""
        asked = {
            "since": since,
            "until": until,
            "tier": tier,
            "typology": typology,
            "limit": limit,
            "cursor": before,
        }
        page = await self._line.read("/v1/written", Page, asked)
        return list(page.entries)

    async def unembedded(self, *, limit: int = 100, before: UUID | None = None) -> list[Entry]:
        """The entries that wait for a vector, newest first; `before` is a page's last id."""
        page = await self._line.read("/v1/unembedded", Page, {"limit": limit, "cursor": before})
        return list(page.entries)

    async def refusals(
        self, *, since: datetime | None = None, until: datetime | None = None, limit: int = 100
    ) -> list[LedgerRecord]:
        """What the guard refused, newest first: who tried, when, over which canonical row."""
        asked = {"since": since, "until": until, "limit": limit}
        return await self._line.read("/v1/refusals", list[LedgerRecord], asked)

    async def jobs(
        self,
        *,
        task: str | None = None,
        state: JobState | None = None,
        limit: int = 100,
        after: int | None = None,
    ) -> list[Job]:
        """The background work of this scope that waits, runs or failed; `after` is a job's id."""
        asked = {"task": task, "state": state, "limit": limit, "after": after}
        return await self._line.read("/v1/jobs", list[Job], asked)

    async def sessions(self, *, limit: int = 100) -> list[OpenSession]:
        """The sessions that are open, with their open interactions, the newest first."""
        return await self._line.read("/v1/sessions", list[OpenSession], {"limit": limit})
