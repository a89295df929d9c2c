"""Recall's prepared statements: what client and server know of them may differ, and does behind
a pooler; a recall answers all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import pytest

from idetic import Idetic
from idetic.store.database import Connection, Database
from idetic.store.recalls import Recalls
from tests.conftest import World

pytestmark = pytest.mark.anyio

CONNECTIONS = 3


def recalls_of(world: World) -> Recalls:
    return world.agent.rooms.engine._recalls


@asynccontextmanager
async def pooled(database: Database) -> AsyncIterator[list[Connection]]:
    """Several connections of the pool at once: all of those that recalls will meet."""
    async with AsyncExitStack() as held:
        yield [await held.enter_async_context(database.reading()) for _ in range(CONNECTIONS)]


async def names_on(connection: Connection) -> set[str]:
    found = await connection.execute(
        "SELECT name FROM pg_prepared_statements WHERE name LIKE 'idetic_%'"
    )
    return {name for (name,) in await found.fetchall()}


async def told(world: World) -> Database:
    """A world with a note, asked once on each of several connections."""
    await world.operator.prefer("Answer in one sentence.")
    database = recalls_of(world)._prepared._database
    async with pooled(database):
        pass
    await ask_at_once(world)
    return database


async def ask_at_once(world: World) -> None:
    """As many recalls at once as there are connections, each of which must find the note."""

    async def ask() -> None:
        recall = await world.memory.recall("How long is an answer?")
        assert [entry.body_text for entry in recall.entries] == ["Answer in one sentence."]

    async with anyio.create_task_group() as group:
        for _ in range(CONNECTIONS):
            group.start_soon(ask)


async def test_a_recall_answers_after_the_server_forgot_its_statements(
    db: Idetic, world: World
) -> None:
    database = await told(world)
    async with pooled(database) as connections:
        before = [await names_on(connection) for connection in connections]
        for connection in connections:
            await connection.execute("DEALLOCATE ALL")
            assert await names_on(connection) == set()
    assert any(before), "they were prepared"
    await ask_at_once(world)
    async with pooled(database) as connections:
        after = [await names_on(connection) for connection in connections]
    assert set.union(*after) == set.union(*before), "prepared again, under the same names"


async def test_a_recall_answers_when_the_server_knows_a_name_that_the_client_forgot(
    db: Idetic, world: World
) -> None:
    database = await told(world)
    recalls_of(world)._prepared._known.clear()
    await ask_at_once(world)
    async with pooled(database) as connections:
        known = [
            recalls_of(world)._prepared._known.get(connection, set()) for connection in connections
        ]
        there = [await names_on(connection) for connection in connections]
    assert any(known)
    assert all(names <= found for names, found in zip(known, there, strict=True))


async def test_a_failed_attempt_leaves_no_scope_behind(db: Idetic, world: World) -> None:
    database = await told(world)
    async with pooled(database) as connections:
        for connection in connections:
            await connection.execute("DEALLOCATE ALL")
    await ask_at_once(world)
    async with pooled(database) as connections:
        for connection in connections:
            found = await connection.execute("SELECT current_setting('idetic.scope', true)")
            assert await found.fetchone() in ((None,), ("",))
