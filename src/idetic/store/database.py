"""The pool, and the two ways a statement runs: scoped as the application, or as the admin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

from idetic.errors import DatabaseClosed, DatabaseUnavailable
from idetic.model import Scope
from idetic.store import scope as scoping
from idetic.store.sqlstate import translated
from idetic.store.templates import raw

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
Rows = list[tuple[Any, ...]]
Run = Callable[[str], Coroutine[Any, Any, Rows]]

APP_ROLE = "idetic_app"


class Database:
    """One PostgreSQL database: a pool that acts as one role, by default the application's.

    Every pooled statement carries a scope. Administration (migrations, applying a spec) takes
    its own connection and never the pool's.
    """

    def __init__(
        self,
        dsn: str,
        admin_dsn: str,
        *,
        role: str = APP_ROLE,
        pool_size: int = 10,
        timeout: float = 30.0,
    ):
        self.dsn = dsn
        self.admin_dsn = admin_dsn
        self.role = role
        self._closed = False
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            open=False,
            min_size=1,
            max_size=pool_size,
            timeout=timeout,
            kwargs={"autocommit": True},
            configure=self._become,
        )

    async def open(self) -> None:
        """Start the pool; raises if the database does not answer."""
        with translated():
            try:
                await self._pool.open(wait=True, timeout=15)
            except psycopg.errors.Error:
                raise
            except TimeoutError:
                raise DatabaseUnavailable from None

    async def close(self) -> None:
        """Give the connections back. Closing twice is fine."""
        self._closed = True
        await self._pool.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    async def run(self, scope: Scope, statement: str, *, role: str | None = None) -> Rows:
        """Run one statement within a scope: one message, one round trip, one transaction.

        The settings and the statement travel as one simple query, which PostgreSQL runs as one
        implicit transaction: all of it commits or none does, and the settings end with it.
        """
        if self._closed:
            raise DatabaseClosed
        become = f'SET LOCAL ROLE "{role}"; ' if role else ""
        query = raw(f"{become}{scoping.settings(scope)}; {statement}")
        with translated():
            async with self._pool.connection() as connection:
                return await _last_rows(connection, query)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Run]:
        """Several statements within a scope, all or none. One message each; for bulk only."""
        if self._closed:
            raise DatabaseClosed
        with translated():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(raw(scoping.settings(scope)))
                yield lambda statement: _last_rows(connection, raw(statement))

    @asynccontextmanager
    async def snapshot(self, scope: Scope) -> AsyncIterator[Run]:
        """Several statements within a scope that all read the same moment; none can write."""
        async with self.transaction(scope) as run:
            await run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield run

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """A pooled connection: for the registry tables, which hold no memory, and for recalls,
        whose message carries its scope itself beside the statement that it prepares."""
        if self._closed:
            raise DatabaseClosed
        with translated():
            async with self._pool.connection() as connection:
                yield connection

    async def _become(self, connection: Connection) -> None:
        # One statement, so that opening a pool costs one round trip per connection. The Citus
        # setting makes SET LOCAL reach the workers; a plain server keeps it as a placeholder.
        await connection.execute(
            sql.SQL("SET ROLE {}; SET citus.propagate_set_commands = 'local'").format(
                sql.Identifier(self.role)
            )
        )

    @asynccontextmanager
    async def administration(self) -> AsyncIterator[Connection]:
        """A connection of its own with the login's rights, for migrations and specs."""
        if self._closed:
            raise DatabaseClosed
        with translated():
            connection = await psycopg.AsyncConnection.connect(self.admin_dsn, autocommit=True)
            async with connection:
                yield connection


async def _last_rows(connection: Connection, query: sql.SQL) -> Rows:
    cursor = await connection.execute(query)
    while cursor.nextset():
        pass
    return await cursor.fetchall() if cursor.description else []
