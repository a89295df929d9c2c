"""Real graphs with Idetic behind them: the store in its nodes, the saver under its threads."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt

from idetic import Principal, open_sync
from idetic.surfaces.langgraph import IdeticStore, open_saver, thread
from tests.conftest import TestDatabase
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Count(TypedDict):
    n: int


async def answer(state: State, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
    """A model that remembers what it is told, and says what it remembers."""
    namespace = ("memories", config["configurable"]["user"])
    said = str(state["messages"][-1].content)
    if said.startswith("Remember: "):
        await store.aput(namespace, str(len(state["messages"])), {"text": said[10:]})
        return {"messages": [AIMessage("Noted.")]}
    found = await store.asearch(namespace, query=said, limit=1)
    text = found[0].value["text"] if found else "I don't know."
    return {"messages": [AIMessage(text)]}


def configured(frameworks: Frameworks, name: str, user: str = "ada") -> Any:
    config = thread(frameworks.memory(), name)
    config["configurable"]["user"] = user
    return config


async def test_a_graph_remembers_across_threads_and_runs(frameworks: Frameworks) -> None:
    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    store = IdeticStore(frameworks.memory())

    async def ask(graph: Any, text: str, config: Any) -> str:
        done = await graph.ainvoke({"messages": [HumanMessage(text)]}, config)
        return str(done["messages"][-1].content)

    async with open_saver(frameworks.db) as saver:
        graph = builder.compile(checkpointer=saver, store=store)
        one, two = configured(frameworks, "1"), configured(frameworks, "2")
        assert await ask(graph, "Remember: Ada drinks green tea.", one) == "Noted."
        assert await ask(graph, "Remember: Deployments are on Thursdays.", one) == "Noted."
        assert await ask(graph, "Which tea does Ada drink?", two) == "Ada drinks green tea."
        other = configured(frameworks, "3", user="ben")
        assert await ask(graph, "Which tea does Ada drink?", other) == "I don't know."
        assert len((await graph.aget_state(one)).values["messages"]) == 4

    async with open_saver(frameworks.db) as saver:  # another run of the program
        graph = builder.compile(checkpointer=saver, store=IdeticStore(frameworks.memory()))
        assert len((await graph.aget_state(one)).values["messages"]) == 4
        assert await ask(graph, "When are deployments?", one) == "Deployments are on Thursdays."
        assert len((await graph.aget_state(one)).values["messages"]) == 6


async def test_a_graph_that_was_interrupted_goes_on_where_it_was(frameworks: Frameworks) -> None:
    def approve(state: State, *, store: BaseStore) -> dict[str, Any]:
        """A blocking node, which LangGraph runs in a thread."""
        said = interrupt("May I keep this?")
        store.put(("approved",), "x", {"said": said})
        return {"messages": [AIMessage(f"Kept: {said}")]}

    builder = StateGraph(State)
    builder.add_node("approve", approve)
    builder.add_edge(START, "approve")
    config = configured(frameworks, "1")
    store = IdeticStore(frameworks.memory())
    async with open_saver(frameworks.db) as saver:
        graph = builder.compile(checkpointer=saver, store=store)
        await graph.ainvoke({"messages": [HumanMessage("secret plan")]}, config)
        assert await store.asearch(("approved",)) == []
    async with open_saver(frameworks.db) as saver:
        graph = builder.compile(checkpointer=saver, store=store)
        done = await graph.ainvoke(Command(resume="yes"), config)
    assert done["messages"][-1].content == "Kept: yes"
    item = await store.aget(("approved",), "x")
    assert item is not None
    assert item.value == {"said": "yes"}


def test_a_graph_runs_without_an_event_loop(framework_database: TestDatabase) -> None:
    def count(state: Count, *, store: BaseStore) -> dict[str, Any]:
        item = store.get(("counts",), "n")
        n = (item.value["n"] if item else 0) + 1
        store.put(("counts",), "n", {"n": n})
        return {"n": n}

    builder = StateGraph(Count)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    database = framework_database
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        memory = db.agent("framework_agent").bind(
            tenant_id="acme", space="x", principal=Principal.agent("app")
        )
        graph = builder.compile(store=IdeticStore(memory))
        assert [graph.invoke({"n": 0})["n"] for _ in range(3)] == [1, 2, 3]
