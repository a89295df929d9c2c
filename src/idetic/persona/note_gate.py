"""Whether a note gives away what the Subconscious said. Pure, and always the same answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.persona.words import normalised

SHINGLE = 4
"""So many words in a row, shared, are a quotation."""
SIMILAR = 0.5
"""From this share of common trigrams on, two texts say the same in other words or order."""
_HELD = 0.8
_ID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)


class NoteGate:
    """Compares one note with texts, one after the other."""

    def __init__(self, note: str):
        self._words = normalised(note).split()
        self._text = " ".join(self._words)
        self._shingles = set(_shingles(self._words))
        self._trigrams = _trigrams(self._words)
        self.names_ids = bool(_ID.search(note))
        """Whether it names ids: the Actor could tell from them when something was remembered."""

    @property
    def says_something(self) -> bool:
        """Whether there is a word in it."""
        return bool(self._words)

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
        held = common / min(len(self._trigrams), len(theirs))
        return alike >= SIMILAR or (held >= _HELD and min(len(words), len(self._words)) >= SHINGLE)


def _shingles(words: list[str]) -> Iterator[tuple[str, ...]]:
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
