"""LangChain's chat history in Idetic."""

from __future__ import annotations

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from idetic import Principal, errors, open_sync
from idetic.surfaces.langchain import IdeticChatMessageHistory
from tests.conftest import TestDatabase
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

MESSAGES = [
    SystemMessage("Be brief."),
    HumanMessage("What is the weather?", name="ada", id="1"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Bern"}, "id": "call_1"}]),
    ToolMessage("sunny " * 1_000, tool_call_id="call_1"),
    AIMessage([{"type": "text", "text": "Sunny."}], response_metadata={"model": "none"}),
]


async def test_messages_come_back_as_they_were(frameworks: Frameworks) -> None:
    history = IdeticChatMessageHistory("chat-1", frameworks.memory())
    await history.aadd_messages(MESSAGES)
    again = IdeticChatMessageHistory("chat-1", frameworks.memory())
    assert await again.aget_messages() == MESSAGES
    assert await IdeticChatMessageHistory("chat", frameworks.memory()).aget_messages() == []
    await history.aclear()
    assert await again.aget_messages() == []
    assert (await frameworks.auditor().verify()).entries > len(MESSAGES), "nothing of it is lost"


async def test_a_model_goes_on_with_its_history(frameworks: Frameworks) -> None:
    model = FakeListChatModel(responses=["Hello Ada.", "You are Ada."])
    history = IdeticChatMessageHistory("chat-1", frameworks.memory())
    for text in ("I am Ada.", "Who am I?"):
        asked = HumanMessage(text)
        answer = await model.ainvoke([*await history.aget_messages(), asked])
        await history.aadd_messages([asked, answer])
    said = [message.content for message in await history.aget_messages()]
    assert said == ["I am Ada.", "Hello Ada.", "Who am I?", "You are Ada."]


async def test_a_blocking_call_on_the_loop_says_what_to_do(frameworks: Frameworks) -> None:
    history = IdeticChatMessageHistory("chat-1", frameworks.memory())
    with pytest.raises(errors.InputError, match="Await the asynchronous form"):
        _ = history.messages


def test_it_works_without_an_event_loop(framework_database: TestDatabase) -> None:
    database = framework_database
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        memory = db.agent("framework_agent").bind(
            tenant_id="acme", space="x", principal=Principal.agent("app")
        )
        history: BaseChatMessageHistory = IdeticChatMessageHistory("chat-1", memory)
        history.add_user_message("I am Ada.")
        history.add_ai_message("Hello Ada.")
        assert str(history) == "Human: I am Ada.\nAI: Hello Ada."
        history.clear()
        assert history.messages == []
