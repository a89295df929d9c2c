"""The door: the one way a statement on memory enters the database.

Every message says itself who acts and within which scope, both local to its transaction. So it does
not matter whose connection it was before, and a pooler may hand the server to anybody afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import anyio
import psycopg
from psycopg import errors as pg
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool

from idetic.errors import DatabaseClosed, DatabaseUnavailable
from idetic.model import Scope
from idetic.store import scope as scoping
from idetic.store.pipeline import Pipeline, Rows
from idetic.store.sqlstate import is_moving, translated
from idetic.store.statement import Call, Statement, Values

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

APP_ROLE = "idetic_app"
_BEGIN = Call(Statement("BEGIN"), {})
_BEGIN_SNAPSHOT = Call(Statement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"), {})
_COMMIT = Call(Statement("COMMIT"), {})
_ROLLBACK = Call(Statement("ROLLBACK"), {})
_NOTHING: Values = {}
_MOST_SURPRISES = 12
# A move is over in an instant; a statement that meets it comes to a node that has the rows no more.
_MOVES = (0.02, 0.1, 0.5, 2.0)
_OPEN = (TransactionStatus.INERROR, TransactionStatus.INTRANS)


class Transaction:
    """Statements within one scope, all or none. One round trip each; the first also begins."""

    def __init__(self, database: Database, connection: Connection, entering: Sequence[Call]):
        self._database = database
        self._connection = connection
        self._entering = entering

    async def __call__(self, statement: Statement, values: Values = _NOTHING) -> Rows:
        """Run one statement."""
        return (await self.each([Call(statement, values)]))[0]

    async def each(self, calls: Sequence[Call]) -> list[Rows]:
        """Run several statements in one round trip; the rows of each."""
        entering, self._entering = self._entering, ()
        # Not prepared: what a pooler makes of a name could only be mended by beginning again.
        found = await _sent(self._connection, [*entering, *calls], None)
        return found[len(entering) :]

    async def set(self, settings: Mapping[str, str]) -> None:
        """Settings that hold to the end of the transaction."""
        await self.each(self._database.settings(settings))

    async def end(self) -> None:
        """Commit, if anything has begun."""
        if not self._entering:
            await _sent(self._connection, [_COMMIT], None)


class Database:
    """One PostgreSQL database, entered as one role of ours: by default the application's."""

    def __init__(
        self, dsn: str, *, role: str = APP_ROLE, pool_size: int = 10, timeout: float = 30.0
    ):
        self.dsn = dsn
        self.role = role
        self._closed = False
        self.citus = False
        # What each connection has prepared, and how often its server thought otherwise.
        self._prepared: WeakKeyDictionary[Connection, set[bytes]] = WeakKeyDictionary()
        self._surprises = 0
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            open=False,
            min_size=1,
            max_size=pool_size,
            timeout=timeout,
            kwargs={"autocommit": True, "prepare_threshold": None},
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
            async with self._pool.connection() as connection:
                self.citus = await scoping.is_citus(connection)

    async def close(self) -> None:
        """Give the connections back. Closing twice is fine."""
        self._closed = True
        await self._pool.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    async def run(
        self,
        scope: Scope,
        statement: Statement,
        values: Values = _NOTHING,
        *,
        role: str | None = None,
        settings: Mapping[str, str] = _NOTHING,
    ) -> Rows:
        """Run one statement within a scope: one round trip, one transaction."""
        return await self.run_all(scope, [Call(statement, values)], role=role, settings=settings)

    async def run_all(
        self,
        scope: Scope | None,
        calls: Sequence[Call],
        *,
        role: str | None = None,
        settings: Mapping[str, str] = _NOTHING,
    ) -> Rows:
        """Run statements as one transaction and one round trip; gives the last rows that come.

        Without a scope, row-level security shows no memory at all: for what is no tenant's.
        """
        entered = self.settings({**scoping.settings(scope), **settings}, role or self.role)
        before = (_BEGIN, *entered)
        async with self._borrowed() as connection:
            found = await self._through_moves(connection, (*before, *calls, _COMMIT))
        return next((rows for rows in reversed(found[len(before) :]) if rows), [])

    async def _through_moves(self, connection: Connection, messages: Sequence[Call]) -> list[Rows]:
        """A transaction that is tried again where Citus has just moved the tenant's rows."""
        for pause in _MOVES if self.citus else ():
            try:
                return await self._whole(connection, messages)
            except pg.InternalError as error:
                if not is_moving(error):
                    raise
                await anyio.sleep(pause)
        return await self._whole(connection, messages)

    async def _whole(self, connection: Connection, messages: Sequence[Call]) -> list[Rows]:
        """A transaction from begin to commit, with what this connection has prepared.

        Behind a pooler the server may differ from message to message and know more or fewer names
        than we think. Nothing is committed then, and since a name is its text's hash, either is put
        right by asking again; where it goes on, the texts travel instead.
        """
        known = self._prepared.setdefault(connection, set())
        while self._surprises < _MOST_SURPRISES:
            try:
                return await _sent(connection, messages, known)
            except (pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement):
                # The pipeline has noted what the server knows: it means the same by a name.
                pass
            self._surprises += 1
        return await _sent(connection, messages, None)

    @asynccontextmanager
    async def transaction(self, scope: Scope | None) -> AsyncIterator[Transaction]:
        """Several statements within a scope, all or none."""
        async with self._within(scope, _BEGIN) as transaction:
            yield transaction

    @asynccontextmanager
    async def snapshot(self, scope: Scope) -> AsyncIterator[Transaction]:
        """Several statements within a scope that all read the same moment; none can write."""
        async with self._within(scope, _BEGIN_SNAPSHOT) as transaction:
            yield transaction

    @asynccontextmanager
    async def _within(self, scope: Scope | None, begin: Call) -> AsyncIterator[Transaction]:
        entered = self.settings(scoping.settings(scope), self.role)
        async with self._borrowed() as connection:
            transaction = Transaction(self, connection, (begin, *entered))
            try:
                yield transaction
                await transaction.end()
            finally:
                await _rolled_back(connection)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """A connection in a transaction as our role, for the registry: no scope, so no memory."""
        async with self._borrowed() as connection, connection.transaction():
            entered = self.settings(scoping.settings(None), self.role)
            await _sent(connection, entered, None)
            yield connection

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Connection]:
        if self._closed:
            raise DatabaseClosed
        with translated():
            async with self._pool.connection() as connection:
                yield connection

    def settings(self, settings: Mapping[str, str], role: str | None = None) -> tuple[Call, ...]:
        """The calls that set role and settings, local to their transaction."""
        return scoping.entering(settings, role, citus=self.citus)


async def _sent(
    connection: Connection, calls: Sequence[Call], known: set[bytes] | None
) -> list[Rows]:
    pipeline = Pipeline(connection, known)
    for call in calls:
        pipeline.add(call)
    try:
        return await pipeline.run()
    finally:
        if calls[-1] is _COMMIT:
            await _rolled_back(connection)


async def _rolled_back(connection: Connection) -> None:
    """End a transaction that its statements did not."""
    if connection.pgconn.transaction_status in _OPEN:
        await _sent(connection, [_ROLLBACK], None)
