"""Recall's prepared statements: what client and server know of them may differ, and does behind
a pooler; a recall answers all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import pytest

from idetic import Idetic
from idetic.store.database import _MOST_SURPRISES, Connection, Database
from tests.conftest import World

pytestmark = pytest.mark.anyio

CONNECTIONS = 3


def database_of(world: World) -> Database:
    """The door that recalls go through."""
    return world.agent.engine.recall.recalls.database


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
    database = database_of(world)
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


async def forget(database: Database, names: set[str] | None = None) -> set[str]:
    """Have the server forget these statements, or all, on each connection; all that it knew."""
    known: set[str] = set()
    async with pooled(database) as connections:
        for connection in connections:
            there = await names_on(connection)
            known |= there
            for name in there if names is None else there & names:
                await connection.execute(f"DEALLOCATE {name}")
            assert await names_on(connection) == (set() if names is None else there - names)
    return known


async def test_a_recall_answers_after_the_server_forgot_its_statements(
    db: Idetic, world: World
) -> None:
    database = await told(world)
    before = await forget(database)
    await ask_at_once(world)
    after = await forget(database)
    assert after, "they were prepared"
    assert after <= before, "under the same names"
    await ask_at_once(world)
    assert await forget(database) == after, "prepared again, under the same names"


@pytest.mark.parametrize("client", ["remembers all", "forgot all"])
async def test_a_recall_answers_when_the_server_forgot_some_of_its_statements(
    db: Idetic, world: World, client: str
) -> None:
    """And prepares them again: what differs once does not make it give up."""
    database = await told(world)
    await forget(database)
    await ask_at_once(world)
    async with pooled(database) as connections:
        all_of_them = set.union(*[await names_on(connection) for connection in connections])
    assert len(all_of_them) > 1, "who enters, and what is asked"
    for name in sorted(all_of_them):
        await forget(database, {name})
        if client == "forgot all":
            database._prepared.clear()
        database._surprises = 0
        await ask_at_once(world)
        assert database._surprises < _MOST_SURPRISES, name
        async with pooled(database) as connections:
            there = [await names_on(connection) for connection in connections]
        assert set.union(*there) == all_of_them, "prepared again"


async def test_where_the_server_never_knows_them_the_texts_travel(db: Idetic, world: World) -> None:
    database = await told(world)
    for _ in range(_MOST_SURPRISES + 1):
        await forget(database)
        await ask_at_once(world)
    assert database._surprises >= _MOST_SURPRISES
    await forget(database)
    await ask_at_once(world)
    assert await forget(database) == set(), "nothing is prepared any more"


async def test_a_recall_answers_when_the_server_knows_a_name_that_the_client_forgot(
    db: Idetic, world: World
) -> None:
    database = await told(world)
    assert any(database._prepared.values()), "control: it knew them"
    database._prepared.clear()
    await ask_at_once(world)
    assert database._surprises, "control: the server knew a name before it was told"
    async with pooled(database) as connections:
        known = [
            {name.decode() for name in database._prepared.get(connection, set())}
            for connection in connections
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
