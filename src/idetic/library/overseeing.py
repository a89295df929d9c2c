"""How memory stands, in numbers, and the list behind each of them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from idetic.lifecycle.overview import OpenSession, Overview
from idetic.model import Entry, LedgerRecord, Scope, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.store.backlog import Job, JobState

if TYPE_CHECKING:
    from idetic.library.handles import Agent


class Overseeable:
    """What an operator looks at; nothing here changes anything."""

    agent: Agent
    scope: Scope

    async def overview(self, *, days: int = 30) -> Overview:
        """How memory stands: what it holds, what waits, what was refused. Numbers, no content."""
        return await self.agent.rooms.overviews.overview(self.scope, days)

    async def kept(
        self, state: RetentionState, *, limit: int = 100, before: UUID | None = None
    ) -> list[Entry]:
        """The entries in one retention state, newest first; `before` is a page's last id."""
        return await self.agent.rooms.listings.kept(self.scope, state, limit, before)

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
        return await self.agent.rooms.listings.written(
            self.scope, since, until, tier, typology, limit, before
        )

    async def unembedded(self, *, limit: int = 100, before: UUID | None = None) -> list[Entry]:
        """The entries that wait for a vector, newest first; `before` is a page's last id."""
        return await self.agent.rooms.listings.unembedded(self.scope, limit, before)

    async def refusals(
        self, *, since: datetime | None = None, until: datetime | None = None, limit: int = 100
    ) -> list[LedgerRecord]:
        """What the guard refused, newest first: who tried, when, over which canonical row."""
        return await self.agent.rooms.listings.refusals(self.scope, since, until, limit)

    async def jobs(
        self,
        *,
        task: str | None = None,
        state: JobState | None = None,
        limit: int = 100,
        after: int | None = None,
    ) -> list[Job]:
        """The background work of this scope that waits, runs or failed; `after` is a job's id."""
        return await self.agent.rooms.listings.jobs(self.scope, task, state, limit, after)

    async def sessions(self, *, limit: int = 100) -> list[OpenSession]:
        """The sessions that are open, with their open interactions, the newest first."""
        return await self.agent.rooms.listings.sessions(self.scope, limit)
