"""`IdeticSession`: a session of the OpenAI Agents SDK, on one scope of governed memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from idetic.library.handles import Memory
from idetic.surfaces.bridge import Bridge
from idetic.surfaces.shelf import Conversation, Shelf
from idetic.verbs.handle import SyncHandle

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings


class IdeticSession:
    """The items of one conversation, in order. What is popped or cleared is archived, not lost.

    It keeps to the SDK's protocol and inherits nothing, as the SDK asks of others.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory | SyncHandle,
        session_settings: SessionSettings | None = None,
    ):
        self.session_id = session_id
        self.session_settings = session_settings
        self._bridge = Bridge(memory)
        shelf = Shelf(self._bridge.memory)
        self._conversation = Conversation(shelf, ("agents_sdk", session_id))

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last so many items, or all, oldest first; the settings say how many by default."""
        settings = self.session_settings
        most = settings.limit if limit is None and settings is not None else limit
        items = await self._bridge.awaited(lambda: self._conversation.latest(most))
        return cast("list[TResponseInputItem]", items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end: all of them or none."""
        values = [dict(item) for item in items]
        await self._bridge.awaited(lambda: self._conversation.append(values))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item back."""
        item = await self._bridge.awaited(self._conversation.pop)
        return cast("TResponseInputItem | None", item)

    async def clear_session(self) -> None:
        """Take every item away."""
        await self._bridge.awaited(self._conversation.clear)
