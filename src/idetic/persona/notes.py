"""Operational notes: the one channel from the Subconscious to the Actor, behind a gate.

A note tells the Actor how to work, never what the Subconscious saw or thought. The gate compares
it, folded and together with the notes before it, with all that the Subconscious ever said and kept.
It refuses what quotes that, and what carries a name, a number or a rare word from there that the
Actor does not know by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from idetic.errors import GateRefused
from idetic.folding import letters, trigram_similarity, trigrams, words
from idetic.ids import uuid7
from idetic.persona.ordinary_words import ORDINARY, stem
from idetic.persona.persona_errors import NoteRefused
from idetic.persona.persona_stores import PersonaStores
from idetic.verbs.arguments import check_text

NOTE_MAX = 2_000
RECENT = 20
"""So many notes before it are read together with a new one."""
SHINGLE = 4
"""This many words in a row, shared, are a quotation, if one of them is no ordinary word."""
SIMILAR = 0.5
"""From this share of common trigrams on, two texts say the same in other words or order."""
_CONTAINED = 0.8
# Shorter ones would be found inside of other words.
_NAME_MIN = 5
_ID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_NAME = re.compile(r"\b[^\W\d_a-z]\w*(?:[ '\-.]+[^\W\d_a-z]\w*)*")
_GROUPED = re.compile(r"(?<=\d)[,.' ](?=\d{3}\b)")
_SPELLED = {
    name: str(value)
    for value, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
    # "One" is a pronoun before it is a number.
    if value > 1
} | {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100"}


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
    recent = [body for _, _, body in await actors.store.rows("notes", limit=RECENT)]
    gate = NoteGate(passed.text, recent[::-1])
    if passed.refused or not gate.has_words:
        raise GateRefused(passed.refused or "The note has no words.")
    if gate.names_ids:
        raise NoteRefused("The note names an id.", remedy="Leave ids out; nothing was written.")
    async for said in own.store.said():
        if gate.overlaps(said):
            # Not with what: whoever reads the error need not be allowed to know.
            raise NoteRefused
    if gate.carried:
        async for known in actors.store.said():
            gate.know(known)
    if gate.carried:
        raise NoteRefused
    await own.store.database.check_clock(own.common.clock)
    note = OperationalNote(uuid7(), own.common.clock.now(), passed.text)
    await actors.store.rows("put_note", note_id=note.id, ts=note.ts, body=note.text)
    return note


class NoteGate:
    """Compares one note, and the notes before it, with texts of the Subconscious. Pure.

    `names_ids` says whether the note names ids: they tell when something was remembered. `carried`
    is what it holds of the texts that it was compared with and that the Actor is not known to know.
    """

    def __init__(self, note: str, recent: Sequence[str] = ()):
        self._words = words(note).split()
        before = [word for one in recent for word in words(one).split()]
        # The end of the last note and the beginning of this one may be one quotation.
        self._shingles = set(_shingles([*before[1 - SHINGLE :], *self._words]))
        self._trigrams = trigrams(" ".join(self._words))
        self._tokens = set(_tokens(note))
        self._before = letters(" ".join(recent))
        self._letters = self._before + letters(note)
        self.carried: set[str] = set()
        self.names_ids = bool(_ID.search(note))
        self.has_words = bool(self._words)

    def overlaps(self, said: str) -> bool:
        """Whether the note repeats a text or a part of it; what it carries of it is kept."""
        theirs = words(said).split()
        if not theirs:
            return False
        self.carried |= self._tokens.intersection(_tokens(said))
        self.carried.update(self._spelled_names(said))
        quoted = self._shingles.intersection(_shingles(theirs))
        return bool(quoted) or self._alike(theirs)

    def know(self, text: str) -> None:
        """Take what the Actor knows from what the note carries."""
        if self.carried:
            held = letters(text)
            known = {one for one in self.carried if len(one) >= _NAME_MIN and one in held}
            self.carried -= known | set(_tokens(text))

    def _spelled_names(self, said: str) -> Iterator[str]:
        """Names of a text that the notes' letters spell, wherever they put spaces and points."""
        for name in map(letters, _names(said)):
            if len(name) >= _NAME_MIN and name in self._letters and name not in self._before:
                yield name

    def _alike(self, theirs: Sequence[str]) -> bool:
        """Whether the note says what a text says in another order, or with more around it."""
        # A word or two in common are in the tokens, if they are worth it.
        if min(len(theirs), len(self._words)) < SHINGLE:
            return False
        said = trigrams(" ".join(theirs))
        if trigram_similarity(self._trigrams, said) >= SIMILAR:
            return True
        common = len(self._trigrams & said)
        short = min(len(self._trigrams), len(said))
        # A long text holds the trigrams of any short one by chance.
        fair = max(len(theirs), len(self._words)) <= 8 * min(len(theirs), len(self._words))
        ours = not all(stem(word) in ORDINARY for word in self._words)
        return ours and fair and common >= _CONTAINED * short


def _names(text: str) -> Iterator[str]:
    """The proper nouns of a text: words with a capital, but ordinary ones that open a sentence."""
    for found in _NAME.finditer(text):
        told = [part for part in found[0].split() if stem(words(part)) not in ORDINARY]
        yield " ".join(told)
        yield from told


def _tokens(text: str) -> Iterator[str]:
    """What a text may give away: its numbers, its names and every word that is not ordinary."""
    for word in words(_GROUPED.sub("", text)).split():
        if any(character.isdigit() for character in word):
            yield word
        elif word in _SPELLED:
            yield _SPELLED[word]
        elif len(word) > 2 and (bare := stem(word)) not in ORDINARY:
            yield bare


def _shingles(said: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Every run of so many words with one that is not ordinary; a note that shares one quotes."""
    run = list(said)
    for first in range(len(run) - SHINGLE + 1):
        shingle = tuple(run[first : first + SHINGLE])
        if not all(stem(word) in ORDINARY for word in shingle):
            yield shingle
