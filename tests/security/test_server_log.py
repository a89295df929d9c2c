"""The text of a refused note is in no log of the server, as PostgreSQL logs by default.

A statement that fails is logged with its text, so a note may not be part of that text. The embedded
server logs less than that; here one of its databases logs as any other server's does.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from idetic import IdeticError, Ref, errors
from idetic.store.embedded import EmbeddedServer
from tests.conftest import RULE_TEXT, TestDatabase, World

pytestmark = pytest.mark.anyio

# PostgreSQL's own defaults, which the embedded server's settings are stricter than.
DEFAULTS = {
    "log_min_messages": "warning",
    "log_min_error_statement": "error",
    "log_error_verbosity": "default",
    "log_statement": "none",
    "log_parameter_max_length_on_error": "0",
}
PATIENCE = 10.0


@pytest.fixture
def database(database: TestDatabase) -> TestDatabase:
    """A database that logs as PostgreSQL does by default, from the next connection on."""
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        for name, value in DEFAULTS.items():
            connection.execute(
                sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                    sql.Identifier(connection.info.dbname), sql.Identifier(name), value
                )
            )
    return database


def logged(server: EmbeddedServer, database: TestDatabase) -> str:
    """All that the server has logged up to now."""
    last = f"last{uuid4().hex}"
    fail_with(database, last)
    deadline = time.monotonic() + PATIENCE
    while last not in (text := server.log_path.read_text("utf-8", errors="replace")):
        assert time.monotonic() < deadline, "a statement that fails is logged with its text"
        time.sleep(0.02)
    return text


def fail_with(database: TestDatabase, text: str) -> None:
    """A statement that fails, and has a text in it that does not make it fail."""
    with (
        psycopg.connect(database.dsn, autocommit=True) as connection,
        pytest.raises(pg.DivisionByZero),
    ):
        connection.execute(sql.SQL("SELECT 1 / 0, {}").format(sql.Literal(text)))


# --- the ways in which a note is refused by the database ----------------------------------------

Refused = Callable[[World, TestDatabase, str], Awaitable[object]]


async def restating(world: World, _: TestDatabase, canary: str) -> object:
    async with world.memory.session() as session:
        return await session.observe(f"{RULE_TEXT} {canary}")


async def too_long(world: World, database: TestDatabase, canary: str) -> object:
    """The gateway has the same limit, so the database's is made smaller."""
    with psycopg.connect(database.admin_dsn) as admin:
        admin.execute(
            "ALTER DOMAIN worlds.world_agent_note ADD CHECK (length(VALUE) < 10) NOT VALID"
        )
    return await world.operator.prefer(f"Call {canary} first.")


async def about_nothing(world: World, _: TestDatabase, canary: str) -> object:
    async with world.memory.session() as session:
        return await session.observe(f"Of {canary}.", refs=[Ref("rule", uuid4())])


async def after_the_end(world: World, _: TestDatabase, canary: str) -> object:
    session = await world.memory.session().open()
    await session.close()
    late = world.memory.session(session.id)
    late._open = True  # as if another process had opened it
    return await late.observe(f"Too late for {canary}.")


async def under_a_key_that_is_taken(world: World, _: TestDatabase, canary: str) -> object:
    await world.operator.prefer("Call first.", idempotency_key="one")
    return await world.operator.prefer(f"Call {canary} first.", idempotency_key="one")


REFUSALS: dict[Refused, type[IdeticError]] = {
    restating: errors.ShadowRefused,
    too_long: errors.InputError,
    about_nothing: errors.ReferenceNotFound,
    after_the_end: errors.ScopeClosed,
    under_a_key_that_is_taken: errors.IdempotencyConflict,
}


@pytest.mark.parametrize("write", REFUSALS, ids=lambda write: write.__name__)
async def test_what_is_refused_is_not_in_the_log(
    world: World, database: TestDatabase, embedded_server: EmbeddedServer, write: Refused
) -> None:
    canary = f"kanarie{uuid4().hex[:6]}"
    with pytest.raises(REFUSALS[write]):
        await write(world, database, canary)
    assert canary not in logged(embedded_server, database)


def test_control_a_text_within_a_statement_that_fails_is_in_the_log(
    database: TestDatabase, embedded_server: EmbeddedServer
) -> None:
    canary = f"kanarie{uuid4().hex[:6]}"
    fail_with(database, f"{RULE_TEXT} {canary}")
    assert canary in logged(embedded_server, database)
