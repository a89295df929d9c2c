"""`IdeticMemoryBlock`: a long-term block of LlamaIndex' memory, on one scope of governed memory."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from idetic.library.handles import Memory
from idetic.model import Observation
from idetic.recall.tokens import ConservativeCounter
from idetic.surfaces.bridge import Bridge, message_notes
from idetic.verbs.arguments import MAX_QUERY
from idetic.verbs.handle import SyncHandle


class IdeticMemoryBlock(BaseMemoryBlock[str]):
    """Keeps what leaves the short-term queue, and quotes what bears on the latest question.

    What it gives is Idetic's own context: evidence with its provenance, under `budget` tokens.
    """

    name: str = "idetic"
    description: str | None = "What was said before and bears on the question, quoted as evidence."
    priority: int = 1
    budget: int = 1_000
    _bridge: Bridge = PrivateAttr()

    def __init__(self, memory: Memory | SyncHandle, **fields: Any):
        super().__init__(**fields)
        self._bridge = Bridge(memory)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """The context for the user's latest message; empty if nothing is asked or found."""
        questions = [m for m in messages or [] if m.role == MessageRole.USER and _text(m)]
        if not questions:
            return ""
        question = _text(questions[-1])[:MAX_QUERY]
        memory = self._bridge.memory
        made = await self._bridge.awaited(lambda: memory.context(question, budget=self.budget))
        return made.text if made.included else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Remember messages that leave the queue, each under its session's name."""
        memory, notes = self._bridge.memory, list[Observation]()
        for message in messages:
            notes += message_notes(
                _text(message),
                bound=memory.agent.spec.backend.body_text_max,
                namespace=(
                    "llamaindex",
                    str(message.additional_kwargs.get("session_id", self.name)),
                ),
                author=message.role.value,
                by_user=message.role == MessageRole.USER,
            )
        if notes:
            await self._bridge.awaited(lambda: memory.observe_many(notes))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Without its last lines, so that as many tokens less remain; whole lines only."""
        counter = ConservativeCounter()
        most = counter.count(content) - tokens_to_truncate
        lines = content.splitlines()
        while lines and counter.count("\n".join(lines)) > most:
            lines.pop()
        return "\n".join(lines) or None


def _text(message: ChatMessage) -> str:
    """A message's text without blanks around it; empty if it has none."""
    return (message.content or "").strip()
