"""Prompt hygiene: an Actor's prompt never holds what the Subconscious remembers.

A prompt is made of parts, and each part says where it comes from as the row it was read from
says it. The check goes by that provenance, not by the words: whoever mixes a row of the
Subconscious in, however it was come by, gets an error instead of a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from idetic.persona.errors import HygieneBroken
from idetic.persona.events import EventKind, LtmEntry, Persona, StmEntry

SUBCONSCIOUS_KINDS = frozenset({EventKind.SUBCONSCIOUS_PROMPT, EventKind.SUBCONSCIOUS_OUTPUT})
"""Kinds that no event of the Actor's has."""


class Source(StrEnum):
    """What a part of a prompt is."""

    IDENTITY = "identity"
    NOTE = "note"
    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    TASK = "task"


RECALLED = (Source.NOTE, Source.SHORT_TERM, Source.LONG_TERM)
"""Parts that come from memory: quoted, and each with the ids of what it was read from."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a prompt, and where it comes from."""

    source: Source
    text: str = field(repr=False)
    agent_id: str
    persona: Persona
    ids: tuple[UUID, ...] = ()
    kinds: tuple[EventKind, ...] = ()

    @classmethod
    def of_loop(cls, entry: StmEntry, text: str) -> Part:
        """A part that shows a loop's summary."""
        return cls(
            Source.SHORT_TERM, text, entry.agent_id, entry.persona, (entry.loop_id,), entry.kinds
        )

    @classmethod
    def of_entry(cls, entry: LtmEntry, text: str) -> Part:
        """A part that shows a long-term entry."""
        ids, kinds = (entry.id, entry.event_id, entry.loop_id), (entry.kind,)
        return cls(Source.LONG_TERM, text, entry.agent_id, entry.persona, ids, kinds)


def check_hygiene(parts: Sequence[Part], agent_id: str) -> None:
    """Raise `HygieneBroken` unless every part is the Actor's own, of this agent."""
    for part in parts:
        if wrong := _wrong(part, agent_id):
            # Ids and no words, and nothing of it in the message: that goes to the Actor's own log,
            # where it would tell that there is something to know.
            ids = [str(one) for one in getattr(part, "ids", ())]
            raise HygieneBroken(why=wrong, ids=ids)


def _wrong(part: object, agent_id: str) -> str | None:
    if type(part) is not Part:
        return f"a part is a {type(part).__name__} without provenance"
    if part.persona is not Persona.ACTOR:
        return f"a {part.source} part belongs to the {part.persona}"
    if part.agent_id != agent_id:
        return f"a {part.source} part belongs to another agent"
    if SUBCONSCIOUS_KINDS & set(part.kinds):
        return f"a {part.source} part is of a kind that only the Subconscious has"
    if part.source in RECALLED and not part.ids:
        return f"a {part.source} part names nothing that it was read from"
    return None
