"""Every adapter in one scope: each finds what it wrote, whatever the others and strangers wrote."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818ViewCommand,
)
from google.adk.memory.memory_entry import MemoryEntry
from google.genai.types import Content, Part
from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from idetic import Claim, MemorySpec, Principal, errors
from idetic.library.handles import Agent, Memory
from idetic.surfaces import shelf
from idetic.surfaces.anthropic import IdeticAsyncMemoryTool
from idetic.surfaces.documents import path_of, subject_of
from idetic.surfaces.google_adk import IdeticMemoryService
from idetic.surfaces.langchain import IdeticChatMessageHistory
from idetic.surfaces.langgraph import IdeticStore
from idetic.surfaces.llamaindex import IdeticMemoryBlock
from idetic.surfaces.openai_agents import IdeticSession
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

APP, USER = "helper", "ada"
# Where the adapters write; a stranger writes there too, and so does a store.
PLACES = [
    ("notes",),
    ("memories",),
    ("langchain", "chat"),
    ("langchain", "chat", "deep"),
    ("agents_sdk", "chat"),
]


class Together:
    """All adapters on one memory, and what each was given."""

    def __init__(self, frameworks: Frameworks, seed: int):
        self.rng = random.Random(seed)  # noqa: S311 - a test's choices
        tenant = f"acme {frameworks.own}"
        self.service = IdeticMemoryService(frameworks.agent, tenant, limit=100)
        self.memory: Memory = self.service.memory(APP, USER)
        self.store = IdeticStore(self.memory)
        self.chat = IdeticChatMessageHistory("chat", self.memory)
        self.session = IdeticSession("chat", self.memory)
        self.files = IdeticAsyncMemoryTool(self.memory)
        self.block = IdeticMemoryBlock(self.memory)
        self.put: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}
        self.said: list[str] = []
        self.items: list[dict[str, str]] = []
        self.written: list[str] = []
        self.noted: list[str] = []

    def text(self) -> str:
        return f"tea {self.rng.randrange(10**9)} " + "x" * self.rng.choice((0, 10, 4_100))

    async def into_the_store(self) -> None:
        name = self.rng.choice(PLACES), f"key {self.rng.randrange(5)}"
        self.put[name] = {"n": self.text()}
        await self.store.aput(*name, self.put[name], index=self.rng.choice((None, False)))

    async def into_the_chat(self) -> None:
        self.said.append(self.text())
        await self.chat.aadd_messages([HumanMessage(self.said[-1])])

    async def into_the_session(self) -> None:
        self.items.append({"role": "user", "content": self.text()})
        await self.session.add_items([self.items[-1]])  # type: ignore[list-item]

    async def into_a_file(self) -> None:
        self.written.append(f"/memories/file {len(self.written)}")
        await self.files.create(
            BetaMemoryTool20250818CreateCommand(
                command="create", path=self.written[-1], file_text="about tea"
            )
        )

    async def into_notes(self) -> None:
        self.noted.append(f"tea {self.rng.randrange(10**9)}")
        content = Content(role="user", parts=[Part(text=self.noted[-1])])
        memories = [MemoryEntry(content=content, author="user")]
        await self.service.add_memory(app_name=APP, user_id=USER, memories=memories)

    async def into_the_block(self) -> None:
        await self.block.aput([ChatMessage(role=MessageRole.USER, content="We talked of tea.")])

    async def by_a_stranger(self) -> None:
        """A preference as anybody may write one; most look like a part of a document."""
        place, key = self.rng.choice(PLACES), f"key of a stranger {self.rng.randrange(5)}"
        told: dict[str, Any] = {"namespace": path_of(place), "key": key, "version": "1"}
        claim = Claim(subject_of(place, key), "part 0", "1")
        looks: list[tuple[dict[str, Any] | None, Claim | None]] = [
            (None, None),
            (None, claim),
            ({"namespace": path_of(place)}, None),
            ({**told, "part": 0, "parts": 1}, None),
            ({**told, "part": 0, "parts": 1}, claim),
            ({**told, "part": "0", "parts": 1}, claim),
            ({**told, "part": 0}, claim),
            ({**told, "part": 0, "parts": 1, "since": "once"}, claim),
        ]
        envelope, claimed = self.rng.choice(looks)
        await self.memory.prefer(f"I like {self.text()}"[:300], envelope=envelope, claim=claimed)

    async def step(self) -> None:
        """Any one of them writes."""
        await self.rng.choice(
            (
                self.into_the_store,
                self.into_the_chat,
                self.into_the_session,
                self.into_a_file,
                self.into_notes,
                self.into_the_block,
                self.by_a_stranger,
            )
        )()

    async def check(self) -> None:
        """Each reads what it was given, and the search of everything falls over nothing."""
        for (place, key), value in self.put.items():
            found = await self.store.aget(place, key)
            assert found is not None
            assert found.value == value
        everything = await self.store.asearch((), query="tea", limit=500)
        names = {(item.namespace, item.key) for item in everything}
        assert self.put.keys() <= names
        assert not any("stranger" in key for _, key in names)
        assert all(item.score is None or 0 <= item.score <= 1 for item in everything)
        assert {place for place, _ in self.put} <= set(await self.store.alist_namespaces())
        assert [m.content for m in await self.chat.aget_messages()] == self.said
        items = [each for each in await self.session.get_items() if "role" in each]
        assert items == self.items
        listed = await self.files.view(
            BetaMemoryTool20250818ViewCommand(command="view", path="/memories")
        )
        assert all(path in str(listed) for path in self.written)
        answer = await self.service.search_memory(app_name=APP, user_id=USER, query="tea")
        remembered = {part.text for one in answer.memories for part in one.content.parts or []}
        assert set(self.noted) <= remembered
        await self.block.aget([ChatMessage(role=MessageRole.USER, content="Which tea?")])


@pytest.mark.parametrize("seed", range(4))
async def test_adapters_in_one_scope_do_not_meet(frameworks: Frameworks, seed: int) -> None:
    together = Together(frameworks, seed)
    for _ in range(3):
        for _ in range(9):
            await together.step()
        await together.check()


async def test_control_without_a_look_at_what_is_a_part_they_fall(
    frameworks: Frameworks, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Together(frameworks, 0)
    await together.into_the_store()
    await together.memory.prefer("I like tea.")
    await together.check()
    monkeypatch.setattr(shelf, "is_part", lambda _: True)
    with pytest.raises(KeyError, match="part"):
        await together.check()


async def test_a_document_that_is_no_json_is_none(frameworks: Frameworks) -> None:
    """Whoever knows how documents are named can write one that is not; nobody falls over it."""
    memory, place = frameworks.memory(), ("notes",)
    store = IdeticStore(memory)
    await store.aput(place, "good", {"n": 1})
    told = {"namespace": "notes", "key": "bad", "version": "1", "part": 0, "parts": 1}
    await memory.prefer(
        "This is no JSON.", envelope=told, claim=Claim(subject_of(place, "bad"), "part 0", "1")
    )
    assert [item.key for item in await store.asearch(place)] == ["good"]
    assert await store.aget(place, "bad") is None
    await store.aput(place, "bad", {"n": 2})
    found = await store.aget(place, "bad")
    assert found is not None
    assert found.value == {"n": 2}


async def test_documents_are_refused_behind_a_gate(frameworks: Frameworks) -> None:
    """A value comes back word for word or not at all."""
    data = frameworks.agent.spec.as_data()
    for gate in data["gates"]:
        if gate["boundary"] == "operator":
            gate["apply"] = ["hedge", "pii"]
    gated = Agent(replace(frameworks.agent.engine, spec=MemorySpec.model_validate(data)))
    for agent, refused in ((gated, True), (frameworks.agent, False)):
        memory = agent.bind(tenant_id="a", space="b", principal=Principal.operator("ada"))
        with pytest.raises(errors.CapabilityRefused, match="gate") if refused else nullcontext():
            IdeticStore(memory)
