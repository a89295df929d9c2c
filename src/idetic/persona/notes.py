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
    async for memory in own.store.said():
        if gate.overlaps(memory):
            # The error does not name the text: its reader may not be allowed to know it.
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

    def overlaps(self, text: str) -> bool:
        """Whether the note repeats a text or a part of it; what it carries of it is kept."""
        theirs = words(text).split()
        if not theirs:
            return False
        self.carried |= self._tokens.intersection(_tokens(text))
        self.carried.update(self._spelled_names(text))
        quoted = self._shingles.intersection(_shingles(theirs))
        return bool(quoted) or self._alike(theirs)

    def know(self, text: str) -> None:
        """Take what the Actor knows from what the note carries."""
        if self.carried:
            spelled = letters(text)
            known = {one for one in self.carried if len(one) >= _NAME_MIN and one in spelled}
            self.carried -= known | set(_tokens(text))

    def _spelled_names(self, text: str) -> Iterator[str]:
        """Names of a text that the notes' letters spell, wherever they put spaces and points."""
        for name in map(letters, _names(text)):
            if len(name) >= _NAME_MIN and name in self._letters and name not in self._before:
                yield name

    def _alike(self, theirs: Sequence[str]) -> bool:
        """Whether the note says what a text says in another order, or with more around it."""
        # A word or two in common are in the tokens, if they are worth it.
        if min(len(theirs), len(self._words)) < SHINGLE:
            return False
        their_trigrams = trigrams(" ".join(theirs))
        if trigram_similarity(self._trigrams, their_trigrams) >= SIMILAR:
            return True
        common = len(self._trigrams & their_trigrams)
        short = min(len(self._trigrams), len(their_trigrams))
        # A long text holds the trigrams of any short one by chance.
        fair = max(len(theirs), len(self._words)) <= 8 * min(len(theirs), len(self._words))
        ours = not all(stem(word) in ORDINARY for word in self._words)
        return ours and fair and common >= _CONTAINED * short


def _names(text: str) -> Iterator[str]:
    """The proper nouns of a text: words with a capital, but ordinary ones that open a sentence."""
    for match in _NAME.finditer(text):
        parts = [part for part in match[0].split() if stem(words(part)) not in ORDINARY]
        yield " ".join(parts)
        yield from parts


def _tokens(text: str) -> Iterator[str]:
    """What a text may give away: its numbers, its names and every word that is not ordinary."""
    for word in words(_GROUPED.sub("", text)).split():
        if any(character.isdigit() for character in word):
            yield word
        elif word in _SPELLED:
            yield _SPELLED[word]
        elif len(word) > 2 and (bare := stem(word)) not in ORDINARY:
            yield bare


def _shingles(sequence: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Every run of so many words with one that is not ordinary; a note that shares one quotes."""
    run = list(sequence)
    for first in range(len(run) - SHINGLE + 1):
        shingle = tuple(run[first : first + SHINGLE])
        if not all(stem(word) in ORDINARY for word in shingle):
            yield shingle


# --- words that tell nothing about anybody: those in which one says how to work -----------------

# A note may use them although the Subconscious used them too. The list is our own and short on
# purpose: a word that is missing here is looked for in what the Actor knows, and only then refused.

_WORDS = """
a about above accept add after again agree all allow almost alone already also always an and
another answer any anybody anyone anything apologise apology appear approve are argue around as
ask assume at attach attention avoid away back bad be because become been before begin behind
being below best better between big both brief bring bullet but by call calm came can cancel
cannot careful case cause change chat check choose clarify clear close come comment common compare
complain complaint complete concern concise confirm consider contact continue conversation copy
correct could customer data date day decide deep default detail did different direct discuss do
document does doubt down draft each early easy either else email end english enough ensure entry
error even ever every everybody everyone everything exact example except expect explain explicit
extra fact false far fast feel few figure file final find finish first fix focus follow for form
formal format forward found friendly from full further future gave general gentle get give go good
got great greet group guess had half happen hard has have he heading hear help her here him his
hold honest hour how however if image impatient important in include inform information instead
into invoice is issue it item its itself just keep key kind knew know known language large last
late later law leave length less let like likely limit line link list listen little long look lot
low made mail main make many mark matter may maybe me mean meeting mention message might mind
minute mistake month more most move much must my name near need never new next nice no nobody none
nor not note nothing now number of off offer often old on once one only open option or order other
ought our out over own page paragraph part past path pause pay people per perhaps person phone
phrase pick place plain plan please point polite politely possible practical prefer present
private problem process promise proper proposal propose provide put question quick quiet quote
rather reach read ready real reason recent record reduce refer refuse regard remain remember
remind repeat reply report request research respect respond response rest result return reveal
review right round rule run safe said same save say schedule second see seem send sentence
separate serious set several shall share she short should show side simple since single sit slow
small so some somebody someone something soon sorry sort sound source speak specific spell start
state stay step still stop story straight style subject such suggest sum summarise summarize
summary support suppose sure table take talk task tell term test text than thank that the their
them then there these they thing think this those though thought through time timezone title to
today together tomorrow tone too tool top topic translate true truth try turn type under
understand unit unless until up update upon urgent us use user usual very view visit wait want
warn was watch way we week welcome well went were what when where whether which while who whole
whom why will wish with within without word work worry would write wrong year yes yesterday
yet you young your
"""
_ENDING = re.compile(r"(?:ies|ing|ed|ly|er|s|e|y)$")


def stem(word: str) -> str:
    """A word without its endings: "replies" and "reply" are one."""
    while len(word) > 4 and (shorter := _ENDING.sub("", word)) != word:
        word = shorter
    return word


ORDINARY = frozenset(stem(word) for word in _WORDS.split())
