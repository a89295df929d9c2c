"""Validation of events before they are written: kind, content, metadata, moment, ingest gate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.gates.gate import Pipeline
from idetic.ids import uuid7
from idetic.persona.events import Event, EventKind, Persona, Visibility, kind_of, visibility_of
from idetic.persona.persona_errors import EventRefused, MetadataReserved
from idetic.verbs.arguments import check_moment, check_uuid

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

    def _gated(self, content: str, metadata: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Content and metadata past the ingest gate. It redacts and counts; it never refuses."""
        if not self.ingest.transforms:
            return content, metadata
        passed = self.ingest.apply(content)
        # Below a key of our own: a claim at the top of an envelope is refused, not redacted.
        kept, changes, _ = (
            self.ingest.apply_envelope({"metadata": metadata}) if metadata else ({}, (), 0)
        )
        removed: Counter[str] = Counter()
        for change in (*passed.changes, *changes):
            removed[change.kind] += change.count
        gated: dict[str, Any] = dict(kept.get("metadata", metadata))
        return passed.text, {**gated, REDACTED: dict(removed)} if removed else gated


def unstorable(text: str) -> bool:
    """Whether PostgreSQL cannot hold a text: it has NUL or a lone surrogate."""
    return "\x00" in text or any("\ud800" <= c <= "\udfff" for c in text)


def check_content(content: object) -> str:
    """The content of an event: any text that PostgreSQL can hold, the empty one too."""
    if not isinstance(content, str):
        raise EventRefused(f"The content is a {type(content).__name__}, not a text.")
    if len(content) > CONTENT_MAX:
        raise EventRefused(
            f"The content has {len(content):,} characters; the bound is {CONTENT_MAX:,}.",
            remedy="Store what is that large elsewhere, and log where; nothing was written.",
        )
    if unstorable(content):
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
    if "\\u0000" in text or unstorable(text):
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
    kept = dict(metadata or {})
    try:
        return EventKind(kind), kept
    except ValueError:
        return EventKind.SYSTEM_EVENT, {**kept, ORIGINAL_KIND: kind}
