"""LlamaIndex' memory with a block that is Idetic's."""

from __future__ import annotations

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import create_async_engine

from idetic import Origin
from idetic.recall.tokens import ConservativeCounter
from idetic.surfaces.llamaindex import IdeticMemoryBlock
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio


def user(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text)


async def test_what_leaves_the_queue_is_found_again(frameworks: Frameworks) -> None:
    engine = create_async_engine("sqlite+aiosqlite://")
    memory = Memory.from_defaults(
        session_id="chat-1",
        token_limit=800,
        token_flush_size=20,
        chat_history_token_ratio=0.1,
        memory_blocks=[IdeticMemoryBlock(frameworks.memory())],
        async_engine=engine,
    )
    await memory.aput(user("Ada drinks green tea in the morning."))
    for number in range(12):
        await memory.aput(user(f"Filler number {number} about nothing at all."))
    kept = await frameworks.memory().list()
    assert any("green tea" in entry.body_text for entry in kept)
    assert {entry.origin for entry in kept} == {Origin.USER}
    messages = await memory.aget(input="Which tea does Ada drink?")
    assert messages[0].role == MessageRole.SYSTEM
    assert "Ada drinks green tea" in str(messages[0].content)
    assert all("Ada drinks" not in str(message.content) for message in messages[1:])
    await engine.dispose()


async def test_a_block_speaks_when_it_is_asked(frameworks: Frameworks) -> None:
    block = IdeticMemoryBlock(frameworks.memory(), budget=200)
    assert await block.aget([]) == ""
    assert await block.aget([user("Which tea?")]) == "", "nothing is known yet"
    await block.aput([user("Ada drinks green tea. " * 200), ChatMessage(content="")])
    assert len(await frameworks.memory().list()) > 1, "what is long becomes several notes"
    text = await block.aget([user("Which tea?"), ChatMessage(role="assistant", content="Hm.")])
    assert "green tea" in text or text == ""
    assert ConservativeCounter().count(text) <= 200


async def test_it_truncates_whole_lines(frameworks: Frameworks) -> None:
    block, counter = IdeticMemoryBlock(frameworks.memory()), ConservativeCounter()
    content = "\n".join(f"line {number} of the evidence" for number in range(20))
    less = await block.atruncate(content, 50)
    assert less is not None
    assert content.startswith(less + "\n")
    assert counter.count(content) - counter.count(less) >= 50
    assert await block.atruncate(content, 100_000) is None


async def test_tenants_do_not_meet(frameworks: Frameworks) -> None:
    await IdeticMemoryBlock(frameworks.memory("acme")).aput([user("canary tea")])
    theirs = IdeticMemoryBlock(frameworks.memory("zeta"))
    assert await theirs.aget([user("canary tea")]) == ""
