"""Events and entries of persona memory, made in a line each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from idetic.ids import uuid7
from idetic.persona.events import Event, EventKind, LtmEntry, Persona, StmEntry, Visibility
from idetic.persona.retrieval import LtmHit, Scored

AGENT = "help-desk"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def event(
    content: str,
    kind: EventKind = EventKind.USER_INPUT,
    visibility: Visibility = Visibility.EXTERNAL,
    persona: Persona = Persona.ACTOR,
    **metadata: Any,
) -> Event:
    said = (kind, visibility, content, metadata)
    return Event(uuid7(), NOW, uuid7(), *said, agent_id=AGENT, persona=persona)


def stm(
    summary: str,
    age: float = 0.0,
    kinds: Sequence[EventKind] = (EventKind.USER_INPUT,),
    visibilities: Sequence[Visibility] | None = None,
    persona: Persona = Persona.ACTOR,
    agent_id: str = AGENT,
) -> StmEntry:
    seen = tuple(visibilities or [Visibility.EXTERNAL] * len(kinds))
    ids = tuple(uuid7() for _ in kinds)
    at = NOW - timedelta(seconds=age)
    return StmEntry(
        uuid7(), at, summary, ids, tuple(kinds), seen, agent_id=agent_id, persona=persona
    )


def scored(entry: StmEntry) -> Scored:
    return Scored(entry, 1.0, 1.0, 1.0, 2.0)


def hit(
    summary: str,
    age: float = 0.0,
    kind: EventKind = EventKind.USER_INPUT,
    persona: Persona = Persona.ACTOR,
    agent_id: str = AGENT,
) -> LtmHit:
    entry = LtmEntry(
        uuid7(),
        uuid7(),
        uuid7(),
        NOW - timedelta(seconds=age),
        kind,
        Visibility.EXTERNAL,
        summary,
        agent_id=agent_id,
        persona=persona,
    )
    return LtmHit(entry, 1.0)
