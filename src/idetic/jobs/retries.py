"""Which failures are worth another attempt, and how long to wait before it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import SystemRandom

from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.jobs import Job

from idetic.errors import DatabaseError, DatabaseUnsupported, IdeticError

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
    """Whether time may mend it: the database was busy, away or restarting.

    Everything else (a spec that is not there, arguments that do not fit, a missing model, a bug)
    fails the same way next time.
    """
    if isinstance(error, DatabaseUnsupported):
        return False
    return isinstance(error, DatabaseError | OSError)


class JobFailed(Exception):
    """A job failed. Says the kind of error and no more: a driver's message may hold content."""

    def __init__(self, error: Exception, pause: float | None):
        self.error = type(error).__name__
        self.reason = reason(error)
        self.pause = pause
        super().__init__(self.error)


def reason(error: Exception) -> str:
    """Why a job failed, as far as it can be kept: our own sentences name things, never quote."""
    return error.message[:500] if isinstance(error, IdeticError) else ""


class AsDecided(BaseRetryStrategy):
    """Tells procrastinate what was decided where the job failed."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """A failure as it says; a job that a stopping worker interrupted, at once."""
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision(retry_at=datetime.now(UTC))
        if isinstance(exception, JobFailed) and exception.pause is not None:
            return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=exception.pause))
        return None
