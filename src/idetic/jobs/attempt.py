"""One attempt at a job: counted, logged with ids, counts and seconds, its failure kept."""

from __future__ import annotations

import logging
import time
import traceback
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from procrastinate.jobs import Job

from idetic.errors import IdeticError
from idetic.jobs.leases import Leases
from idetic.jobs.retries import Backoff, JobFailed
from idetic.telemetry import Name, finished

log = logging.getLogger("idetic.jobs")


@dataclass(slots=True)
class Counts:
    """What a worker has done so far."""

    succeeded: int = 0
    retried: int = 0
    failed: int = 0
    released: int = 0
    recovered: int = 0
    swept: int = 0

    @property
    def attempts(self) -> int:
        """How many attempts have ended, however they did."""
        return self.succeeded + self.retried + self.failed + self.released


class Attempt:
    """`async with Attempt(…) as attempt`: whatever the handler raises leaves as a JobFailed."""

    def __init__(self, job: Job, leases: Leases, backoff: Backoff, counts: Counts):
        self._job = job
        self._leases = leases
        self._backoff = backoff
        self._counts = counts
        self._started = time.monotonic()
        self.result: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        finished("job", time.monotonic() - self._started, error, task=Name(self._job.task_name))
        if error is None:
            self._counts.succeeded += 1
            self._say(logging.INFO, "succeeded", str(self.result))
        elif isinstance(error, Exception):
            await self._fail(error)
        else:
            # Cancelled: the worker stops, and the job goes back to the queue.
            self._counts.released += 1
            self._say(logging.INFO, "released", "its worker stops")

    async def _fail(self, error: Exception) -> None:
        pause = self._backoff.pause(error, self._job.attempts)
        failed = JobFailed(error, pause)
        if pause is None:
            self._counts.failed += 1
            self._say(logging.ERROR, "failed", f"{failed.error} {failed.reason}".strip())
        else:
            self._counts.retried += 1
            said = f"{failed.error}, again in {pause:.1f} s"
            self._say(logging.WARNING, "failed", said)
        if not isinstance(error, IdeticError):
            # Where, for whoever mends it; the message is left out, for it may hold content.
            log.error("".join(traceback.format_tb(error.__traceback__)).rstrip())
        await self._leases.note_failure(self._job, failed.error, failed.reason)
        raise failed from None

    def _say(self, level: int, outcome: str, more: str) -> None:
        job, seconds = self._job, time.monotonic() - self._started
        log.log(
            level,
            "%s job %s %s after %.3f s, attempt %d: %s",
            *(job.task_name, job.id, outcome, seconds, job.attempts + 1, more),
            extra={"job_id": job.id, "task": job.task_name, "outcome": outcome, "seconds": seconds},
        )
