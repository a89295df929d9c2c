"""Operational notes: the one channel from the Subconscious to the Actor, behind a gate.

A note tells the Actor how to work, never what the Subconscious saw or thought. The gate compares
it with all that the Subconscious ever said and kept, and refuses what overlaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from idetic.errors import GateRefused
from idetic.ids import uuid7
from idetic.persona.compactor import normalised
from idetic.persona.persona_errors import NoteRefused
from idetic.persona.persona_stores import PersonaStores
from idetic.verbs.arguments import check_text

NOTE_MAX = 2_000
SHINGLE = 4
"""This many words in a row, shared, are a quotation."""
SIMILAR = 0.5
"""From this share of common trigrams on, two texts say the same in other words or order."""
_CONTAINED = 0.8
_ID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OperationalNote:
    """A note to the Actor."""

    id: UUID
    ts: datetime
    text: str = field(repr=False)


async def leave_note(own: PersonaStores, actors: PersonaStores, text: str) -> OperationalNote:
    """Leave a note to the Actor, if the gate lets it pass. For the Subconscious alone.

    `own` are the Subconscious's stores, `actors` the Actor's through the Subconscious's role.
    """
    check_text(text, NOTE_MAX, "text")
    passed = own.common.ingest.apply(text)
    gate = NoteGate(passed.text)
    if passed.refused or not gate.has_words:
        raise GateRefused(passed.refused or "The note has no words.")
    if gate.names_ids:
        raise NoteRefused("The note names an id.", remedy="Leave ids out; nothing was written.")
    async for said in own.store.said():
        if gate.overlaps(said):
            # Not with what: whoever reads the error need not be allowed to know.
            raise NoteRefused
    note = OperationalNote(uuid7(), own.common.clock.now(), passed.text)
    await actors.store.rows("put_note", note_id=note.id, ts=note.ts, body=note.text)
    return note


class NoteGate:
    """Compares one note with texts of the Subconscious. Pure: the same answer every time.

    `names_ids` says whether the note names ids: they tell when something was remembered.
    """

    def __init__(self, note: str):
        self._words = normalised(note).split()
        self._text = " ".join(self._words)
        self._shingles = set(_shingles(self._words))
        self._trigrams = _trigrams(self._words)
        self.names_ids = bool(_ID.search(note))
        self.has_words = bool(self._words)

    def overlaps(self, said: str) -> bool:
        """Whether the note repeats a text, or a part of it."""
        words = normalised(said).split()
        if not words:
            return False
        if not self._shingles.isdisjoint(_shingles(words)):
            return True
        text = " ".join(words)
        # Fewer words than a shingle: one text inside the other is a repetition.
        short, long_ = sorted((self._text, text), key=len)
        if len(short.split()) < SHINGLE and len(short) > 3 and f" {short} " in f" {long_} ":
            return True
        theirs = _trigrams(words)
        common = len(self._trigrams & theirs)
        if not common:
            return False
        alike = common / len(self._trigrams | theirs)
        # A long note around a short secret, or the other way round, is alike in part only.
        contained = common / min(len(self._trigrams), len(theirs))
        whole = min(len(words), len(self._words)) >= SHINGLE
        return alike >= SIMILAR or (contained >= _CONTAINED and whole)


def _shingles(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Every run of so many words; a note that shares one with a text repeats it."""
    for first in range(len(words) - SHINGLE + 1):
        yield tuple(words[first : first + SHINGLE])


def _trigrams(words: list[str]) -> set[str]:
    """As pg_trgm makes them: of each word with two blanks before and one behind."""
    return {
        padded[at : at + 3]
        for word in words
        for padded in [f"  {word} "]
        for at in range(len(padded) - 2)
    }
