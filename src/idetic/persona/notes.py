"""Operational notes: the one channel from the Subconscious to the Actor, behind a gate.

A note tells the Actor how to work, never what the Subconscious saw or thought. The gate compares
it with all that the Subconscious ever said and kept, and refuses what overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from idetic.errors import GateRefused
from idetic.ids import uuid7
from idetic.persona.errors import NoteRefused
from idetic.persona.layers import Layers
from idetic.persona.note_gate import NoteGate
from idetic.store.log import LogStore
from idetic.verbs.arguments import check_text

NOTE_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Note:
    """A note as the Actor finds it."""

    id: UUID
    ts: datetime
    text: str = field(repr=False)


class NoteBoard:
    """The notes of one agent, through the layers of whoever asks."""

    def __init__(self, layers: Layers, actors: LogStore | None = None):
        self._layers = layers
        # The Actor's family through the rights of whoever leaves the note.
        self._actors = actors or layers.store

    async def latest(self, limit: int) -> list[Note]:
        """The last notes, newest first."""
        return [Note(*row) for row in await self._layers.store.notes(limit)]

    async def leave(self, text: str) -> Note:
        """Leave a note to the Actor, if the gate lets it pass. For the Subconscious alone."""
        check_text(text, NOTE_MAX, "text")
        common = self._layers.common
        passed = common.ingest.apply(text)
        gate = NoteGate(passed.text)
        if passed.refused or not gate.says_something:
            raise GateRefused(passed.refused or "The note has no words.")
        if gate.names_ids:
            raise NoteRefused("The note names an id.", remedy="Leave ids out; nothing was written.")
        async for said in self._layers.store.said():
            if gate.overlaps(said):
                # Not with what: whoever reads the error need not be allowed to know.
                raise NoteRefused
        note = Note(uuid7(), common.clock.now(), passed.text)
        await self._actors.put_note(note.id, note.ts, note.text)
        return note
