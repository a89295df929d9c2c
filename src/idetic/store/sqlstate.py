"""SQLSTATEs become Idetic errors here and nowhere else; no driver text reaches a user.

Our functions raise class `ID` with a message that starts with `idetic.<code>:`. Citus may
report such an error from a worker as XX000, so the prefix counts as much as the state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout

from idetic import errors

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
}

_BUSY = (
    *(pg.DeadlockDetected, pg.SerializationFailure, pg.LockNotAvailable),
    *(pg.QueryCanceled, pg.TooManyConnections, pg.DiskFull),
)
_OUT_OF_BOUNDS = (pg.CheckViolation, pg.DataError, pg.NotNullViolation, pg.UniqueViolation)
_UNDEFINED = (pg.UndefinedTable, pg.UndefinedFunction, pg.InvalidSchemaName)
_NO_RIGHT = "The database role has no right to do this."
_BY_KIND = (
    ((pg.ForeignKeyViolation,), errors.ReferenceNotFound),
    (_OUT_OF_BOUNDS, partial(errors.InputError, "The database's own bounds refused this write.")),
    ((pg.InsufficientPrivilege,), partial(errors.CapabilityRefused, _NO_RIGHT)),
    (_BUSY, errors.Busy),
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
