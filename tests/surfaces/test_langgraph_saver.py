"""LangGraph's checkpointer in a schema of its own, in the same database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import psycopg
import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph

from idetic import Principal, errors
from idetic.store.checkpoints import Checkpoints
from idetic.surfaces import langgraph
from idetic.surfaces.langgraph import open_saver, prune, thread
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio


class Count(TypedDict):
    n: int


def counting(saver: AsyncPostgresSaver) -> Any:
    """A graph that counts to three, one checkpoint for each step."""
    graph = StateGraph(Count)
    graph.add_node("add", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", lambda state: END if state["n"] >= 3 else "add")
    return graph.compile(checkpointer=saver)


async def test_the_saver_passes_langgraphs_own_conformance_tests(frameworks: Frameworks) -> None:
    @checkpointer_test(name="idetic")
    async def ours() -> AsyncIterator[AsyncPostgresSaver]:
        async with open_saver(frameworks.db) as saver:
            yield saver

    report = await validate(ours)
    told = {
        name: (result.passed, result.tests_passed, result.tests_failed, result.failures)
        for name, result in report.results.items()
        if result.passed is not None
    }
    assert report.passed_all_base(), told
    assert all(passed for passed, *_ in told.values()), told
    assert sum(count for _, count, *_ in told.values()) > 40


async def test_its_tables_lie_in_their_own_schema(lone_frameworks: Frameworks) -> None:
    async with open_saver(lone_frameworks.db, lone_frameworks.agent) as saver:
        await counting(saver).ainvoke({"n": 0}, thread(lone_frameworks.memory(), "1"))
    with psycopg.connect(lone_frameworks.database.admin_dsn) as connection:
        found = connection.execute(
            "SELECT schemaname, tablename, tableowner FROM pg_tables WHERE tablename ~ 'checkpoint'"
        ).fetchall()
        rows = connection.execute("SELECT count(*) FROM langgraph.checkpoints").fetchone()
    assert {name for name, *_ in found} == {"langgraph"}
    assert {owner for *_, owner in found} == {"idetic_owner"}
    assert len(found) == 4
    assert rows is not None
    assert rows[0] > 3


async def test_its_connections_act_as_the_application(frameworks: Frameworks) -> None:
    checkpoints = Checkpoints(frameworks.db.database, "langgraph")
    async with open_saver(frameworks.db):
        pass
    async with checkpoints.pool(1) as pool, pool.connection() as connection:
        cursor = await connection.execute("SELECT current_user AS role")
        assert await cursor.fetchone() == {"role": "idetic_app"}
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute("CREATE TABLE mine ()")


async def test_several_can_set_it_up_at_once(lone_frameworks: Frameworks) -> None:
    async def opened() -> None:
        async with open_saver(lone_frameworks.db):
            pass

    await asyncio.gather(*(opened() for _ in range(4)))
    await opened()


async def test_a_thread_belongs_to_its_scope(frameworks: Frameworks) -> None:
    one, other = frameworks.memory("acme"), frameworks.memory("zeta")
    async with open_saver(frameworks.db) as saver:
        graph = counting(saver)
        await graph.ainvoke({"n": 0}, thread(one, "1"))
        assert (await graph.aget_state(thread(one, "1"))).values == {"n": 3}
        assert (await graph.aget_state(thread(other, "1"))).values == {}
    ids = [
        thread(frameworks.memory(tenant, space), name)["configurable"]["thread_id"]
        for tenant, space, name in [
            ("a", "b", "c/d"), ("a", "b/c", "d"), ("a/b", "c", "d"), ("a", "b", "c%2Fd")
        ]
    ]  # fmt: skip
    assert len(set(ids)) == 4
    with pytest.raises(errors.InputError):
        thread(one, "")


async def history(saver: AsyncPostgresSaver, config: Any) -> int:
    return len([checkpoint async for checkpoint in saver.alist(config)])


async def test_silent_threads_are_pruned(lone_frameworks: Frameworks) -> None:
    lone_frameworks.clock.moment = datetime.now(UTC)
    keeper = lone_frameworks.bind(Principal.maintenance("keeper"))
    old, new = (thread(lone_frameworks.memory(), name) for name in ("old", "new"))
    async with open_saver(lone_frameworks.db) as saver:
        graph = counting(saver)
        await graph.ainvoke({"n": 0}, old)
        assert await history(saver, old) == 5
        assert await prune(keeper, saver, silent_for=timedelta(hours=1)) == []
        lone_frameworks.clock.moment = datetime.now(UTC)
        await graph.ainvoke({"n": 0}, new)
        pruned = await prune(keeper, saver, silent_for=timedelta(0))
        assert pruned == [old["configurable"]["thread_id"]]
        assert await history(saver, old) == 1, "where it stands is kept"
        assert (await graph.aget_state(old)).values == {"n": 3}
        assert await history(saver, new) == 5
        await prune(keeper, saver, silent_for=timedelta(0), strategy="delete")
        assert await history(saver, old) == 0
        with pytest.raises(errors.InputError):
            await prune(keeper, saver, silent_for=timedelta(days=-1))


@pytest.fixture
async def others(lone_frameworks: Frameworks) -> AsyncIterator[tuple[AsyncPostgresSaver, Any]]:
    """A saver, and a silent thread of a tenant whom nobody here is bound to."""
    theirs = thread(lone_frameworks.memory("zeta"), "1")
    async with open_saver(lone_frameworks.db) as saver:
        await counting(saver).ainvoke({"n": 0}, theirs)
        lone_frameworks.clock.moment = datetime.now(UTC)
        yield saver, theirs


async def test_nobody_prunes_anothers_threads(
    lone_frameworks: Frameworks, others: tuple[AsyncPostgresSaver, Any]
) -> None:
    saver, theirs = others
    for tenant, space in (("acme", "support"), ("zet", "support"), ("zeta", "suppor")):
        keeper = lone_frameworks.bind(Principal.maintenance("keeper"), tenant, space)
        assert await prune(keeper, saver, silent_for=timedelta(0), strategy="delete") == []
    own = lone_frameworks.memory("zeta")
    with pytest.raises(errors.CapabilityRefused, match="may not maintain"):
        await prune(own, saver, silent_for=timedelta(0), strategy="delete")
    assert await history(saver, theirs) == 5


async def test_control_without_a_scope_they_go(
    lone_frameworks: Frameworks,
    others: tuple[AsyncPostgresSaver, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saver, theirs = others
    monkeypatch.setattr(langgraph, "thread_prefix", lambda _: "")
    keeper = lone_frameworks.bind(Principal.maintenance("keeper"))
    await prune(keeper, saver, silent_for=timedelta(0), strategy="delete")
    assert await history(saver, theirs) == 0
