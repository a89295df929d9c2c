"""The lists behind the overview's numbers: entries, refusals, jobs; and which sessions are open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from idetic.errors import InputError
from idetic.model import Capability, Entry, LedgerRecord, Scope, Tier, Typology
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.retention import RetentionState
from idetic.store.backlog import Job, JobState
from idetic.store.listing import Listing
from idetic.store.queue import Queue
from idetic.verbs.arguments import check_moment, check_uuid
from idetic.verbs.authorization import require

MAX_LISTED = 1_000
MAX_JOB = 2**63 - 1


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that nobody closed yet, and its open interactions."""

    id: UUID
    opened_at: datetime
    opened_by: str
    interactions: tuple[UUID, ...] = ()


class Listings:
    """Lists what one agent's memory holds and waits for, for whoever may read it."""

    def __init__(self, spec: MemorySpec, listing: Listing, queue: Queue, clock: Clock):
        self._spec = spec
        self._listing = listing
        self._queue = queue
        self._clock = clock

    async def kept(
        self, scope: Scope, state: RetentionState, limit: int, before: UUID | None
    ) -> list[Entry]:
        """The entries in one retention state, newest first."""
        require(self._spec, scope, Capability.READ)
        wanted = _member(RetentionState, state, "state")
        last = _cursor(before)
        async with self._listing.look(scope, self._clock.now()) as listed:
            return await listed.kept(wanted, _limit(limit), last)

    async def written(
        self,
        scope: Scope,
        since: datetime,
        until: datetime,
        tier: Tier | None,
        typology: Typology | None,
        limit: int,
        before: UUID | None,
    ) -> list[Entry]:
        """The entries that were written within some time, newest first."""
        require(self._spec, scope, Capability.READ)
        if check_moment(since, "since") is None or check_moment(until, "until") is None:
            raise InputError("written needs two moments, `since` and `until`.")
        cell = (
            None if tier is None else _member(Tier, tier, "tier"),
            None if typology is None else _member(Typology, typology, "typology"),
        )
        last = _cursor(before)
        async with self._listing.look(scope, self._clock.now()) as listed:
            return await listed.written_within(since, until, *cell, _limit(limit), last)

    async def unembedded(self, scope: Scope, limit: int, before: UUID | None) -> list[Entry]:
        """The entries that wait for a vector, newest first."""
        require(self._spec, scope, Capability.READ)
        last = _cursor(before)
        async with self._listing.look(scope, self._clock.now()) as listed:
            return await listed.without_vector(_limit(limit), last)

    async def refusals(
        self, scope: Scope, since: datetime | None, until: datetime | None, limit: int
    ) -> list[LedgerRecord]:
        """What the guard refused, newest first."""
        require(self._spec, scope, Capability.READ)
        check_moment(since, "since")
        check_moment(until, "until")
        async with self._listing.look(scope, self._clock.now()) as listed:
            return await listed.refusals(since, until, _limit(limit))

    async def sessions(self, scope: Scope, limit: int) -> list[OpenSession]:
        """The sessions that are open, the newest first."""
        require(self._spec, scope, Capability.READ)
        async with self._listing.look(scope, self._clock.now()) as listed:
            rows = await listed.sessions(_limit(limit))
        return [OpenSession(id_, at, by, tuple(inner)) for id_, at, by, inner in rows]

    async def jobs(
        self, scope: Scope, task: str | None, state: JobState | None, limit: int, after: int | None
    ) -> list[Job]:
        """The background work that waits, runs or failed for this scope, oldest first."""
        require(self._spec, scope, Capability.READ)
        wanted = None if state is None else _member(JobState, state, "state")
        if after is not None and (type(after) is not int or not 0 <= after <= MAX_JOB):
            raise InputError("after is the id of a job.")
        return await self._queue.jobs(scope, task, wanted, _limit(limit), after)


def _member(kind: type[StrEnum], value: Any, what: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{what} is one of {', '.join(kind)}.") from None


def _cursor(before: object) -> UUID | None:
    return None if before is None else check_uuid(before, "before")


def _limit(limit: object) -> int:
    if type(limit) is not int or not 1 <= limit <= MAX_LISTED:
        raise InputError(f"limit is a whole number from 1 to {MAX_LISTED:,}.")
    return limit
