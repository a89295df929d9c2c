"""Long-term memory of one persona: one entry per event, asked by meaning and by words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from idetic.model import Tier
from idetic.persona.events import EmbedStatus, EventKind, LtmEntry, Persona, Visibility
from idetic.persona.log import check_limit
from idetic.persona.rag import RagAnswer, RagFilters, RagHit
from idetic.recall.engine import RecallEngine
from idetic.store.log import LogStore
from idetic.verbs.arguments import check_text, check_uuid

QUERY_MAX = 4_000


class Ltm:
    """One persona's long-term memory of one agent: the recall of its spec, over its own family."""

    def __init__(self, store: LogStore, engine: RecallEngine, agent_id: str, persona: Persona):
        self._store = store
        self._engine = engine
        self._agent_id = agent_id
        self._persona = persona

    @property
    def collection(self) -> str:
        """The logical name of this persona's vectors."""
        return f"{self._agent_id}__{self._persona}__ltm"

    def entry(self, row: tuple[Any, ...]) -> LtmEntry:
        """An entry from its columns."""
        ltm_id, event_id, loop_id, ts, kind, visibility, summary, grade, status, *tried = row
        return LtmEntry(
            ltm_id, event_id, loop_id, ts, EventKind(kind), Visibility(visibility), summary, grade,
            EmbedStatus(status), *tried, agent_id=self._agent_id, persona=self._persona,
        )  # fmt: skip

    async def get(self, ltm_id: UUID) -> LtmEntry | None:
        """One entry, or None."""
        rows = await self._store.ltm([check_uuid(ltm_id, "ltm_id")])
        return self.entry(rows[ltm_id]) if ltm_id in rows else None

    async def of_event(self, event_id: UUID) -> LtmEntry | None:
        """The entry of an event, or None."""
        rows = await self._store.ltm_of_event(check_uuid(event_id, "event_id"))
        return self.entry(rows[0]) if rows else None

    async def rag_query(
        self, text: str, filters: RagFilters | None = None, *, limit: int = 8
    ) -> RagAnswer:
        """The entries that answer a text best. Without a vector of the text, by words alone."""
        check_text(text, QUERY_MAX, "text")
        most, narrowed = check_limit(limit), (filters or RagFilters()).checked([Tier.PERSISTENT])
        found = await self._engine.recall(
            self._store.scope, text, limit=most, envelope={}, filters=narrowed
        )
        rows = await self._store.ltm([hit.entry.id for hit in found.hits])
        hits = [RagHit(self.entry(rows[h.entry.id]), h.score, h.signals) for h in found.hits]
        return RagAnswer(
            text, tuple(hits), (self.collection,), found.considered, found.candidates,
            found.pending, found.not_used,
        )  # fmt: skip
