"""The worker: procrastinate's, in this process, with leases, sweeps and a way to stop well."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import anyio
from procrastinate import App, JobContext, exceptions
from procrastinate.jobs import Job
from procrastinate.worker import Worker as Inner

from idetic.errors import DatabaseUnavailable, IdeticError, InputError
from idetic.jobs.handlers import HANDLERS, SWEEPS, Handler, Result, Sweep
from idetic.jobs.leases import AsDecided, Backoff, JobBroken, JobFailed, Leases, connector
from idetic.library.idetic import Idetic
from idetic.store import queue
from idetic.store.driver import translated
from idetic.store.queue import Queue
from idetic.telemetry import Metric, Name, finished, measure, recording

log = logging.getLogger("idetic.jobs")

MAX_CONCURRENCY = 64
_RESTART = 1.0
# Beside one connection per running job: heartbeat, recovery, fetching.
_SPARE = 3


@dataclass(frozen=True, slots=True)
class Pace:
    """A worker's times in seconds.

    The job of a killed worker runs again after at most `stalled_after` + `heartbeat` + `poll`:
    45 s as it stands.
    """

    heartbeat: float = 10.0
    stalled_after: float = 30.0
    sweep: float = 30.0
    poll: float = 5.0
    grace: float = 20.0


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


class Worker:
    """Runs jobs, at most `concurrency` at once; none is taken before there is room for it."""

    def __init__(
        self,
        db: Idetic,
        *,
        concurrency: int = 2,
        handlers: Mapping[str, Handler] = HANDLERS,
        sweeps: Sequence[Sweep] = SWEEPS,
        backoff: Backoff | None = None,
        pace: Pace | None = None,
    ):
        if type(concurrency) is not int or not 1 <= concurrency <= MAX_CONCURRENCY:
            raise InputError(f"concurrency must be a whole number from 1 to {MAX_CONCURRENCY}.")
        self.counts = Counts()
        self._db = db
        self._concurrency = concurrency
        self._handlers = handlers
        self._sweeps = sweeps
        self._backoff = backoff or Backoff()
        self._pace = pace or Pace()
        self._inner: Inner | None = None
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take no more jobs; running ones end or go back to the queue within the grace period."""
        self._stopping.set()
        if self._inner is not None:
            self._inner.stop()  # type: ignore[no-untyped-call]

    async def run(self) -> Counts:
        """Work until stopped or cancelled."""
        return await self._until_ended(self._serve())

    async def drain(self) -> Counts:
        """Recover, sweep, work until nothing is left that is due, and return."""
        return await self._until_ended(self._drain())

    async def _until_ended(self, work: Awaitable[None]) -> Counts:
        """Await the work; a cancellation stops it well and is passed on only then."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            self.stop()
            # anyio cancels again and again until it is obeyed; stopping well takes a moment.
            with anyio.CancelScope(shield=True):
                await task
            raise
        return self.counts

    async def _serve(self) -> None:
        """Take jobs until stopped; a database that is lost is awaited, also while it begins."""
        while not self._stopping.is_set():
            try:
                async with self._opened() as (app, leases):
                    await self._take(app, leases)
            except DatabaseUnavailable:
                log.warning("the worker finds no database; it tries again")
                await self._pause()

    async def _take(self, app: App, leases: Leases) -> None:
        """Take jobs until stopped, with recovery and sweeps beside."""
        async with asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(_repeat(self._pace.heartbeat, partial(self._recover, leases))),
                group.create_task(_repeat(self._pace.sweep, self._sweep)),
            ]
            while not self._stopping.is_set():
                try:
                    await self._work(app, leases, wait=True)
                except exceptions.ConnectorException:
                    log.warning("the worker lost the database; it starts again")
                await self._pause()
            for helper in helpers:
                helper.cancel()

    async def _pause(self) -> None:
        """Wait before the next try; a stop cuts it short."""
        with anyio.move_on_after(_RESTART):
            await self._stopping.wait()

    async def _drain(self) -> None:
        """Do what is due now, including what that enqueues, and then end."""
        try:
            async with self._opened() as (app, leases):
                await self._recover(leases)
                await self._sweep()
                before = -1
                # A job may enqueue others, so it ends with a round that attempted nothing.
                while self.counts.attempts != before and not self._stopping.is_set():
                    before = self.counts.attempts
                    await self._work(app, leases, wait=False)
        except exceptions.ConnectorException:
            raise DatabaseUnavailable from None

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[App, Leases]]:
        """procrastinate's application with a task per handler, and the leases it works by."""
        async with self._db.database.reading() as connection:
            await queue.check_known(connection)
        connected = connector(self._db.dsn, self._concurrency + _SPARE)
        app = App(connector=connected)
        app.job_manager = leases = Leases(connected, self._backoff)
        for name, handler in self._handlers.items():
            # One queue for each task: a worker without the task leaves its jobs to others.
            task = app.task(name=name, queue=name, retry=AsDecided(), pass_context=True)
            task(self._task(handler, leases))
        try:
            with translated():
                await app.open_async()
            yield app, leases
        finally:
            await app.close_async()

    def _task(self, handler: Handler, leases: Leases) -> Handler:
        """One attempt at a job, counted and logged; what the handler raises leaves as JobFailed."""

        async def run(context: JobContext, **args: Any) -> Result:
            """Run the handler, and settle the attempt however it ends."""
            job, started, result = context.job, time.monotonic(), None
            error: BaseException | None = None
            try:
                _check(handler, args)
                result = await handler(self._db, **args)
            except BaseException as raised:
                error = _own_failure(raised)
                raise
            finally:
                seconds = time.monotonic() - started
                finished("job", seconds, error, task=Name(job.task_name))
                await self._settled(job, leases, seconds, result, error)
            return result

        return run

    async def _settled(
        self,
        job: Job,
        leases: Leases,
        seconds: float,
        result: Result | None,
        error: BaseException | None,
    ) -> None:
        """Count and log how an attempt ended; a failure leaves as JobFailed, with its pause."""
        if error is None:
            self.counts.succeeded += 1
            return _say(logging.INFO, job, seconds, "succeeded", str(result))
        if not isinstance(error, Exception):
            # Cancelled: the worker stops, and the job goes back to the queue.
            self.counts.released += 1
            return _say(logging.INFO, job, seconds, "released", "its worker stops")
        failed = JobFailed(error, self._backoff.pause(error, job.attempts))
        if failed.pause is None:
            self.counts.failed += 1
            outcome = f"{failed.error} {failed.reason}".strip()
            _say(logging.ERROR, job, seconds, "failed", outcome)
        else:
            self.counts.retried += 1
            outcome = f"{failed.error}, again in {failed.pause:.1f} s"
            _say(logging.WARNING, job, seconds, "failed", outcome)
        if not isinstance(error, IdeticError):
            # The frames without the message, which may hold content.
            log.error("".join(traceback.format_tb(error.__traceback__)).rstrip())
        await leases.note_failure(job, failed.error, failed.reason)
        raise failed from None

    async def _work(self, app: App, leases: Leases, *, wait: bool) -> None:
        """One life of procrastinate's worker, from registering to leaving."""
        pace = self._pace
        self._inner = inner = Inner(
            app,
            queues=list(self._handlers),
            name="idetic",
            concurrency=self._concurrency,
            wait=wait,
            fetch_job_polling_interval=pace.poll,
            abort_job_polling_interval=pace.poll,
            shutdown_graceful_timeout=pace.grace,
            listen_notify=wait,
            delete_jobs="successful",
            install_signal_handlers=False,
            update_heartbeat_interval=pace.heartbeat,
            stalled_worker_timeout=pace.stalled_after,
        )
        leases.lost = inner.stop
        await inner.run()  # type: ignore[no-untyped-call]

    async def _recover(self, leases: Leases) -> None:
        """Beat this worker's heart, then give the jobs of dead workers back."""
        if self._inner is not None and self._inner.worker_id is not None:
            # First its own heartbeat: after an outage it would find itself among the dead, and
            # procrastinate's stops beating as soon as it is asked to stop.
            await leases.update_heartbeat(self._inner.worker_id)
        self.counts.recovered += await leases.recover(self._pace.stalled_after)

    async def _sweep(self) -> None:
        """Enqueue what has become due, and measure what waits if anybody listens."""
        for sweep in self._sweeps:
            self.counts.swept += await sweep(self._db)
        if recording():
            waiting = {task.task: task for task in await Queue(self._db.database).backlog()}
            # Also where nothing waits: a gauge that is not set again keeps saying what it said.
            for name in {*self._handlers, *waiting}:
                task = waiting.get(name)
                age = task.oldest_seconds or 0.0 if task else 0.0
                measure(Metric.BACKLOG_AGE, age, task=Name(name))
                measure(Metric.BACKLOG_JOBS, task.waiting if task else 0, task=Name(name))


