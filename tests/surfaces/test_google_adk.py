"""Google's ADK with its memory in Idetic, and a model that is none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.load_memory_tool import load_memory_tool
from google.genai.types import Content, FunctionCall, Part
from pydantic import PrivateAttr

from idetic import EntryState, Origin
from idetic.surfaces.google_adk import IdeticMemoryService
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

APP = "helper"


class Scripted(BaseLlm):
    """Says what is in its script, and remembers what it was shown."""

    _script: list[Part] = PrivateAttr(default_factory=list)
    _shown: list[Any] = PrivateAttr(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._shown.append(list(llm_request.contents))
        yield LlmResponse(content=Content(role="model", parts=[self._script.pop(0)]))


class House:
    """One app with its sessions, its memory and its model."""

    def __init__(self, frameworks: Frameworks, *script: Part):
        self.model = Scripted(model="none")
        self.model._script = list(script)
        self.memory = IdeticMemoryService(frameworks.agent, f"acme {frameworks.own}")
        self.sessions = InMemorySessionService()
        agent = LlmAgent(name="helper", model=self.model, tools=[load_memory_tool])
        self.runner = Runner(
            app_name=APP,
            agent=agent,
            session_service=self.sessions,
            memory_service=self.memory,
        )

    async def say(self, user_id: str, session_id: str, text: str) -> str:
        said = Content(role="user", parts=[Part(text=text)])
        answer = ""
        async for event in self.runner.run_async(
            user_id=user_id, session_id=session_id, new_message=said
        ):
            if event.is_final_response() and event.content and event.content.parts:
                answer = event.content.parts[0].text or ""
        return answer

    async def remember(self, user_id: str, session_id: str) -> None:
        session = await self.sessions.get_session(
            app_name=APP, user_id=user_id, session_id=session_id
        )
        assert session is not None
        await self.memory.add_session_to_memory(session)

    async def found(self, user_id: str, query: str) -> list[str]:
        answer = await self.memory.search_memory(app_name=APP, user_id=user_id, query=query)
        return [(m.content.parts or [Part()])[0].text or "" for m in answer.memories]


async def test_an_agent_finds_what_an_earlier_session_said(frameworks: Frameworks) -> None:
    call = Part(function_call=FunctionCall(name="load_memory", args={"query": "Which tea?"}))
    house = House(frameworks, Part(text="Noted."), call, Part(text="Green tea."))
    for session_id in ("monday", "friday"):
        await house.sessions.create_session(app_name=APP, user_id="ada", session_id=session_id)
    assert await house.say("ada", "monday", "I drink green tea.") == "Noted."
    await house.remember("ada", "monday")
    assert await house.say("ada", "friday", "Which tea do I drink?") == "Green tea."
    told = house.model._shown[-1][-1].model_dump_json()
    assert "I drink green tea." in told, "the tool gave the model what the session said"


async def test_a_session_added_again_adds_what_is_new(frameworks: Frameworks) -> None:
    house = House(frameworks, Part(text="One."), Part(text="Two."))
    await house.sessions.create_session(app_name=APP, user_id="ada", session_id="s")
    await house.say("ada", "s", "First saying.")
    await house.remember("ada", "s")
    await house.remember("ada", "s")
    memory = house.memory.memory(APP, "ada")
    assert len(await memory.list()) == 2
    await house.say("ada", "s", "Second saying.")
    await house.remember("ada", "s")
    kept = {e.body_text: e.origin for e in await memory.list()}
    assert kept == {
        "First saying.": Origin.USER,
        "One.": Origin.AGENT,
        "Second saying.": Origin.USER,
        "Two.": Origin.AGENT,
    }


async def test_users_and_apps_do_not_meet(frameworks: Frameworks) -> None:
    service = House(frameworks).memory
    canary = [MemoryEntry(content=Content(parts=[Part(text="canary tea")]))]
    for app, user in (("a", "b/c"), ("a/b", "c"), ("a", "b%2Fc")):
        await service.add_memory(app_name=app, user_id=user, memories=canary)
        answer = await service.search_memory(app_name=app, user_id=user, query="canary")
        assert len(answer.memories) == 1
    for app, user in (("a", "b"), ("b", "a"), ("A", "b/c")):
        answer = await service.search_memory(app_name=app, user_id=user, query="canary")
        assert answer.memories == []
    other = IdeticMemoryService(frameworks.agent, f"zeta {frameworks.own}")
    answer = await other.search_memory(app_name="a", user_id="b/c", query="canary")
    assert answer.memories == []


async def test_a_memory_can_be_deleted(frameworks: Frameworks) -> None:
    house = House(frameworks)
    given = [MemoryEntry(content=Content(parts=[Part(text=t)])) for t in ("green tea", "black tea")]
    await house.memory.add_memory(app_name=APP, user_id="ada", memories=given)
    answer = await house.memory.search_memory(app_name=APP, user_id="ada", query="green tea")
    first = answer.memories[0]
    assert first.id is not None
    who: dict[str, str] = {"app_name": APP, "user_id": "ada"}
    await house.memory.delete_memory(**who, memory_id=first.id)
    for gone in (first.id, "not an id", "00000000-0000-7000-8000-000000000000"):
        await house.memory.delete_memory(**who, memory_id=gone)
    assert await house.found("ada", "green tea") == ["black tea"]
    await house.memory.delete_memories(**who)
    assert await house.found("ada", "tea") == []
    entry = await house.memory.memory(APP, "ada").get(first.id)  # type: ignore[arg-type]
    assert entry.state is EntryState.ARCHIVED


async def test_what_holds_no_text_is_nothing_to_remember(frameworks: Frameworks) -> None:
    house = House(frameworks)
    empty = [
        MemoryEntry(content=Content(parts=[])),
        MemoryEntry(content=Content(parts=[Part(text="  ")])),
        MemoryEntry(content=Content(parts=[Part(text="hm", thought=True)])),
    ]
    await house.memory.add_memory(app_name=APP, user_id="ada", memories=empty)
    assert await house.found("ada", "hm") == []
    assert await house.found("ada", " ") == []
