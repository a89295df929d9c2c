"""A pool for others' code that speaks to the database itself: the queue's and the checkpointer's.

Such code knows neither our roles nor our schemas. So every loan is one transaction in which role
and search path are set before it is handed out, and local to it: behind a pooler in transaction
mode nothing of them is lost, and nobody inherits them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.rows import scalar_row
from psycopg_pool import AsyncConnectionPool

from idetic.store import scope as scoping
from idetic.store.pipeline import Pipeline
from idetic.store.statement import Call, Statement

Pooled = TypeVar("Pooled", bound=psycopg.AsyncConnection[Any])


class RolePool(AsyncConnectionPool[Pooled]):
    """Connections that are lent for one transaction each, as one role, in one schema."""

    def __init__(
        self,
        conninfo: str,
        *,
        role: str,
        schema: str,
        begin: str = "BEGIN",
        kwargs: dict[str, Any] | None = None,
        **options: Any,
    ):
        # A statement that psycopg prepares by counting would be unknown to a pooler's next server.
        kwargs = {"prepare_threshold": None, **(kwargs or {})}
        super().__init__(conninfo, kwargs=kwargs, **options)
        path = {"search_path": scoping.quoted(schema)}
        self._entering = (
            Call(Statement(begin), {}),
            *scoping.entering(path, role, citus=False),
        )

    @asynccontextmanager
    async def connection(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - the pool's own signature
    ) -> AsyncIterator[Pooled]:
        """A connection for one transaction, committed at the end; an error rolls it back."""
        async with super().connection(timeout) as connection:
            pipeline = Pipeline(connection, None)
            for call in self._entering:
                pipeline.add(call)
            await pipeline.run()
            yield connection


async def is_direct(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether a server answers itself, and no pooler in its place.

    The process that answers is then the one that was named when the connection began; a pooler
    names one that it made up.
    """
    async with connection.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute("SELECT pg_backend_pid()")
        answers: int | None = await cursor.fetchone()
    return answers == connection.info.backend_pid
