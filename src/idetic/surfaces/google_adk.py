"""`IdeticMemoryService`: the memory service of Google's ADK, a scope for each user of an app."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import UUID

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai.types import Content, Part

from idetic.errors import EntryNotFound, TransitionRefused
from idetic.library.handles import Agent, Memory
from idetic.model import Entry, Observation, Principal, Typology
from idetic.surfaces.bridge import message_notes
from idetic.verbs.arguments import MAX_PAGE

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

LIMIT = 10


class IdeticMemoryService(BaseMemoryService):
    """Remembers what sessions said; each user of each app is an anchor of one tenant.

    The tenant is bound when the service is made. ADK names app and user with every call, and they
    become the scope that the database itself enforces.
    """

    def __init__(self, agent: Agent, tenant_id: str, *, limit: int = LIMIT):
        self._agent = agent
        self._tenant_id = tenant_id
        self._limit = limit

    def memory(self, app_name: str, user_id: str) -> Memory:
        """The memory of one user of one app, for everything that ADK has no call for."""
        space = f"{quote(app_name, safe='')}/{quote(user_id, safe='')}"
        who = Principal.agent(app_name)
        return self._agent.bind(tenant_id=self._tenant_id, space=space, principal=who)

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what a session said. Adding it again adds what it said since."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember what events said, each once however often it is handed over."""
        notes: list[Observation] = []
        for event in events:
            notes += message_notes(
                _text(event.content),
                bound=self._bound,
                namespace=("adk", session_id or "unknown"),
                author=event.author,
                by_user=event.author == "user",
                at=datetime.fromtimestamp(event.timestamp, UTC),
                name=f"{session_id}\n{event.id}",
            )
        await self._observe(app_name, user_id, notes)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember what is given as such."""
        notes: list[Observation] = []
        for each in memories:
            author = each.author or app_name
            notes += message_notes(
                _text(each.content),
                bound=self._bound,
                namespace=("adk", "memories"),
                author=author,
                by_user=author == "user",
            )
        await self._observe(app_name, user_id, notes)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """What is remembered of one user and fits a query, best first."""
        if not query.strip():
            return SearchMemoryResponse()
        hits = await self.memory(app_name, user_id).recall(
            query, limit=self._limit, typologies=[Typology.EPISODIC]
        )
        return SearchMemoryResponse(memories=[_entry(hit.entry) for hit in hits])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Archive one memory; one that is not there is none the less gone."""
        memory = self.memory(app_name, user_id)
        try:
            await memory.archive(UUID(memory_id), reason="deleted")
        except (TypeError, ValueError, EntryNotFound, TransitionRefused):
            return

    async def delete_memories(self, *, app_name: str, user_id: str) -> None:
        """Archive all that is remembered of one user."""
        memory = self.memory(app_name, user_id)
        # The first page each time: what is archived is no longer listed.
        while entries := await memory.list(typology=Typology.EPISODIC, limit=MAX_PAGE):
            for entry in entries:
                await memory.archive(entry.id, reason="deleted")

    @property
    def _bound(self) -> int:
        """How many characters one note of this agent may have."""
        return self._agent.spec.backend.body_text_max

    async def _observe(self, app_name: str, user_id: str, notes: Iterable[Observation]) -> None:
        """Write notes to a user's memory; without any, no call is made."""
        many = list(notes)
        if many:
            await self.memory(app_name, user_id).observe_many(many)


def _text(content: Content | None) -> str:
    """What a content says in text; a picture or a call says nothing here."""
    parts = (content.parts if content else None) or []
    # What a model thought is not what it said.
    return " ".join(part.text for part in parts if part.text and not part.thought)


def _entry(entry: Entry) -> MemoryEntry:
    """An entry as ADK's search returns it."""
    author = entry.envelope.get("author", "unknown")
    role = "user" if author == "user" else "model"
    return MemoryEntry(
        content=Content(role=role, parts=[Part(text=entry.body_text)]),
        id=str(entry.id),
        author=author,
        timestamp=(entry.valid_at or entry.created_at).isoformat(),
    )
