"""Role and scope are local to each transaction: a connection that comes back knows neither.

Whoever borrows it next, or whomever a pooler hands the server to, begins as the login and bound to
nobody. Every connection is looked at whenever it comes back to its pool, the application's, a
persona's, the queue's or the checkpointer's. The control makes the settings last and finds them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from uuid import uuid4

import anyio
import pytest

from idetic import Idetic, Principal, Rule, errors
from idetic.jobs.worker import Pace, Worker
from idetic.surfaces.langgraph import open_saver, thread
from tests.conftest import RULE_TEXT, TestDatabase, World, make_world
from tests.support.databases import copy_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.forgetful import lasting
from tests.support.logins import login
from tests.support.persona import remembering, task, thought
from tests.support.returned_connections import Returned, watching
from tests.support.servers import TestServer
from tests.support.worker_process import QUICK

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

Operation = Callable[[Idetic, World], Awaitable[object]]


async def observe(_: Idetic, world: World) -> None:
    async with world.memory.session() as session, session.interaction() as turn:
        await turn.observe("Wires leave at noon.", refs=[Rule(world.rule.id)])


async def recall(_: Idetic, world: World) -> None:
    await world.memory.recall("wires")
    await world.memory.context("When do wires leave?")


async def list_(_: Idetic, world: World) -> None:
    await world.operator.list()


async def list_across(_: Idetic, world: World) -> None:
    """With a key of the anchor left open."""
    auditor = Principal.auditor("eve")
    await world.agent.bind(org_id=world.org_id, principal=auditor).list()


async def close(_: Idetic, world: World) -> None:
    session = await world.memory.session().open()
    await session.observe("Desk 1 was closed.")
    await session.close()


async def erase(_: Idetic, world: World) -> None:
    await world.operator.prefer("Call Ada Lovelace first.")
    erased = await world.operator.erase("Ada Lovelace", reason="asked for it")
    assert erased.found


async def verify(_: Idetic, world: World) -> None:
    auditor = world.bind(Principal.auditor("eve"))
    await auditor.verify(await auditor.head())


async def export(_: Idetic, world: World) -> None:
    assert b"".join([chunk async for chunk in world.operator.export()])


async def refused(_: Idetic, world: World) -> None:
    """A statement that fails, within a transaction and alone."""
    with pytest.raises(errors.EntryNotFound):
        await world.operator.archive(uuid4(), reason="there is none")
    async with world.memory.session() as session:
        with pytest.raises(errors.ShadowRefused):
            await session.observe(RULE_TEXT)


async def authenticate(db: Idetic, world: World) -> None:
    made = await db.keys.create(
        agent="world_agent",
        principal=Principal.operator("ada"),
        anchor={"org_id": world.org_id, "domain_id": world.domain_id},
    )
    await (await db.authenticate(made.key)).list()


async def job(db: Idetic, world: World) -> None:
    async with world.memory.session() as session:
        await session.observe("Wires leave at noon.")
    counts = await Worker(db, pace=Pace(**QUICK)).drain()
    assert counts.attempts


async def persona_append(db: Idetic, _: World) -> None:
    memory = await remembering(db)
    await task(memory, "When does the train leave?", "At noon.")
    await thought(memory, "They ask about trains.")


async def persona_recall(db: Idetic, _: World) -> None:
    memory = await remembering(db)
    await memory.actor.rag_query("train")
    await memory.subconscious.rag_query("train")
    await memory.dream()


async def checkpoint(db: Idetic, world: World) -> None:
    async with open_saver(db) as saver:
        assert await saver.aget_tuple(thread(world.memory, "1")) is None


OPERATIONS: tuple[Operation, ...] = (
    *(observe, recall, list_, list_across, close, erase, verify, export, refused),
    *(authenticate, job, persona_append, persona_recall, checkpoint),
)
each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda made: made.__name__.strip("_"))


@pytest.fixture
def place(server: TestServer, template: str) -> Iterator[TestDatabase]:
    with copy_of(server, template) as database:
        yield database


@asynccontextmanager
async def watched(
    database: TestDatabase, patch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Idetic, World, Returned]]:
    """A world, opened with a login that is no role of ours, so that one which is left on shows."""
    with login(database) as (name, dsn):
        opened = Idetic.open(dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
        async with opened as db:
            world = await make_world(db, await db.agent("world_agent"))
            with patch.context() as watch:
                yield db, world, watching(watch, name)


@each
async def test_a_connection_comes_back_as_its_login_and_bound_to_nobody(
    place: TestDatabase, monkeypatch: pytest.MonkeyPatch, operation: Operation
) -> None:
    async with watched(place, monkeypatch) as (db, world, returned):
        await operation(db, world)
    assert returned.count
    assert returned.faults == []


@each
async def test_control_a_plain_set_is_seen(
    place: TestDatabase, monkeypatch: pytest.MonkeyPatch, operation: Operation
) -> None:
    lasting(monkeypatch.setattr)
    async with watched(place, monkeypatch) as (db, world, returned):
        await operation(db, world)
    assert returned.faults


async def test_whoever_is_cancelled_leaves_nothing_either(
    place: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(place, monkeypatch) as (_, world, returned):
        took, cancelled = 0.0, 0
        for number in range(40):
            before = anyio.current_time()
            # Every other one is let be, and says how long one takes; the next ends within that.
            patience = took * number / 40 if number % 2 else None
            with anyio.move_on_after(patience) as scope:
                await world.operator.prefer(f"Call desk {number} first.")
                took = anyio.current_time() - before
            cancelled += scope.cancelled_caught
    assert cancelled > 5, "somewhere on the way"
    assert returned.count > 20, "as many come back as were let be"
    assert returned.faults == []
