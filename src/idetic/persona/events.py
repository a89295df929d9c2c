"""Nouns of persona memory: events of the log, and the entries derived from them.

`kind_of`, `persona_of` and `visibility_of` read what a caller names, and refuse the unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from idetic.persona.persona_errors import EventRefused, KindUnknown
from idetic.spec.primitives import EventKind, EventVisibility, Persona

__all__ = [
    "EmbedStatus",
    "Event",
    "EventKind",
    "LtmEntry",
    "Persona",
    "Progress",
    "StmEntry",
    "Visibility",
    "kind_of",
    "persona_of",
    "visibility_of",
]

Visibility = EventVisibility

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much."""


class EmbedStatus(StrEnum):
    """Whether a long-term entry has its vector; a dream retries all but `embedded`."""

    PENDING = "pending"
    EMBEDDED = "embedded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the perfect log, as it was written. Its repr leaves the content out.

    `position` has no gaps per agent and persona; `digest` is the hash that chains it. The fields
    stand in the order of the log's columns.
    """

    agent_id: str = field(kw_only=True)
    persona: Persona = field(kw_only=True)
    id: UUID
    ts: datetime
    loop_id: UUID
    kind: EventKind
    visibility: Visibility
    content: str = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    position: int = 0
    digest: bytes = b""

    def __post_init__(self) -> None:
        _become(self, kind=EventKind(self.kind), visibility=Visibility(self.visibility))
        _become(self, metadata=MappingProxyType(dict(self.metadata)), digest=bytes(self.digest))


@dataclass(frozen=True, slots=True)
class LtmEntry:
    """The long-term entry of one event: its compacted text, its grade, the state of its vector.

    `agent_id` and `persona` are those of the row it was read from.
    """

    agent_id: str = field(kw_only=True)
    persona: Persona = field(kw_only=True)
    id: UUID
    event_id: UUID
    loop_id: UUID
    ts: datetime
    kind: EventKind
    visibility: Visibility
    summary: str = field(repr=False)
    importance: float = 0.0
    status: EmbedStatus = EmbedStatus.PENDING
    attempts: int = 0
    last_error: str | None = None

    def __post_init__(self) -> None:
        _become(self, kind=EventKind(self.kind), visibility=Visibility(self.visibility))
        _become(self, status=EmbedStatus(self.status))


@dataclass(frozen=True, slots=True)
class StmEntry:
    """The short-term entry of one loop.

    `ltm_ids`, `kinds` and `visibilities` have one item per event, in the loop's order: a boost
    is an event's kind times its visibility, so the two must stay paired. `agent_id` and
    `persona` are those of the row it was read from.
    """

    agent_id: str = field(kw_only=True)
    persona: Persona = field(kw_only=True)
    loop_id: UUID
    ts: datetime
    summary: str = field(repr=False)
    ltm_ids: tuple[UUID, ...] = ()
    kinds: tuple[EventKind, ...] = ()
    visibilities: tuple[Visibility, ...] = ()

    def __post_init__(self) -> None:
        _become(self, ltm_ids=tuple(self.ltm_ids), kinds=tuple(map(EventKind, self.kinds)))
        _become(self, visibilities=tuple(map(Visibility, self.visibilities)))


def _become(noun: Event | LtmEntry | StmEntry, **values: object) -> None:
    """Give a frozen noun the types that its fields declare: a row has texts and lists."""
    for name, value in values.items():
        object.__setattr__(noun, name, value)


def kind_of(value: object) -> EventKind:
    """The kind of event that a caller named."""
    if not isinstance(value, str) or value not in tuple(EventKind):
        shown = f"`{value[:40]}`" if isinstance(value, str) else f"A `{type(value).__name__}`"
        raise KindUnknown(
            f"{shown} is no kind of event.",
            remedy=f"Use one of {', '.join(EventKind)}; nothing was written.",
        )
    return EventKind(value)


def persona_of(value: object) -> Persona:
    """The persona that a caller named."""
    if not isinstance(value, str) or value not in tuple(Persona):
        raise EventRefused(f"A persona is one of {', '.join(Persona)}.")
    return Persona(value)


def visibility_of(value: object) -> Visibility:
    """The visibility that a caller named."""
    if not isinstance(value, str) or value not in tuple(Visibility):
        raise EventRefused(f"A visibility is one of {', '.join(Visibility)}.")
    return Visibility(value)
