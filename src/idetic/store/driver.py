"""The driver: several statements in one round trip, and its errors told as Idetic errors.

The round trip is libpq's pipeline, driven by hand. psycopg's own serves cursors and prepares by
counting; for begin, enter, statement and commit it took 700 us on this path where this takes 90,
and one message of literals took 155.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors as pg
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, PipelineStatus
from psycopg.waiting import Ready, Wait
from psycopg_pool import PoolClosed, PoolTimeout

from idetic import errors
from idetic.telemetry import Metric, Name, measure

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.pq.abc import PGconn, PGresult

    from idetic.store.templates import BoundStatement
Rows = list[tuple[Any, ...]]
_INT4 = range(-(2**31), 2**31)
_INT4_OID = 23
_CACHE = Name("prepared_statement")


async def send(
    connection: AsyncConnection[Any], bound: Sequence[BoundStatement], known: set[bytes] | None
) -> list[Rows]:
    """Send statements together and wait for all of them; gives the rows of each.

    `known` are the names that this connection has prepared, updated here; without it nothing is
    prepared. The first failure is raised once everything is read: what came after it did not
    happen.
    """
    messages = _Messages(connection, known)
    for each in bound:
        messages.add(each)
    pgconn = connection.pgconn
    try:
        results = await connection.wait(_exchange(pgconn, messages.sends))
    finally:
        if pgconn.pipeline_status != PipelineStatus.OFF:
            # Half a pipeline is of no use to whoever borrows the connection next.
            await connection.close()
    for place, result in enumerate(results):
        if result.status == ExecStatus.FATAL_ERROR:
            error = pg.error_from_result(result, encoding=connection.info.encoding)
            messages.forget(place, error)
            raise error
    return [messages.rows(results[place]) for place in messages.places]


class _Messages:
    """The messages of one pipeline, and where among the results each statement's own stands."""

    def __init__(self, connection: AsyncConnection[Any], known: set[bytes] | None):
        self._pgconn: PGconn = connection.pgconn
        self._known = known
        self._values = Transformer(connection)
        self.sends: list[Callable[[], None]] = []
        self.places: list[int] = []
        # Which name each message prepares or runs.
        self._named: dict[int, bytes] = {}

    def add(self, bound: BoundStatement) -> None:
        """One statement with its values. A text that this connection has prepared stays here."""
        statement, pgconn = bound.statement, self._pgconn
        values, types = self._dumped(statement.bound(bound.values))
        form = int(statement.packed)
        if self._known is None or not statement.prepared:
            text = statement.encoded
            self._append(lambda: pgconn.send_query_params(text, values, types, None, form))
            return
        name = statement.name(tuple(types))
        measure(Metric.CACHE_LOOKUPS, cache=_CACHE, hit=name in self._known)
        if name not in self._known:
            self._known.add(name)
            text = statement.encoded
            self._named[len(self.sends)] = name
            self.sends.append(lambda: pgconn.send_prepare(name, text, types))
        self._named[len(self.sends)] = name
        self._append(lambda: pgconn.send_query_prepared(name, values, None, form))

    def _append(self, message: Callable[[], None]) -> None:
        """Queue a message whose result is a statement's own, and remember its place among all."""
        self.places.append(len(self.sends))
        self.sends.append(message)

    def _dumped(self, values: Sequence[Any]) -> tuple[list[bytes | None], list[int]]:
        """The values as the server reads them, each with the type that is said for it."""
        dumped: list[bytes | None] = []
        types: list[int] = []
        for value in values:
            if value is None:
                dumped.append(None)
                types.append(0)
                continue
            dumper = self._values.get_dumper(value, PyFormat.TEXT)
            sent = dumper.dump(value)
            dumped.append(None if sent is None else bytes(sent))
            # As in SQL, where a small number is an integer and no smallint.
            small = type(value) is int and value in _INT4
            types.append(_INT4_OID if small else dumper.oid)
        return dumped, types

    def forget(self, failed: int, error: pg.Error) -> None:
        """Forget names that were to be prepared after a failure, or that the server lacks."""
        if self._known is None:
            return
        kept = {name for place, name in self._named.items() if place < failed}
        lost = {name for place, name in self._named.items() if place > failed} - kept
        if isinstance(error, pg.InvalidSqlStatementName):
            lost.add(self._named[failed])
        elif failed in self._named:
            lost.discard(self._named[failed])
        self._known -= lost

    def rows(self, result: PGresult) -> Rows:
        """The rows of one result."""
        if result.status != ExecStatus.TUPLES_OK:
            return []
        self._values.set_pgresult(result)
        return self._values.load_rows(0, result.ntuples, tuple)


