"""Leases: which worker holds a job, and when a failed job is tried again.

procrastinate's manager and retries, with the gaps closed that a kill or a cut opens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from random import SystemRandom
from typing import Any

import psycopg
from procrastinate import BaseRetryStrategy, PsycopgConnector, RetryDecision, exceptions
from procrastinate import sql as queries
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback

from idetic.errors import DatabaseError, DatabaseUnsupported, IdeticError
from idetic.store import templates
from idetic.store.database import RolePool, is_direct
from idetic.store.queue import SCHEMA, WORKER_ROLE
from idetic.store.templates import raw

log = logging.getLogger("idetic.jobs")

# How long a worker tries to say what became of a job: half a minute, the time after which other
# workers take it for dead anyway.
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
_RELISTEN = 5.0
_chance = SystemRandom()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, with jitter, so that jobs that failed together do not return together."""

    attempts: int = 8
    first: float = 2.0
    longest: float = 300.0

    def pause(self, error: Exception, before: int) -> float | None:
        """Seconds until the next attempt after `before` earlier ones, or None for no more."""
        if not is_transient(error) or self.exhausted(before):
            return None
        return min(self.longest, self.first * 2.0**before) * _chance.uniform(0.5, 1.0)

    def exhausted(self, before: int) -> bool:
        """Whether the attempt after `before` earlier ones is the last."""
        return before + 1 >= self.attempts


def is_transient(error: Exception) -> bool:
    """Whether a retry may help: the database was busy, away or restarting, or a job broke off.

    Everything else (a spec that is not there, arguments that do not fit, a missing model, a bug)
    fails the same way next time.
    """
    if isinstance(error, DatabaseUnsupported):
        return False
    return isinstance(error, DatabaseError | OSError | JobBroken)


class JobBroken(Exception):
    """A job ended itself in a way that only its worker may: it is tried again, not for ever."""


class JobFailed(Exception):
    """A job failed. Says the kind of error and no more: a driver's message may hold content."""

    def __init__(self, error: Exception, pause: float | None):
        self.error = type(error).__name__
        # Our own sentences name things and never quote.
        self.reason = error.message[:500] if isinstance(error, IdeticError) else ""
        self.pause = pause
        super().__init__(self.error)


class AsDecided(BaseRetryStrategy):
    """Passes the decision of the failed job on to procrastinate."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """A failure as it says; a job that a stopping worker interrupted, at once."""
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision(retry_at=datetime.now(UTC))
        if isinstance(exception, JobFailed) and exception.pause is not None:
            return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=exception.pause))
        return None


def connector(dsn: str, size: int) -> PsycopgConnector:
    """Connections of their own for the queue, which can only act as the worker role."""
    pool = partial(RolePool, role=WORKER_ROLE, schema=SCHEMA)
    return PsycopgConnector(pool_factory=pool, conninfo=dsn, min_size=1, max_size=size)


class Leases(JobManager):
    """Jobs are settled by the worker that holds them, or by nobody.

    procrastinate settles by id alone: a worker that was taken for dead, and is not, would end the
    job that another one now runs. `lost` is called when this worker can no longer hold its jobs.
    """

    connector: PsycopgConnector

    def __init__(self, connected: PsycopgConnector, backoff: Backoff):
        super().__init__(connected)
        self.lost: Callable[[], None] = lambda: None
        self._backoff = backoff

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """End a job, and with it the earlier failures of its equals."""
        await self._settle(job, "finish_job", status=status.value, delete_job=delete_job)

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Put a job back. If an equal one waits by now, that one does the work and this one goes:
        two cannot wait, and procrastinate would leave this one running for ever."""
        when = retry_at or datetime.now(UTC)
        moved = {"new_priority": priority, "new_queue_name": queue, "new_lock": lock}
        try:
            await self._settle(job, "retry_job", retry_at=when, **moved)
        except psycopg.errors.UniqueViolation:
            await self._settle(job, "finish_job", status="aborted", delete_job=True)

    async def recover(self, stalled_after: float) -> int:
        """Give the jobs of dead workers back to the queue; says how many."""
        count = 0
        for job in await self.get_stalled_jobs(seconds_since_heartbeat=stalled_after):
            count += 1
            log.warning("%s job %s has lost its worker", job.task_name, job.id)
            if self._backoff.exhausted(job.attempts):
                await self.note_failure(job, "WorkerLost", "Its worker died each time it ran.")
                await self.finish_job(job, Status.FAILED, delete_job=False)
            else:
                await self.retry_job(job)
        await self.prune_stalled_workers(stalled_after)
        return count

    async def note_failure(self, job: Job, error: str, reason: str) -> None:
        """Keep why a job failed, for the backlog. The job's own end does not hang on it."""
        try:
            await self.connector.execute_query_async(
                _query("note_failure"), job_id=job.id, error=error, reason=reason
            )
        except exceptions.ConnectorException:
            log.warning("%s job %s: why it failed could not be kept", job.task_name, job.id)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Say that this worker lives. A database that is away for a moment is not the end."""
        try:
            alive = await self.connector.execute_query_all_async(
                _query("beat"), worker_id=worker_id
            )
        except exceptions.ConnectorException:
            log.warning("worker %s: the database did not take its heartbeat", worker_id)
            return
        if not alive:
            log.warning("worker %s was taken for dead; it starts anew", worker_id)
            self.lost()

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Listen for new jobs, again and again; meanwhile polling finds them.

        Not through a pooler, where polling has to do: who listens there would be a server that is
        somebody else's a moment later.
        """
        while True:
            try:
                async with self.connector.pool.connection() as connection:
                    direct = await is_direct(connection)
                if not direct:
                    return
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            except (exceptions.ConnectorException, psycopg.OperationalError):
                log.warning("the database cannot be listened to; polling goes on")
            await asyncio.sleep(_RELISTEN)

    async def _settle(self, job: Job, query: str, **values: Any) -> None:
        """Settle a job, again if the database is away; if that lasts, give this worker up."""
        for pause in _PAUSES:
            try:
                await self._settle_once(job, query, values)
            except psycopg.OperationalError:
                await asyncio.sleep(pause)
            else:
                return
        # Nobody but this worker may end the job while it lives: so it has to go, and come back.
        log.error("%s job %s: its result could not be recorded", job.task_name, job.id)
        self.lost()

    async def _settle_once(self, job: Job, query: str, values: dict[str, Any]) -> None:
        """Settle a job in one transaction, if this worker still holds it."""
        lease = {"job_id": job.id, "worker_id": job.worker_id}
        async with self.connector.pool.connection() as connection:
            cursor = await connection.execute(raw(_query("hold")), lease)
            if await cursor.fetchone() is None:
                log.warning("%s job %s was given to another worker", job.task_name, job.id)
                return
            if query == "finish_job":
                await connection.execute(raw(_query("clear_failures")), {"key": job.queueing_lock})
            await connection.execute(queries.queries[query], {"job_id": job.id, **values})


def _query(name: str) -> Any:
    """A named query, as the text that procrastinate's connector takes."""
    return templates.query("queries/queue.sql", name)
