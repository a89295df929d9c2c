"""An erasure reaches the checkpoints of its anchor, and those of nobody else."""

from __future__ import annotations

from typing import Any, TypedDict

import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph

from idetic import Principal
from idetic.erasure import Erased, ErasedAnchor
from idetic.lifecycle import anchor_erasure, erasure
from idetic.store.threads import ErasedThreads
from idetic.surfaces.langgraph import open_saver, thread
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

ZORA = "Zora Quell"


class Told(TypedDict):
    text: str


def telling(saver: AsyncPostgresSaver) -> Any:
    """A graph whose state is a text."""
    graph = StateGraph(Told)
    graph.add_node("tell", lambda state: {"text": state["text"] + "!"})
    graph.add_edge(START, "tell")
    graph.add_edge("tell", END)
    return graph.compile(checkpointer=saver)


class Graphs:
    """Threads of two anchors, some of which name somebody."""

    def __init__(self, frameworks: Frameworks):
        self.frameworks = frameworks
        self.memory = frameworks.memory()
        self.operator = frameworks.bind(Principal.operator("ada"))
        self.other = frameworks.memory(space="another")

    async def run(self) -> None:
        """Let graphs run; each leaves its state."""
        async with open_saver(self.frameworks.db) as saver:
            graph = telling(saver)
            for memory, name, text in (
                (self.memory, "one", f"I am {ZORA} and like tea."),
                (self.memory, f"about {ZORA}", "Nothing."),
                (self.memory, "two", "Somebody likes tea."),
                (self.other, "one", f"{ZORA} is known here too."),
            ):
                await graph.ainvoke({"text": text}, thread(memory, name))

    def threads(self) -> set[str]:
        """Every thread of which anything is left, whosever it is."""
        found: set[str] = set()
        with psycopg.connect(self.frameworks.database.admin_dsn) as admin:
            for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
                rows = admin.execute(
                    f"SELECT DISTINCT thread_id FROM langgraph.{table}"  # noqa: S608 - ours
                )
                found |= {name for (name,) in rows}
        return {name for name in found if self.frameworks.own in name}

    def named(self, memory: Any, *names: str) -> set[str]:
        return {thread(memory, name)["configurable"]["thread_id"] for name in names}

    async def erase(self) -> Erased:
        return await self.operator.erase(ZORA, reason="request 1")

    async def erase_all(self) -> ErasedAnchor:
        return await self.operator.erase_anchor(reason="request 2")


async def test_threads_that_name_somebody_go(frameworks: Frameworks) -> None:
    graphs = Graphs(frameworks)
    await graphs.run()
    await graphs.memory.prefer(f"{ZORA} likes tea.")
    done = await graphs.erase()
    assert len(done.removed["checkpoints"]) == 2
    assert graphs.threads() == graphs.named(graphs.memory, "two") | graphs.named(
        graphs.other, "one"
    )
    assert not any("Zora" in one for one in done.removed["checkpoints"])
    assert [one.column for one in done.kept if one.table == "memory"] == ["indexes"]
    assert not (await graphs.erase()).found


async def test_of_a_whole_anchor_every_thread_goes(frameworks: Frameworks) -> None:
    graphs = Graphs(frameworks)
    await graphs.run()
    await graphs.memory.prefer("Tea, please.")
    done = await graphs.erase_all()
    assert done.removed["checkpoints"] == 3
    assert graphs.threads() == graphs.named(graphs.other, "one")
    assert {"memory", "anchors"} <= {one.table for one in done.kept}


async def test_an_agent_without_checkpoints_is_erased_all_the_same(
    lone_frameworks: Frameworks,
) -> None:
    """The framework's tables were never made."""
    memory = lone_frameworks.memory()
    await memory.prefer(f"{ZORA} likes tea.")
    done = await lone_frameworks.bind(Principal.operator("ada")).erase(ZORA, reason="request 1")
    assert list(done.removed) == ["memory"]


async def test_what_cannot_be_deleted_is_told(lone_frameworks: Frameworks) -> None:
    graphs = Graphs(lone_frameworks)
    await graphs.run()
    with psycopg.connect(lone_frameworks.database.admin_dsn) as admin:
        admin.execute("REVOKE DELETE ON langgraph.checkpoints FROM idetic_app")
    done = await graphs.erase()
    assert [(one.table, one.column) for one in done.kept] == [("checkpoints", "thread_id")]


async def test_control_without_it_the_state_stays(
    frameworks: Frameworks, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object) -> ErasedThreads:
        return ErasedThreads()

    for module in (erasure, anchor_erasure):
        monkeypatch.setattr(module, "erase_threads", nothing)
    graphs = Graphs(frameworks)
    await graphs.run()
    await graphs.erase()
    await graphs.erase_all()
    assert len(graphs.threads()) == 4
