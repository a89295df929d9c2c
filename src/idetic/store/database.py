"""The ways into the database: the application's pool, the admin login, a pool for others' code.

Every message of the application says itself who acts and within which scope, both local to its
transaction. So it does not matter whose connection it was before, and a pooler may hand the server
to anybody afterwards.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import anyio
import psycopg
from psycopg import errors as pg
from psycopg.pq import TransactionStatus
from psycopg.rows import scalar_row

from idetic.errors import DatabaseClosed, DatabaseUnavailable
from idetic.ids import Clock
from idetic.model import Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.driver import Rows, is_moving, send, translated
from idetic.store.live_pool import LivePool, Pooled
from idetic.store.server_time import ServerTime
from idetic.store.templates import BoundStatement, Statement, Values, raw

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

APP_ROLE = "idetic_app"
_BEGIN = BoundStatement(Statement("BEGIN"))
_BEGIN_SNAPSHOT = BoundStatement(Statement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
_COMMIT = BoundStatement(Statement("COMMIT"))
_NOW = BoundStatement(Statement("SELECT clock_timestamp()"))
_ROLLBACK = BoundStatement(Statement("ROLLBACK"))
_NOTHING: Values = {}
# Each is a statement that the server knows otherwise than we think; a recall has about a dozen.
_MOST_SURPRISES = 48
# A move is over in an instant; a statement that meets it comes to a node that has the rows no more.
_MOVES = (0.02, 0.1, 0.5, 2.0)
_OPEN = (TransactionStatus.INERROR, TransactionStatus.INTRANS)


class Transaction:
    """Statements within one scope, all or none. One round trip each; the first also begins."""

    def __init__(
        self, database: Database, connection: Connection, entering: Sequence[BoundStatement]
    ):
        self._database = database
        self._connection = connection
        # What goes before the next statement.
        self._entering = tuple(entering)
        self._begun = False
        self._ending: tuple[BoundStatement, ...] = ()
        self._asked: list[tuple[Sequence[BoundStatement], asyncio.Future[list[Rows]]]] = []
        self._turn = anyio.Lock()
        self._over = False

    async def __call__(self, statement: Statement, values: Values = _NOTHING) -> Rows:
        """Run one statement."""
        return (await self.each([BoundStatement(statement, values)]))[0]

    async def each(self, bound: Sequence[BoundStatement]) -> list[Rows]:
        """Run several statements in one round trip; the rows of each.

        What tasks ask for in one turn of the loop travels together, in the order of asking.
        """
        future: asyncio.Future[list[Rows]] = asyncio.get_running_loop().create_future()
        self._asked.append((bound, future))
        # To take the lock yields to the others once.
        async with self._turn:
            if self._over:
                # Its connection may be somebody else's by now.
                future.cancel()
            elif not future.done():
                await self._send()
        return await future

    async def leave(self) -> None:
        """Wait for what is under way; a task that failed beside others asks nothing more."""
        async with self._turn:
            self._over = True

    async def _send(self) -> None:
        """Send what was asked for, and give each its rows, or the error that ended them all."""
        asked, self._asked = self._asked, []
        entering, self._entering = self._entering, ()
        self._begun = not self._ending
        every = [*(one for bound, _ in asked for one in bound), *self._ending]
        try:
            # Not prepared: what a pooler makes of a name could only be mended by beginning again.
            found = iter((await send(self._connection, [*entering, *every], None))[len(entering) :])
        except Exception as error:  # noqa: BLE001 - it is raised where they are awaited
            for _, future in asked:
                future.set_exception(error)
        else:
            for bound, future in asked:
                future.set_result(list(islice(found, len(bound))))
        finally:
            for _, future in asked:
                future.cancel()

    def set(self, settings: Mapping[str, str]) -> None:
        """Settings that hold to the end of the transaction; they travel with what comes next."""
        added = scoping.entering(settings, None, citus=self._database.citus)
        self._entering = (*self._entering, *added)

    def later(self, bound: Sequence[BoundStatement]) -> None:
        """Statements whose rows nobody asks for; they travel with what comes next."""
        self._begun = True
        self._entering = (*self._entering, *bound)

    def end_with_next(self) -> None:
        """Commit in the message of what is asked next: nothing is asked after it."""
        self._ending = (_COMMIT,)

    async def end(self) -> None:
        """Commit, if anything has begun."""
        if self._begun:
            await send(self._connection, [*self._entering, _COMMIT], None)


class Database:
    """One PostgreSQL database, entered as one role of ours: by default the application's."""

    def __init__(
        self, dsn: str, *, role: str = APP_ROLE, pool_size: int = 10, timeout: float = 30.0
    ):
        self.dsn = dsn
        self.role = role
        self.closed = False
        self.citus = False
        self._time = ServerTime(self._now)
        # How many exports of each tenant are under way.
        self.exports: Counter[str] = Counter()
        # What each connection has prepared, and how often its server thought otherwise.
        self._prepared: WeakKeyDictionary[Connection, set[bytes]] = WeakKeyDictionary()
        self._surprises = 0
        self._pool: LivePool[Connection] = LivePool(
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
        self.closed = True
        await self._pool.close()

    async def check_clock(self, clock: Clock) -> None:
        """Refuse a clock that is far from the server's; whatever dates a write is checked first.

        Not while a connection is lent: where the server is asked, it is through another one.
        """
        await self._time.check(clock)

    async def _now(self) -> datetime:
        """What the server's clock says."""
        ((now,),) = await self.run_all(None, [_NOW])
        moment: datetime = now
        return moment

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
        bound = [BoundStatement(statement, values)]
        return await self.run_all(scope, bound, role=role, settings=settings)

    async def run_all(
        self,
        scope: Scope | None,
        bound: Sequence[BoundStatement],
        *,
        role: str | None = None,
        settings: Mapping[str, str] = _NOTHING,
    ) -> Rows:
        """Run statements as one transaction and one round trip; gives the last rows that come.

        Without a scope, row-level security shows no memory at all: for what is no tenant's.
        """
        (found,) = await self.run_together([(scope, bound)], role=role, settings=settings)
        return next((rows for rows in reversed(found) if rows), [])

    async def read_each(
        self,
        scope: Scope,
        bound: Sequence[BoundStatement],
        *,
        settings: Mapping[str, str] = _NOTHING,
    ) -> list[Rows]:
        """Statements that read one moment, in one round trip; the rows of each."""
        within = [(scope, bound)]
        (found,) = await self.run_together(within, settings=settings, begin=_BEGIN_SNAPSHOT)
        return found

    async def run_together(
        self,
        within: Sequence[tuple[Scope | None, Sequence[BoundStatement]]],
        *,
        role: str | None = None,
        settings: Mapping[str, str] = _NOTHING,
        begin: BoundStatement = _BEGIN,
    ) -> list[list[Rows]]:
        """Run statements of several scopes of one tenant as one transaction and one round trip.

        Behind a pooler the server may differ from message to message and know more or fewer names
        than we think. Nothing is committed then, and since a name is its text's hash, either is put
        right by asking again; where it goes on, the texts travel instead. Where Citus has just
        moved the tenant's rows, asking again finds them.
        """
        messages, spans = self._messages(within, role or self.role, settings, begin)
        pauses = iter(_MOVES if self.citus else ())
        async with self._borrowed() as connection:
            known: set[bytes] | None = self._prepared.setdefault(connection, set())
            while True:
                known = known if self._surprises < _MOST_SURPRISES else None
                try:
                    found = await send(connection, messages, known)
                    return [found[span] for span in spans]
                except (pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement):
                    # `send` has noted what the server knows: it means the same by a name.
                    if known is None:
                        raise
                    self._surprises += 1
                    continue
                except pg.InternalError as error:
                    pause = next(pauses, None)
                    if pause is None or not is_moving(error):
                        raise
                finally:
                    await self._roll_back(connection)
                await anyio.sleep(pause)

    def _messages(
        self,
        within: Sequence[tuple[Scope | None, Sequence[BoundStatement]]],
        role: str | None,
        settings: Mapping[str, str],
        begin: BoundStatement,
    ) -> tuple[list[BoundStatement], list[slice]]:
        """The statements of a transaction, and where among them those of each scope stand.

        Each scope is entered before its own, and row-level security hides the others from it. The
        role stays to the end. What is sent up to one sync is a transaction anyway: PostgreSQL need
        not be told so, and to be told took two messages of five. Citus does.
        """
        told = self._is_told(begin)
        messages: list[BoundStatement] = [begin] if told else []
        spans = []
        scoping.check_one_tenant([scope for scope, _ in within])
        for scope, bound in within:
            named = {**scoping.settings(scope), **settings}
            messages += scoping.entering(named, role, citus=self.citus)
            role = None
            spans.append(slice(len(messages), len(messages) + len(bound)))
            messages += bound
        return [*messages, *([_COMMIT] if told else [])], spans

    def _is_told(self, begin: BoundStatement) -> bool:
        """Whether the server has to be told where one round trip begins and ends."""
        return self.citus or begin is not _BEGIN

    def transaction(self, scope: Scope | None) -> AbstractAsyncContextManager[Transaction]:
        """Several statements within a scope, all or none."""
        return self._within(scope, _BEGIN)

    def snapshot(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        """Several statements within a scope that all read the same moment; none can write."""
        return self._within(scope, _BEGIN_SNAPSHOT)

    @asynccontextmanager
    async def _within(
        self, scope: Scope | None, begin: BoundStatement
    ) -> AsyncIterator[Transaction]:
        """A transaction within a scope: it ends with the block, and any error rolls it back."""
        entering = scoping.entering(scoping.settings(scope), self.role, citus=self.citus)
        async with self._borrowed() as connection:
            transaction = Transaction(self, connection, (begin, *entering))
            try:
                yield transaction
                await transaction.end()
            finally:
                try:
                    await transaction.leave()
                finally:
                    await self._roll_back(connection)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """A connection in a transaction as our role, for the registry: no scope, so no memory."""
        entering = scoping.entering(scoping.settings(None), self.role, citus=self.citus)
        async with self._borrowed() as connection, connection.transaction():
            await send(connection, entering, None)
            yield connection

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Connection]:
        """A connection of the pool for one block, whose driver errors leave as ours.

        Whoever borrows it ends its transaction; the pool's own block would do so once more.
        """
        if self.closed:
            raise DatabaseClosed
        with translated():
            connection = await self._pool.getconn()
            try:
                yield connection
            finally:
                await self._pool.putconn(connection)

    async def _roll_back(self, connection: Connection) -> None:
        """End a transaction that its statements did not."""
        if connection.pgconn.transaction_status in _OPEN:
            await send(connection, [_ROLLBACK], None)


class Administration:
    """Connections of a login that may create roles and schemas; one at a time, none is kept.

    A memory, a session and the Actor's objects do not hold it: they know only the database.
    """

    def __init__(self, dsn: str):
        self._dsn = dsn
        self._closed = False

    def close(self) -> None:
        """Refuse to administer anything from now on."""
        self._closed = True

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection of its own, in autocommit."""
        if self._closed:
            raise DatabaseClosed
        with translated():
            connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True)
            async with connection:
                yield connection


async def fetch(
    connection: psycopg.AsyncConnection[Any], path: str, title: str, **values: Any
) -> Rows:
    """Run a named query of ours on a connection as it is; its rows, if it gives any."""
    cursor = await connection.execute(raw(templates.query(path, title)), values or None)
    return await cursor.fetchall() if cursor.description else []


class RolePool(LivePool[Pooled]):
    """A pool for others' code that speaks to the database itself: the queue's, the checkpointer's.

    Such code knows neither our roles nor our schemas. So every loan is one transaction in which
    role and search path are set before it is handed out, and local to it: behind a pooler in
    transaction mode nothing of them is lost, and nobody inherits them.
    """

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
        entering = scoping.entering(path, role, citus=False)
        self._entering = (BoundStatement(Statement(begin)), *entering)

    @asynccontextmanager
    async def connection(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - the pool's own signature
    ) -> AsyncIterator[Pooled]:
        """A connection for one transaction, committed at the end; an error rolls it back."""
        async with super().connection(timeout) as connection:
            await send(connection, self._entering, None)
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
