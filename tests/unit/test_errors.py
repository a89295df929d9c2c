"""Every error a user can meet says what happened, what to do, and the same to every surface."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus

import psycopg
import pytest
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout

import idetic
from idetic import IdeticError, errors
from idetic.store.driver import translate, translated


def every_error() -> list[type[IdeticError]]:
    """The root and all that inherit from it, in every module of the package."""
    for module in pkgutil.walk_packages(idetic.__path__, "idetic."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return sorted({IdeticError, *_below(IdeticError)}, key=lambda error: error.__name__)


def _below(error: type[IdeticError]) -> Iterator[type[IdeticError]]:
    for child in error.__subclasses__():
        if child.__module__.startswith("idetic."):
            yield child
            yield from _below(child)


EVERY = every_error()
each = pytest.mark.parametrize("error", EVERY, ids=lambda error: error.__name__)


@each
def test_it_says_what_happened(error: type[IdeticError]) -> None:
    said = inspect.cleandoc(error.__doc__ or "")
    assert error.__doc__ != (error.__base__.__doc__ if error.__base__ else None)
    assert re.match(r"[A-Z].*\.$", said.splitlines()[0]), "the docstring is the default message"


@each
def test_it_says_what_to_do_next(error: type[IdeticError]) -> None:
    assert re.match(r"[A-Z].*[.)]$", error.remedy)
    assert 12 <= len(error.remedy) <= 200


@each
def test_it_has_a_status_and_an_exit_code(error: type[IdeticError]) -> None:
    assert 400 <= HTTPStatus(error.http_status) <= 599
    assert 1 <= error.exit_code <= 9, "0 is success, and shells keep the high ones"


@each
def test_it_reads_as_message_and_remedy(error: type[IdeticError]) -> None:
    parameters = inspect.signature(error).parameters
    made = error() if "problems" not in parameters else error([])  # type: ignore[arg-type]
    assert str(made).endswith(made.remedy)
    assert isinstance(made, IdeticError)
    assert pickle.loads(pickle.dumps(made)).args == made.args  # noqa: S301 - our own


def test_no_two_errors_share_a_code() -> None:
    codes = Counter(error.code for error in EVERY)
    assert [code for code, times in codes.items() if times > 1] == []
    assert all(re.fullmatch(r"[a-z][a-z_]+", code) for code in codes)


def test_a_message_and_a_remedy_of_ones_own_come_first() -> None:
    made = errors.InputError("The cup is full.", remedy="Drink.", cup=1)
    assert str(made) == "The cup is full. Drink."
    assert made.detail == {"cup": 1}
    assert errors.InputError.remedy != "Drink.", "the class keeps its own"


def test_an_error_survives_a_process_boundary() -> None:
    """Workers hand errors over by pickle; message, remedy and detail must come along."""
    made = errors.ShadowRefused("It restates a rule.", remedy="Reference it.", noun="rule")
    again = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
    assert (type(again), str(again), again.detail) == (type(made), str(made), made.detail)


DRIVER = [
    (pg.ForeignKeyViolation, errors.ReferenceNotFound),
    (pg.CheckViolation, errors.InputError),
    (pg.UntranslatableCharacter, errors.InputError),
    (pg.NumericValueOutOfRange, errors.InputError),
    (pg.InsufficientPrivilege, errors.CapabilityRefused),
    (pg.DeadlockDetected, errors.Busy),
    (pg.SerializationFailure, errors.Busy),
    (pg.LockNotAvailable, errors.Busy),
    (pg.QueryCanceled, errors.Busy),
    (pg.TooManyConnections, errors.Busy),
    (pg.DiskFull, errors.DatabaseUnavailable),
    (pg.UndefinedTable, errors.SpecChanged),
    (pg.UndefinedFunction, errors.SpecChanged),
    (pg.AdminShutdown, errors.DatabaseUnavailable),
    (pg.CannotConnectNow, errors.DatabaseUnavailable),
    (pg.ConnectionFailure, errors.DatabaseUnavailable),
    (psycopg.OperationalError, errors.DatabaseUnavailable),
    (pg.SyntaxError, errors.DatabaseError),
]


@pytest.mark.parametrize(("driver", "wanted"), DRIVER, ids=lambda value: value.__name__)
def test_what_the_driver_raises_becomes_an_error_of_ours(
    driver: type[psycopg.Error], wanted: type[IdeticError]
) -> None:
    secret = 'relation "worlds.secret" at character 7: SELECT body_text'
    said = translate(driver(secret))
    assert type(said) is wanted
    assert "secret" not in str(said)
    assert "SELECT" not in str(said)


@pytest.mark.parametrize(
    ("driver", "wanted"), [(PoolClosed, errors.DatabaseClosed), (PoolTimeout, errors.Busy)]
)
def test_what_the_pool_raises_becomes_an_error_of_ours(
    driver: type[Exception], wanted: type[IdeticError]
) -> None:
    with pytest.raises(wanted) as caught, translated():
        raise driver("the pool 'pool-1' is closed")
    assert "pool-1" not in str(caught.value)
    assert caught.value.__suppress_context__, "no driver text in a traceback's chain either"


def test_our_own_errors_pass_untouched() -> None:
    made = errors.EntryNotFound()
    with pytest.raises(errors.EntryNotFound) as caught, translated():
        raise made
    assert caught.value is made
