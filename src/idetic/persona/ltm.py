"""Long-term memory of one persona: one entry per event, asked by meaning and by words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from idetic.gateway.content import check_text, check_uuid
from idetic.persona.embedding import PersonaEmbedder, Vector
from idetic.persona.errors import EmbedderHangs
from idetic.persona.events import EmbedStatus, EventKind, LtmEntry, Persona, Visibility
from idetic.persona.log import check_limit
from idetic.persona.rag import RagAnswer, RagFilters, RagHit
from idetic.recall.hits import NotUsed, SignalScore
from idetic.spec.primitives import Retrieval, Signal
from idetic.store.persona_derived import DerivedRows
from idetic.store.persona_rag import SIGNALS, RagAsked, RagFound, RagRows
from idetic.store.recall_statement import EXACT_BELOW

QUERY_MAX = 4_000


class Ltm:
    """One persona's long-term memory of one agent.

    Signals, weights and fusion are those of the shipped spec `persona_agent`.
    """

    def __init__(
        self,
        rows: DerivedRows,
        asking: RagRows,
        embedder: PersonaEmbedder,
        retrieval: Retrieval,
        agent_id: str,
        persona: Persona,
    ):
        self._rows = rows
        self._asking = asking
        self._embedder = embedder
        self._retrieval = retrieval
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
        rows = await self._rows.entry(check_uuid(ltm_id, "ltm_id"))
        return self.entry(rows[0]) if rows else None

    async def of_event(self, event_id: UUID) -> LtmEntry | None:
        """The entry of an event, or None."""
        rows = await self._rows.of_event(check_uuid(event_id, "event_id"))
        return self.entry(rows[0]) if rows else None

    async def rag_query(
        self, text: str, filters: RagFilters | None = None, *, limit: int = 8
    ) -> RagAnswer:
        """The entries that answer a text best. Without a vector of the text, by words alone."""
        check_text(text, QUERY_MAX, "text")
        most, narrowed = check_limit(limit), (filters or RagFilters()).checked()
        vector, profile_id, without = await self._vector(text)
        asked = RagAsked(
            text=text,
            limit=most,
            weights={s: float(w) for s, w in self._retrieval.signals.items() if w and s in SIGNALS},
            fusion=self._retrieval.fusion,
            neighbours=self._retrieval.neighbours,
            vector=vector,
            profile_id=profile_id,
            filters=narrowed,
        )
        considered, candidates, embedded, found = await self._asking.ask(asked)
        pending = max(0, considered - embedded) if vector else 0
        told = [without] if without else []
        if pending and considered <= EXACT_BELOW:
            why = f"{pending} entries have no vector yet"
            told.append(NotUsed("semantic, in part", why, "Run `await memory.dream()`."))
        return RagAnswer(
            text, tuple(map(self._hit, found)), (self.collection,), considered, candidates, pending,
            tuple(told),
        )  # fmt: skip

    def _hit(self, found: RagFound) -> RagHit:
        signals: dict[Signal, SignalScore] = {
            signal: SignalScore(*parts) for signal, parts in found.signals.items()
        }
        return RagHit(self.entry(found.entry), found.score, signals)

    async def _vector(self, text: str) -> tuple[Vector | None, UUID | None, NotUsed | None]:
        """The question's vector and its profile; or why there is none."""
        profile_id = await self._embedder.profile()
        if profile_id is None:
            error = self._embedder.missing
            return None, None, NotUsed("semantic", error.message, error.remedy)
        try:
            (vector,) = await self._embedder.vectors([text], query=True)
        except EmbedderHangs as error:
            return None, None, NotUsed("semantic", error.message, error.remedy)
        except Exception as error:  # noqa: BLE001 - an embedder is anybody's code; words go on
            why = f"the embedder raised {type(error).__name__}"
            return None, None, NotUsed("semantic", why, "Look at the embedder.")
        if vector is None:
            why = "the embedder returned something that is no vector"
            return None, None, NotUsed("semantic", why, "Look at the embedder.")
        return vector, profile_id, None
