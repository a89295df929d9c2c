"""The nouns of persona memory: events of the log, and what is derived from them.

Kinds and visibilities are those of the spec; here they get their doors: `kind_of` refuses what
is unknown, `imported_kind` keeps it. Nothing is dropped, and nothing relabelled as user input.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from idetic.persona.errors import EventRefused, KindUnknown, MetadataReserved
from idetic.spec.primitives import EventKind, Persona
from idetic.spec.primitives import EventVisibility as Visibility

__all__ = [
    "IMPORTED",
    "ORIGINAL_KIND",
    "RESERVED",
    "EmbedStatus",
    "Event",
    "EventKind",
    "LtmEntry",
    "LtmHit",
    "Persona",
    "StmEntry",
    "Visibility",
    "checked_metadata",
    "imported_kind",
    "kind_of",
    "persona_of",
    "plain_metadata",
    "visibility_of",
]

METADATA_MAX_BYTES = 16_384

ORIGINAL_KIND = "original_kind"
"""Where an import keeps the kind that it did not know."""

IMPORTED = "imported"
"""Where an import keeps whatever else it could not take over as it was."""

RESERVED = frozenset(
    "id ts agent_id persona loop_id kind visibility content metadata position digest "
    "event_id ltm_id ltm_ids collection importance erased".split()
) | {ORIGINAL_KIND, IMPORTED}
"""Metadata keys that only Idetic writes: each would pass for a field of the event."""


class EmbedStatus(StrEnum):
    """Whether a long-term entry has its vector; all but `embedded` are tried again by a dream."""

    PENDING = "pending"
    EMBEDDED = "embedded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the perfect log, as it was written. Its representation keeps the content back.

    `position` has no gaps per agent and persona; `digest` is the hash that chains it.
    """

    id: UUID
    ts: datetime
    agent_id: str
    persona: Persona
    loop_id: UUID
    kind: EventKind
    visibility: Visibility
    content: str = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    position: int = 0
    digest: bytes = b""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))


@dataclass(frozen=True, slots=True)
class LtmEntry:
    """The long-term entry of one event: compacted, graded, and with a vector sooner or later.

    `agent_id` and `persona` say whose it is, as the row it was read from says it.
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


@dataclass(frozen=True, slots=True)
class StmEntry:
    """The short-term entry of one loop.

    `ltm_ids`, `kinds` and `visibilities` have one item per event, in the loop's order: a boost
    is an event's kind times its visibility, so the two must stay paired. `agent_id` and
    `persona` say whose it is, as the row it was read from says it.
    """

    agent_id: str = field(kw_only=True)
    persona: Persona = field(kw_only=True)
    loop_id: UUID
    ts: datetime
    summary: str = field(repr=False)
    ltm_ids: tuple[UUID, ...] = ()
    kinds: tuple[EventKind, ...] = ()
    visibilities: tuple[Visibility, ...] = ()


@dataclass(frozen=True, slots=True)
class LtmHit:
    """A long-term entry that answers a query, and how well: the larger, the better."""

    entry: LtmEntry
    score: float


def kind_of(value: object) -> EventKind:
    """The kind that a caller named; an unknown one is refused."""
    try:
        return EventKind(value)  # type: ignore[arg-type]  # to be refused
    except ValueError:
        shown = f"`{value[:40]}`" if isinstance(value, str) else f"A `{type(value).__name__}`"
        raise KindUnknown(
            f"{shown} is no kind of event.",
            remedy=f"Use one of {', '.join(EventKind)}; nothing was written.",
        ) from None


def persona_of(value: object) -> Persona:
    """The persona that a caller named."""
    try:
        return Persona(value)  # type: ignore[arg-type]  # to be refused
    except ValueError:
        raise EventRefused(f"A persona is one of {', '.join(Persona)}.") from None


def visibility_of(value: object) -> Visibility:
    """The visibility that a caller named."""
    try:
        return Visibility(value)  # type: ignore[arg-type]  # to be refused
    except ValueError:
        raise EventRefused(f"A visibility is one of {', '.join(Visibility)}.") from None


def imported_kind(
    kind: str, metadata: Mapping[str, Any] | None = None
) -> tuple[EventKind, dict[str, Any]]:
    """The kind of an imported event and its metadata: an unknown kind becomes `system_event`.

    What the event was called then stands in its metadata, under `original_kind`.
    """
    kept = dict(metadata or {})
    try:
        return EventKind(kind), kept
    except ValueError:
        return EventKind.SYSTEM_EVENT, {**kept, ORIGINAL_KIND: kind}


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A caller's metadata, as plain JSON: bounded, storable, and without a reserved key."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise EventRefused("Metadata are a mapping from text to values.")
    if taken := sorted(RESERVED & metadata.keys()):
        raise MetadataReserved(f"`{taken[0]}` is a key that only Idetic writes.")
    return plain_metadata(metadata)


def plain_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as plain JSON: bounded and storable."""
    try:
        text = json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise EventRefused(
            "The metadata cannot be written as JSON.",
            remedy="Use text, finite numbers, true, false, null, lists and mappings.",
        ) from None
    if "\\u0000" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise EventRefused("The metadata hold NUL or a lone surrogate.")
    if len(text.encode()) > METADATA_MAX_BYTES:
        raise EventRefused(
            f"The metadata take more than {METADATA_MAX_BYTES:,} bytes.",
            remedy="Keep metadata small; what was said belongs into `content`.",
        )
    plain: dict[str, Any] = json.loads(text)
    return plain