def _exchange(
    pgconn: PGconn, sends: Sequence[Callable[[], None]]
) -> Generator[Wait, Ready | int, list[PGresult]]:
    """Send all messages, then read all results; waits while the socket is not ready."""
    pgconn.enter_pipeline_mode()
    for send_one in sends:
        send_one()
    pgconn.pipeline_sync()
    while pgconn.flush():
        ready = yield Wait.RW
        if ready & Ready.R:
            # Or both sides wait: the server for us to read, we for it to read.
            pgconn.consume_input()
    results: list[PGresult] = []
    while True:
        while pgconn.is_busy():
            yield Wait.R
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:
            # None ends the results of one statement, unless the connection is gone.
            if pgconn.status == ConnStatus.BAD:
                raise pg.OperationalError("the connection to the server was lost")
            continue
        if result.status == ExecStatus.PIPELINE_SYNC:
            break
        results.append(result)
    pgconn.exit_pipeline_mode()
    return results


# --- errors -------------------------------------------------------------------------------------

# SQLSTATEs become Idetic errors here and nowhere else; no driver text reaches a user. Our functions
# raise class `ID` with a message that starts with `idetic.<code>:`. Citus may report such an error
# from a worker as XX000, so the prefix counts as much as the state.
_BY_CODE: dict[str, type[errors.IdeticError]] = {
    "append_only": errors.TransitionRefused,
    "idempotency_conflict": errors.IdempotencyConflict,
    "scope_closed": errors.ScopeClosed,
    "reference_not_found": errors.ReferenceNotFound,
    "anchor_not_found": errors.AnchorNotFound,
    "entry_not_found": errors.EntryNotFound,
    "transition": errors.TransitionRefused,
    "shadow": errors.ShadowRefused,
    "bad_job": errors.InputError,
    "anchor_taken": errors.AnchorTaken,
    "memory_moved": errors.MemoryMoved,
}

_BUSY = (
    *(pg.DeadlockDetected, pg.SerializationFailure, pg.LockNotAvailable),
    *(pg.QueryCanceled, pg.TooManyConnections),
)
_OUT_OF_BOUNDS = (pg.CheckViolation, pg.DataError, pg.NotNullViolation, pg.UniqueViolation)
_UNDEFINED = (pg.UndefinedTable, pg.UndefinedFunction, pg.InvalidSchemaName)
_NO_RIGHT = "The database role has no right to do this."
_FULL = partial(
    errors.DatabaseUnavailable,
    "The database's disk is full; nothing was written.",
    remedy="Make room where the database lies, then try again; a restart is not needed.",
)
_BY_KIND = (
    ((pg.ForeignKeyViolation,), errors.ReferenceNotFound),
    (_OUT_OF_BOUNDS, partial(errors.InputError, "The database's own bounds refused this write.")),
    ((pg.InsufficientPrivilege,), partial(errors.CapabilityRefused, _NO_RIGHT)),
    (_BUSY, errors.Busy),
    ((pg.DiskFull,), _FULL),
    (_UNDEFINED, partial(errors.SpecChanged, "This database lacks objects that the spec needs.")),
)


@contextmanager
def translated() -> Iterator[None]:
    """Run database work; whatever the driver raises leaves as an Idetic error."""
    try:
        yield
    except PoolClosed:
        raise errors.DatabaseClosed from None
    except PoolTimeout:
        raise errors.Busy("No database connection became free in time.") from None
    except psycopg.Error as error:
        raise translate(error) from None


@contextmanager
def privilege_needed(message: str, remedy: str) -> Iterator[None]:
    """Tell a login that lacks a right what it may not do, and what to do instead."""
    try:
        yield
    except pg.InsufficientPrivilege:
        raise errors.DatabaseUnsupported(message, remedy=remedy) from None


def translate(error: psycopg.Error) -> errors.IdeticError:
    """The Idetic error that says what a driver error means."""
    message = error.diag.message_primary or ""
    if message.startswith("idetic."):
        return _ours(message, error.diag.message_detail)
    if is_moving(error):
        return errors.Busy("Citus is moving this tenant's rows to another node.")
    for kinds, answer in _BY_KIND:
        if isinstance(error, kinds):
            return answer()
    if error.sqlstate is None or error.sqlstate.startswith(("08", "57P")):
        return errors.DatabaseUnavailable()
    return errors.DatabaseError(f"The database refused the statement (SQLSTATE {error.sqlstate}).")


def is_moving(error: psycopg.Error) -> bool:
    """Whether a statement came to a node of Citus from which the tenant's rows have just gone."""
    return (error.diag.message_primary or "").startswith("cannot execute a distributed query from")


def _ours(message: str, detail: str | None) -> errors.IdeticError:
    """The error that a function of ours raised in the database, by the code in its message."""
    code, _, text = message.removeprefix("idetic.").partition(": ")
    kind = _BY_CODE.get(code, errors.DatabaseError)
    fields: dict[str, Any] = {}
    if detail and detail.startswith("{"):
        fields = json.loads(detail)
    elif detail:
        fields = {"about": detail}
    return kind(f"{text[:1].upper()}{text[1:]}.", **fields)
