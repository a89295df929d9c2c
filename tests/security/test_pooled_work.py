"""Whatever speaks to the database, for several tenants at once over a pooler.

Every operation of the canaries, persona memory, background jobs, LangGraph's checkpoints.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypedDict

import anyio
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph

from idetic import Idetic, Principal
from idetic.jobs.worker import Pace, Worker
from idetic.persona.events import Persona
from idetic.persona.identity import default_heuristics
from idetic.persona.persona_memory import PersonaMemory
from idetic.surfaces.langgraph import open_saver, thread
from tests.conftest import TestDatabase, World, make_world
from tests.security.test_canaries import FEW, sailed, settled
from tests.support.canaries import MIX
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import remembering, task, thought
from tests.support.pooled import PooledDatabase, pooled
from tests.support.servers import TestServer
from tests.support.worker_process import QUICK

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

TIMES, PATIENCE = 300, 60.0
TENANTS = ("acme", "zeta")


@pytest.fixture(params=[1, 3], ids=["one", "three"])
def through(
    request: pytest.FixtureRequest, server: TestServer, database: TestDatabase
) -> Iterator[PooledDatabase]:
    """A database behind so many server connections."""
    with pooled(server, database, request.param) as made:
        yield made


@pytest.fixture
async def db(through: PooledDatabase) -> AsyncIterator[Idetic]:
    dsn, admin_dsn = through.database.dsn, through.database.admin_dsn
    async with Idetic.open(dsn, admin_dsn=admin_dsn, embedder=FakeEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("connections", [1, 3])
async def test_no_operation_shows_another_tenants_canary(
    server: TestServer, template: str, connections: int
) -> None:
    async with settled(server, template, FEW) as (database, tenants):
        with pooled(server, database, connections) as through:
            fleet = await sailed(through.database, tenants, TIMES)
            assert through.remains() == {}
    assert fleet.leaks == []
    assert set(fleet.done) == set(MIX), "everything was tried"
    assert fleet.own > TIMES / 3, "one's own canary is seen all the time"


# --- persona memory -----------------------------------------------------------------------------


async def test_personas_of_two_tenants_stay_apart(db: Idetic, through: PooledDatabase) -> None:
    """The same agent for both, so that only the tenant tells them apart."""
    memories = {tenant: await remembering(db, tenant=tenant) for tenant in TENANTS}
    async with anyio.create_task_group() as group:
        for tenant, memory in memories.items():
            group.start_soon(live, memory, tenant)
            group.start_soon(live, memory, tenant)
    for tenant, memory in memories.items():
        for view in (memory.actor, memory.subconscious):
            assert foreign([*await view.tail(), *await view.window(limit=100)], tenant) == set()
        assert (await memory.actor.verify()).whole
    assert through.remains() == {}


def foreign(found: list[Any], tenant: str) -> set[str]:
    """Which other tenants are named in what was found; the own one always is."""
    said = " ".join(map(text_of, found))
    assert tenant in said
    return {other for other in TENANTS if other != tenant and other in said}


def text_of(found: Any) -> str:
    """What an event, an entry or a note says; a hit's entry. Their representations keep it back."""
    row = getattr(found, "entry", found)
    parts = (getattr(row, part, "") for part in ("content", "summary", "text"))
    return " ".join(parts)


async def live(memory: PersonaMemory, tenant: str) -> None:
    """Loops of both personas, and questions in between; whatever is found is the tenant's."""
    loose = default_heuristics(Persona.ACTOR).model_copy(update={"threshold": 0})
    for number in range(3):
        await task(memory, f"When does {tenant} open?", f"{tenant} opens at {number}.")
        await thought(memory, f"{tenant} is curious, time {number}.")
        await memory.note(f"{tenant} asks often.")
        found: list[Any] = [
            *await memory.actor.rag_query("who opens when", limit=50),
            *await memory.actor.fuzzy_query("who opens when", loose),
            *await memory.actor.window(50),
            *await memory.actor.operational_notes(),
            *await memory.subconscious.rag_query("who is curious", limit=50),
        ]
        assert foreign(found, tenant) == set()
    await memory.dream()


# --- background jobs ----------------------------------------------------------------------------


async def test_a_worker_does_the_jobs_of_two_tenants(db: Idetic, through: PooledDatabase) -> None:
    agent = await db.agent("world_agent")
    worlds = [await make_world(db, agent) for _ in TENANTS]
    for world in worlds:
        await world.operator.prefer("Call before a wire is released.")
    counts = await Worker(db, pace=Pace(**QUICK)).drain()
    assert (counts.failed, counts.retried) == (0, 0)
    assert [await waiting(world) for world in worlds] == [0, 0]
    assert through.remains() == {}


async def test_a_worker_that_stays_finds_what_comes_later(
    db: Idetic, through: PooledDatabase
) -> None:
    agent = await db.agent("world_agent")
    worlds = [await make_world(db, agent) for _ in TENANTS]
    worker = Worker(db, pace=Pace(**QUICK))
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        for number in range(3):
            for world in worlds:
                await world.operator.prefer(f"Call desk {number} before a wire is released.")
            with anyio.fail_after(PATIENCE):
                # The database sets no event that could be waited for.
                while any([await waiting(world) for world in worlds]):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
        worker.stop()
    assert (worker.counts.failed, worker.counts.retried) == (0, 0)
    for world in worlds:
        (found,) = await world.operator.list(limit=1)
        assert found.anchor["org_id"] == world.org_id
    assert through.remains() == {}


async def waiting(world: World) -> int:
    """How many entries of a tenant have no vector yet."""
    return len(await world.operator.unembedded())


# --- LangGraph's checkpoints --------------------------------------------------------------------


class Count(TypedDict):
    n: int
    whose: str


def counting(saver: AsyncPostgresSaver) -> Any:
    """A graph that counts to three, one checkpoint for each step."""
    graph = StateGraph(Count)
    graph.add_node("add", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", lambda state: END if state["n"] >= 3 else "add")
    return graph.compile(checkpointer=saver)


async def test_graphs_of_two_tenants_go_on_from_their_own_state(
    db: Idetic, through: PooledDatabase
) -> None:
    agent = await db.agent("framework_agent")
    async with open_saver(db) as saver:
        graph = counting(saver)

        async def run(tenant: str, name: str) -> None:
            memory = agent.bind(tenant_id=tenant, space="desk", principal=Principal.agent("app"))
            place = thread(memory, name)
            await graph.ainvoke({"n": 0, "whose": tenant}, place)
            assert (await graph.aget_state(place)).values == {"n": 3, "whose": tenant}
            steps = [step async for step in graph.aget_state_history(place)]
            assert {step.values.get("whose", tenant) for step in steps} == {tenant}

        async with anyio.create_task_group() as group:
            for name in ("a", "b", "c"):
                for tenant in TENANTS:
                    group.start_soon(run, tenant, name)
    assert through.remains() == {}
