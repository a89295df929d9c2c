"""`IdeticChatMessageHistory`: LangChain's chat history, on one scope of governed memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from idetic.library.handles import Memory
from idetic.surfaces.bridge import Bridge
from idetic.surfaces.shelf import Conversation, Shelf
from idetic.verbs.handle import SyncHandle


class IdeticChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation, in order. What is cleared is archived, not lost."""

    def __init__(self, session_id: str, memory: Memory | SyncHandle):
        self._bridge = Bridge(memory)
        shelf = Shelf(self._bridge.memory)
        self._conversation = Conversation(shelf, ("langchain", session_id))

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """Every message, oldest first."""
        return _messages(self._bridge.blocking(self._conversation.latest))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end: all of them or none."""
        values = [message_to_dict(message) for message in messages]
        self._bridge.blocking(lambda: self._conversation.append(values))

    def clear(self) -> None:
        """Take every message away."""
        self._bridge.blocking(self._conversation.clear)

    async def aget_messages(self) -> list[BaseMessage]:
        """Every message, oldest first."""
        return _messages(await self._bridge.awaited(self._conversation.latest))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end: all of them or none."""
        values = [message_to_dict(message) for message in messages]
        await self._bridge.awaited(lambda: self._conversation.append(values))

    async def aclear(self) -> None:
        """Take every message away."""
        await self._bridge.awaited(self._conversation.clear)


def _messages(values: Iterable[dict[str, Any]]) -> list[BaseMessage]:
    """The messages among values; a store may have put something else beside them."""
    return messages_from_dict([each for each in values if each.keys() == {"type", "data"}])
