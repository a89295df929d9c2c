"""What the agent loop asks of persona memory, as Protocols; storage lives elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from idetic.persona.dream import Dreamed, Progress
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


class LeftNote(Protocol):
    """An operational note, as the Actor finds it."""

    @property
    def id(self) -> UUID:
        """The note's id."""
        ...

    @property
    def ts(self) -> datetime:
        """When it was left."""
        ...

    @property
    def text(self) -> str:
        """What it says."""
        ...


class ActorView(Protocol):
    """What the Actor may ask. It reaches the Actor's tables and no others."""

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

    async def operational_notes(self, *, limit: int = 20) -> Sequence[LeftNote]:
        """What the Subconscious told the Actor through the gate, newest first."""
        ...


class PersonaMemory(Protocol):
    """One agent's persona memory: what the Actor may ask, and the loops that write."""

    @property
    def actor(self) -> ActorView:
        """What the Actor may ask."""
        ...

    def loop(
        self, task: str | None = None, persona: Persona = Persona.ACTOR
    ) -> AbstractAsyncContextManager[OpenLoop]:
        """A new loop of one persona; it always closes."""
        ...

    async def dream(self, progress: Progress | None = None) -> Dreamed:
        """Backfill what the derived layers of both personas lack, and say what they cover."""
        ...
