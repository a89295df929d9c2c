"""An event before it is written: checked, gated, and as the database takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.gates.gate import Pipeline, Redaction
from idetic.ids import random_bytes, uuid7
from idetic.persona.errors import EventRefused, MetadataReserved
from idetic.persona.events import (
    Event,
    EventKind,
    Persona,
    Visibility,
    checked_metadata,
    kind_of,
    plain_metadata,
    visibility_of,
)
from idetic.store.steps import Step
from idetic.verbs.arguments import check_moment, check_uuid

CONTENT_MAX = 1_000_000
REDACTED = "redacted"
"""Where an event's metadata say how much of what the ingest gate removed."""

NEVER_THE_ACTORS = frozenset({EventKind.SUBCONSCIOUS_PROMPT, EventKind.SUBCONSCIOUS_OUTPUT})
"""Kinds that the Actor's log does not hold."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Something that happened, to be written down.

    `ts` is now unless given. An `id` makes a repeat safe: an event with that id is written once.
    """

    kind: EventKind
    content: str = field(repr=False)
    visibility: Visibility = Visibility.EXTERNAL
    metadata: Mapping[str, Any] | None = field(default=None, repr=False)
    ts: datetime | None = None
    id: UUID | None = None


class DraftCheck:
    """Turns drafts of one persona into events, through the ingest gate."""

    def __init__(self, agent_id: str, persona: Persona, ingest: Pipeline):
        self._agent_id = agent_id
        self._persona = persona
        self._ingest = ingest

    def event(
        self,
        draft: Draft,
        loop_id: UUID,
        now: datetime,
        own: Mapping[str, Any] | None = None,
    ) -> Event:
        """The event that a draft becomes; its position and digest come from the database.

        `own` are metadata that only Idetic writes, such as what an import could not take over.
        """
        if not isinstance(draft, Draft):
            raise EventRefused(f"A {type(draft).__name__} is not a Draft.")
        kind = kind_of(draft.kind)
        if self._persona is Persona.ACTOR and kind in NEVER_THE_ACTORS:
            raise EventRefused(
                f"The Actor writes no `{kind}`.",
                remedy="Open a loop with persona=Persona.SUBCONSCIOUS; nothing was written.",
            )
        content, metadata = self._gated(check_content(draft.content), draft.metadata, own or {})
        check_moment(draft.ts, "ts")
        return Event(
            uuid7() if draft.id is None else check_uuid(draft.id, "id"),
            draft.ts or now,
            self._agent_id,
            self._persona,
            loop_id,
            kind,
            visibility_of(draft.visibility),
            content,
            metadata,
        )

    def gated(self, text: str) -> tuple[str, bool]:
        """A text that was made elsewhere, past the ingest gate; and whether that changed it."""
        if not self._ingest.transforms:
            return text, False
        passed = self._ingest.apply(text)
        return passed.text, bool(passed.changes)

    def _gated(
        self, content: str, metadata: Mapping[str, Any] | None, own: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """What crosses the ingest boundary. A log refuses nothing; what goes leaves a mark."""
        plain = checked_metadata(metadata)
        if REDACTED in plain:
            raise MetadataReserved(f"`{REDACTED}` is a key that only Idetic writes.")
        plain |= plain_metadata(own)
        if not self._ingest.transforms:
            return content, plain
        passed = self._ingest.apply(content)
        # Below a key of our own: a claim at the top of an envelope is refused, not redacted.
        kept, changes, _ = (
            self._ingest.apply_envelope({"metadata": plain}) if plain else ({}, (), 0)
        )
        told = _counted((*passed.changes, *changes))
        gated: dict[str, Any] = dict(kept.get("metadata", plain))
        return passed.text, {**gated, REDACTED: told} if told else gated


def check_content(content: object) -> str:
    """What an event says: any text that PostgreSQL can hold, an empty one too."""
    if not isinstance(content, str):
        raise EventRefused(f"The content is a {type(content).__name__}, not a text.")
    if len(content) > CONTENT_MAX:
        raise EventRefused(
            f"The content has {len(content):,} characters; the bound is {CONTENT_MAX:,}.",
            remedy="Store what is that large elsewhere, and log where; nothing was written.",
        )
    if "\x00" in content or any("\ud800" <= c <= "\udfff" for c in content):
        raise EventRefused(
            "The content holds NUL or a lone surrogate.",
            remedy="Decode the source properly, or replace them; nothing was written.",
        )
    return content


def as_item(event: Event, step: Step | None) -> dict[str, Any]:
    """An event as the database's record function takes it, with its long-term entry."""
    item = {
        "id": str(event.id),
        "ts": event.ts.isoformat(),
        "loop_id": str(event.loop_id),
        "kind": event.kind.value,
        "visibility": event.visibility.value,
        "content": event.content,
        "metadata": dict(event.metadata),
        "salt": random_bytes(16).hex(),
    }
    return item if step is None else {**item, "step": step.encoded()}


def _counted(changes: tuple[Redaction, ...]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for change in changes:
        counts[change.kind] += change.count
    return dict(counts)