def _own_failure(raised: BaseException) -> BaseException:
    """What a handler raised. A cancellation that nobody asked for is its failure, and counts.

    Taken for the worker's own it would run again at once, for ever.
    """
    task = asyncio.current_task()
    asked = task is not None and task.cancelling()
    return raised if asked or isinstance(raised, Exception) else JobBroken()


def _check(handler: Handler, args: Mapping[str, Any]) -> None:
    """Refuse arguments that do not fit: they are the job's fault and not the handler's."""
    try:
        signature(handler).bind(None, **args)
    except TypeError as error:
        raise InputError(f"The job's arguments do not fit its task: {error}.") from None


def _say(level: int, job: Job, seconds: float, outcome: str, more: str) -> None:
    """Log how one attempt at a job ended."""
    log.log(
        level,
        "%s job %s %s after %.3f s, attempt %d: %s",
        *(job.task_name, job.id, outcome, seconds, job.attempts + 1, more),
        extra={"job_id": job.id, "task": job.task_name, "outcome": outcome, "seconds": seconds},
    )


async def _repeat(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Work at intervals for ever; a failure is logged and does not end it."""
    while True:
        try:
            await work()
        except (IdeticError, exceptions.ConnectorException) as error:
            log.warning("%s; tried again in %.0f s", type(error).__name__, seconds)
        await asyncio.sleep(seconds)


@contextmanager
def stopping_on_signals(worker: Worker) -> Iterator[None]:
    """SIGTERM and Ctrl-C stop the worker well; the second one is as abrupt as ever."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)

    def stop() -> None:
        """Stop well, once: after this the signals do what they always did."""
        for each in signals:
            loop.remove_signal_handler(each)
        worker.stop()

    for each in signals:
        loop.add_signal_handler(each, stop)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)
