"""Events of the log, their checks before they are written, and the entries derived from them.

`kind_of`, `persona_of` and `visibility_of` read what a caller names, and refuse the unknown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from idetic.gates.crossing import check_amount, cross
from idetic.gates.gate import Pipeline
from idetic.ids import uuid7
from idetic.persona.persona_errors import EventRefused, KindUnknown, MetadataReserved
from idetic.spec.plain import storable
from idetic.spec.primitives import EventKind, EventVisibility, Persona
from idetic.verbs.arguments import check_moment, check_uuid

# What the spec declares is an event's too.
__all__ = ["EventKind", "Persona"]
Visibility = EventVisibility

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much."""

CONTENT_MAX = 1_000_000
METADATA_MAX_BYTES = 16_384

ORIGINAL_KIND = "original_kind"
"""Metadata key where an import keeps a kind that Idetic does not know."""
IMPORTED = "imported"
"""Metadata key where an import keeps metadata that only Idetic may write."""
REDACTED = "redacted"
"""Metadata key that counts what the ingest gate removed."""

RESERVED = frozenset(
    "id ts agent_id persona loop_id kind visibility content metadata position digest "
    "event_id ltm_id ltm_ids collection importance erased".split()
) | {ORIGINAL_KIND, IMPORTED}
"""Metadata keys that only Idetic writes: each would pass for a field of the event."""

SUBCONSCIOUS_KINDS = frozenset({EventKind.SUBCONSCIOUS_PROMPT, EventKind.SUBCONSCIOUS_OUTPUT})
"""Kinds that no event of the Actor has."""


class EmbedStatus(StrEnum):
    """Whether a long-term entry has its vector; a dream retries all but `embedded`."""

    PENDING = "pending"
    EMBEDDED = "embedded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the perfect log, as it was written. Its repr leaves the content out.

    `position` has no gaps per agent and persona; `digest` is the hash that chains it. The fields
    have the order of the log's columns.
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
        raise EventRefused(f"A persona must be one of {', '.join(Persona)}.")
    return Persona(value)


def visibility_of(value: object) -> Visibility:
    """The visibility that a caller named."""
    if not isinstance(value, str) or value not in tuple(Visibility):
        raise EventRefused(f"A visibility must be one of {', '.join(Visibility)}.")
    return Visibility(value)


# --- validation: kind, content, metadata, moment, ingest gate -----------------------------------


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event to be written.

    `ts` is now unless given. An `id` makes a repeat safe: an event with that id is written once.
    """

    kind: EventKind
    content: str = field(repr=False)
    visibility: Visibility = Visibility.EXTERNAL
    metadata: Mapping[str, Any] | None = field(default=None, repr=False)
    ts: datetime | None = None
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class EventValidation:
    """The checks that one persona's drafts pass before they become events."""

    agent_id: str
    persona: Persona
    ingest: Pipeline

    def event(
        self,
        draft: EventDraft,
        loop_id: UUID,
        now: datetime,
        own: Mapping[str, Any] | None = None,
    ) -> Event:
        """The event that a draft becomes; the database adds its position and digest.

        `own` are metadata that only Idetic writes, such as the original kind of an import.
        """
        if not isinstance(draft, EventDraft):
            raise EventRefused(f"A {type(draft).__name__} is not an EventDraft.")
        kind = kind_of(draft.kind)
        if self.persona is Persona.ACTOR and kind in SUBCONSCIOUS_KINDS:
            raise EventRefused(
                f"The Actor writes no `{kind}`.",
                remedy="Open a loop with persona=Persona.SUBCONSCIOUS; nothing was written.",
            )
        content, metadata = check_content(draft.content), checked_metadata(draft.metadata)
        if REDACTED in metadata:
            raise MetadataReserved(f"`{REDACTED}` is a key that only Idetic writes.")
        content, metadata = self._gated(content, metadata | plain_metadata(own or {}))
        check_moment(draft.ts, "ts")
        return Event(
            uuid7() if draft.id is None else check_uuid(draft.id, "id"),
            draft.ts or now,
            loop_id,
            kind,
            visibility_of(draft.visibility),
            content,
            metadata,
            agent_id=self.agent_id,
            persona=self.persona,
        )

    async def events(
        self, drafts: Sequence[EventDraft], loop_id: Callable[[], UUID], now: datetime
    ) -> list[Event]:
        """The events of several drafts, beside the event loop where there is much to read."""
        texts = (getattr(draft, "content", "") for draft in drafts)
        amount = check_amount(sum(len(text) for text in texts if isinstance(text, str)), "Events")
        return await cross(amount, lambda: [self.event(draft, loop_id(), now) for draft in drafts])

    def _gated(self, content: str, metadata: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Content and metadata past the ingest gate. It redacts and counts; it never refuses."""
        if not self.ingest.transforms:
            return content, metadata
        passed = self.ingest.apply(content)
        # Below a key of our own: a claim at the top of an envelope is refused, not redacted.
        envelope, changes, _ = (
            self.ingest.apply_envelope({"metadata": metadata}) if metadata else ({}, (), 0)
        )
        removed: Counter[str] = Counter()
        for change in (*passed.changes, *changes):
            removed[change.kind] += change.count
        gated: dict[str, Any] = dict(envelope.get("metadata", metadata))
        return passed.text, {**gated, REDACTED: dict(removed)} if removed else gated


def check_content(content: object) -> str:
    """The content of an event: any text that PostgreSQL can hold, the empty one too."""
    if not isinstance(content, str):
        raise EventRefused(f"The content is a {type(content).__name__}, not a text.")
    if len(content) > CONTENT_MAX:
        raise EventRefused(
            f"The content has {len(content):,} characters; the bound is {CONTENT_MAX:,}.",
            remedy="Store what is that large elsewhere, and log where; nothing was written.",
        )
    if not storable(content):
        raise EventRefused(
            "The content holds NUL or a lone surrogate.",
            remedy="Decode the source properly, or replace them; nothing was written.",
        )
    return content


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A caller's metadata as plain JSON: bounded, storable, and without a reserved key."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise EventRefused("Metadata must be a mapping from text to values.")
    if reserved := sorted(RESERVED & metadata.keys()):
        raise MetadataReserved(f"`{reserved[0]}` is a key that only Idetic writes.")
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
    if "\\u0000" in text or not storable(text):
        raise EventRefused("The metadata hold NUL or a lone surrogate.")
    if len(text.encode()) > METADATA_MAX_BYTES:
        raise EventRefused(
            f"The metadata take more than {METADATA_MAX_BYTES:,} bytes.",
            remedy="Keep metadata small; what was said belongs into `content`.",
        )
    plain: dict[str, Any] = json.loads(text)
    return plain


def imported_kind(
    kind: str, metadata: Mapping[str, Any] | None = None
) -> tuple[EventKind, dict[str, Any]]:
    """The kind and metadata of an imported event; the metadata keep an unknown kind.

    An unknown kind becomes `system_event`: it is never dropped, and never taken for user input.
    """
    own = dict(metadata or {})
    try:
        return EventKind(kind), own
    except ValueError:
        return EventKind.SYSTEM_EVENT, {**own, ORIGINAL_KIND: kind}
