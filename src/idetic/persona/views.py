"""What each persona may ask. Access by construction: a view can only do what it was given.

The Actor's view holds the Actor's layers through a pool of the role `idetic_actor`, which has no
right in the Subconscious's schema. There is no parameter that names a persona, and nothing to
forget. The Subconscious's view holds both, through a pool of its own role.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from idetic.audit.chain import LogHead, LogVerified
from idetic.persona.coverage import Coverage, cover
from idetic.persona.events import Event, LtmEntry, Persona, StmEntry
from idetic.persona.identity import Heuristics, Identity
from idetic.persona.layers import Layers
from idetic.persona.log import Page, Progress, check_limit
from idetic.persona.notes import Note, NoteBoard
from idetic.persona.rag import RagAnswer, RagFilters, merged
from idetic.persona.scoring import Scored


class ActorMemoryView:
    """What the Actor may ask: its own log, long-term and short-term memory, and its notes."""

    persona = Persona.ACTOR

    def __init__(self, agent_id: str, layers: Layers, identity: Identity):
        self.agent_id = agent_id
        self._layers = layers
        self._identity = identity

    @property
    def collection(self) -> str:
        """The logical name of the one collection that this view asks."""
        return self._layers.ltm.collection

    async def get_by_id(self, event_id: UUID) -> Event | None:
        """One event, literally; None if there is none."""
        return await self._layers.log.get_by_id(event_id)

    async def get_range(
        self,
        start_ts: datetime,
        end_ts: datetime,
        *,
        limit: int = 1_000,
        after: tuple[datetime, int] | None = None,
    ) -> Page:
        """The events from a moment up to, and without, another; both with their time zone."""
        return await self._layers.log.get_range(start_ts, end_ts, limit=limit, after=after)

    async def tail(self, after: int = 0, *, limit: int = 1_000) -> list[Event]:
        """The events after a position, in the order of their commits."""
        return await self._layers.log.tail(after, limit=limit)

    async def loop(self, loop_id: UUID) -> list[Event]:
        """The events of a loop, in order."""
        return await self._layers.log.loop(loop_id)

    async def entry(self, ltm_id: UUID) -> LtmEntry | None:
        """One long-term entry; None if there is none."""
        return await self._layers.ltm.get(ltm_id)

    async def entry_of(self, event_id: UUID) -> LtmEntry | None:
        """The long-term entry of an event; None if there is none."""
        return await self._layers.ltm.of_event(event_id)

    async def rag_query(
        self, text: str, filters: RagFilters | None = None, *, limit: int = 8
    ) -> RagAnswer:
        """Long-term entries that answer a text, best first, each with its explanation."""
        return await self._layers.ltm.rag_query(text, filters, limit=limit)

    async def fuzzy_query(
        self, text: str, heuristics: Heuristics | None = None
    ) -> Sequence[Scored]:
        """Loops of the rolling window that resemble a text; the identity's heuristics, unless
        others are given."""
        return await self._layers.stm.fuzzy_query(text, heuristics or self._identity.actor)

    async def window(self, limit: int | None = None) -> list[StmEntry]:
        """The last loops, newest first; as many as the identity's window, unless said."""
        return await self._layers.stm.window(limit or self._identity.actor.window)

    async def operational_notes(self, *, limit: int = 20) -> list[Note]:
        """What the Subconscious told the Actor, newest first."""
        return await NoteBoard(self._layers).latest(check_limit(limit))

    async def coverage(self) -> Coverage:
        """Whether what is derived covers the log."""
        return await cover(self._layers)

    async def head(self) -> LogHead:
        """Where the log ends, to be kept elsewhere."""
        return await self._layers.log.head()

    async def verify(
        self, head: LogHead | None = None, progress: Progress | None = None
    ) -> LogVerified:
        """Check every link of the log."""
        return await self._layers.log.verify(head, progress)


class SubconsciousMemoryView:
    """What the Subconscious may ask: all layers of both personas of its agent."""

    persona = Persona.SUBCONSCIOUS

    def __init__(self, agent_id: str, own: Layers, actors: Layers, identity: Identity):
        self.agent_id = agent_id
        self._both = (own, actors)
        self._identity = identity

    @property
    def collections(self) -> tuple[str, ...]:
        """The logical names of the collections that this view asks."""
        return tuple(layers.ltm.collection for layers in self._both)

    async def get_by_id(self, event_id: UUID) -> Event | None:
        """One event of either persona, literally; None if there is none."""
        for layers in self._both:
            if found := await layers.log.get_by_id(event_id):
                return found
        return None

    async def get_range(
        self,
        start_ts: datetime,
        end_ts: datetime,
        persona: Persona = Persona.SUBCONSCIOUS,
        *,
        limit: int = 1_000,
        after: tuple[datetime, int] | None = None,
    ) -> Page:
        """The events of one persona from a moment up to, and without, another."""
        log = self._of(persona).log
        return await log.get_range(start_ts, end_ts, limit=limit, after=after)

    async def tail(
        self, after: int = 0, persona: Persona = Persona.SUBCONSCIOUS, *, limit: int = 1_000
    ) -> list[Event]:
        """The events of one persona after a position: each has positions of its own."""
        return await self._of(persona).log.tail(after, limit=limit)

    async def loop(self, loop_id: UUID) -> list[Event]:
        """The events of a loop of either persona, in order."""
        for layers in self._both:
            if found := await layers.log.loop(loop_id):
                return found
        return []

    async def rag_query(
        self, text: str, filters: RagFilters | None = None, *, limit: int = 8
    ) -> RagAnswer:
        """Long-term entries of both personas that answer a text, merged by score."""
        asked = [await each.ltm.rag_query(text, filters, limit=limit) for each in self._both]
        return merged(text, asked, limit)

    async def fuzzy_query(
        self, text: str, heuristics: Heuristics | None = None
    ) -> Sequence[Scored]:
        """Loops of both personas' windows that resemble a text, merged by score.

        One set of heuristics scores both, so that scores compare; each window is its persona's.
        """
        chosen = heuristics or self._identity.subconscious
        found = [
            scored
            for each in self._both
            for scored in await each.stm.fuzzy_query(
                text, chosen, self._identity.heuristics(each.persona).window
            )
        ]
        found.sort(key=lambda one: (-one.score, one.entry.ts, one.entry.loop_id))
        return found[: chosen.top_k]

    async def window(
        self, persona: Persona = Persona.SUBCONSCIOUS, limit: int | None = None
    ) -> list[StmEntry]:
        """The last loops of one persona, newest first."""
        chosen = limit or self._identity.heuristics(persona).window
        return await self._of(persona).stm.window(chosen)

    async def coverage(self) -> tuple[Coverage, Coverage]:
        """Whether what is derived covers the logs: the Actor's, and its own."""
        own, actors = self._both
        return await cover(actors), await cover(own)

    async def verify(
        self,
        persona: Persona = Persona.SUBCONSCIOUS,
        head: LogHead | None = None,
        progress: Progress | None = None,
    ) -> LogVerified:
        """Check every link of one persona's log."""
        return await self._of(persona).log.verify(head, progress)

    def _of(self, persona: Persona) -> Layers:
        return next(layers for layers in self._both if layers.persona is Persona(persona))
