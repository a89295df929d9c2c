"""procrastinate's application: our handlers as its tasks, on a few connections of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from inspect import signature
from typing import Any

from procrastinate import App, JobContext

from idetic.errors import InputError
from idetic.jobs.attempt import Attempt, Counts
from idetic.jobs.handlers import Handler
from idetic.jobs.leases import Leases, connector
from idetic.jobs.retries import AsDecided, Backoff
from idetic.library.idetic import Idetic
from idetic.store import queue_schema
from idetic.store.sqlstate import translated

Task = Callable[..., Awaitable[dict[str, Any]]]


class Tasks:
    """What a worker can do, and how an attempt at it is made."""

    def __init__(
        self, db: Idetic, handlers: Mapping[str, Handler], backoff: Backoff, counts: Counts
    ):
        self._db = db
        self._handlers = handlers
        self._backoff = backoff
        self._counts = counts

    @property
    def names(self) -> list[str]:
        """The tasks, which are also the queues to take jobs from: a worker that does not know a
        task yet leaves its jobs to one that does."""
        return list(self._handlers)

    @asynccontextmanager
    async def opened(self, connections: int) -> AsyncIterator[tuple[App, Leases]]:
        """procrastinate's application and the leases it works by, connected."""
        async with self._db.database.reading() as connection:
            await queue_schema.check_known(connection)
        connected = connector(self._db.dsn, connections)
        app = App(connector=connected)
        app.job_manager = leases = Leases(connected, self._backoff)
        for name, handler in self._handlers.items():
            app.task(name=name, queue=name, retry=AsDecided(), pass_context=True)(
                self._task(handler, leases)
            )
        with translated():
            await app.open_async()
        try:
            yield app, leases
        finally:
            await app.close_async()

    def _task(self, handler: Handler, leases: Leases) -> Task:
        async def run(context: JobContext, **args: Any) -> dict[str, Any]:
            async with Attempt(context.job, leases, self._backoff, self._counts) as attempt:
                _check(handler, args)
                attempt.result = await handler(self._db, **args)
            return attempt.result

        return run


def _check(handler: Handler, args: Mapping[str, Any]) -> None:
    """Arguments that do not fit are the job's fault and not the handler's: say which."""
    try:
        signature(handler).bind(None, **args)
    except TypeError as error:
        raise InputError(f"The job's arguments do not fit its task: {error}.") from None
