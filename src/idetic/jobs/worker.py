"""The worker: procrastinate's, in this process, with leases, sweeps and a way to stop well."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import anyio
from procrastinate import App, exceptions
from procrastinate.worker import Worker as Inner

from idetic.errors import DatabaseUnavailable, IdeticError, InputError
from idetic.jobs.attempt import Counts
from idetic.jobs.handlers import HANDLERS, Handler
from idetic.jobs.leases import Leases
from idetic.jobs.retries import Backoff
from idetic.jobs.sweeps import SWEEPS, Sweep
from idetic.jobs.tasks import Tasks
from idetic.library.idetic import Idetic
from idetic.store.queue import Queue
from idetic.telemetry import Metric, Name, gauge, recording

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
            raise InputError(f"concurrency is a whole number from 1 to {MAX_CONCURRENCY}.")
        self.counts = Counts()
        self._db = db
        self._concurrency = concurrency
        self._sweeps = sweeps
        self._pace = pace or Pace()
        self._tasks = Tasks(db, handlers, backoff or Backoff(), self.counts)
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
        opened = self._tasks.opened(self._concurrency + _SPARE)
        async with opened as (app, leases), asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(_repeat(self._pace.heartbeat, partial(self._recover, leases))),
                group.create_task(_repeat(self._pace.sweep, self._sweep)),
            ]
            while not self._stopping.is_set():
                try:
                    await self._work(app, leases, wait=True)
                except exceptions.ConnectorException:
                    log.warning("the worker lost the database; it starts again")
                with anyio.move_on_after(_RESTART):
                    await self._stopping.wait()
            for helper in helpers:
                helper.cancel()

    async def _drain(self) -> None:
        try:
            async with self._tasks.opened(self._concurrency + _SPARE) as (app, leases):
                await self._recover(leases)
                await self._sweep()
                before = -1
                while self.counts.attempts != before and not self._stopping.is_set():
                    before = self.counts.attempts
                    await self._work(app, leases, wait=False)
        except exceptions.ConnectorException:
            raise DatabaseUnavailable from None

    async def _work(self, app: App, leases: Leases, *, wait: bool) -> None:
        """One life of procrastinate's worker, from registering to leaving."""
        pace = self._pace
        self._inner = inner = Inner(
            app,
            queues=self._tasks.names,
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
        if self._inner is not None and self._inner.worker_id is not None:
            # First its own heartbeat: after an outage it would find itself among the dead, and
            # procrastinate's stops beating as soon as it is asked to stop.
            await leases.update_heartbeat(self._inner.worker_id)
        self.counts.recovered += await leases.recover(self._pace.stalled_after)

    async def _sweep(self) -> None:
        for sweep in self._sweeps:
            self.counts.swept += await sweep(self._db)
        if recording():
            waiting = {task.task: task for task in await Queue(self._db.database).backlog()}
            # Also where nothing waits: a gauge that is not set again keeps saying what it said.
            for name in {*self._tasks.names, *waiting}:
                task = waiting.get(name)
                age = task.oldest_seconds or 0.0 if task else 0.0
                gauge(Metric.BACKLOG_AGE, age, task=Name(name))
                gauge(Metric.BACKLOG_JOBS, task.waiting if task else 0, task=Name(name))


async def _repeat(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
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
