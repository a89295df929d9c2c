"""What the agent loop asks of persona memory, as Protocols; storage lives elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from uuid import UUID

from idetic.persona.events import Event, EventKind, LtmHit, Persona, Visibility
from idetic.persona.identity import Heuristics
from idetic.persona.scoring import Scored


class OpenLoop(Protocol):
    """One loop under way. It closes when its context ends, with an `error` event if it raised."""

    @property
    def id(self) -> UUID:
        """The loop's id, made when it was opened."""
        ...

    async def append(
        self,
        kind: EventKind,
        content: str,
        *,
        visibility: Visibility = Visibility.EXTERNAL,
        metadata: Mapping[str, Any] | None = None,
    ) -> Event:
        """Write one event; it is committed when this returns, whatever becomes of its mirror."""
        ...


class PersonaView(Protocol):
    """What one persona may ask. The Actor's view reaches the Actor's tables and no others."""

    @property
    def agent_id(self) -> str:
        """Whose memory it is."""
        ...

    @property
    def persona(self) -> Persona:
        """Whose eyes these are."""
        ...

    async def rag_query(self, text: str, *, limit: int = 8) -> Sequence[LtmHit]:
        """Long-term entries that answer a text, best first."""
        ...

    async def fuzzy_query(
        self, text: str, heuristics: Heuristics | None = None
    ) -> Sequence[Scored]:
        """Loop summaries of the rolling window that resemble a text, best first."""
        ...


class PersonaMemory(Protocol):
    """One agent's persona memory: its two views, and the loops that write."""

    @property
    def actor(self) -> PersonaView:
        """What the Actor may ask."""
        ...

    @property
    def subconscious(self) -> PersonaView:
        """What the Subconscious may ask: both personas."""
        ...

    def loop(
        self, task: str | None = None, persona: Persona = Persona.ACTOR
    ) -> AbstractAsyncContextManager[OpenLoop]:
        """A new loop of one persona; it always closes."""
        ...
