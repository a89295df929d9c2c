"""What a change of a canonical text says about a note that rests on it, by their words alone.

The comparison is deterministic, and it doubts: a text that should have confirmed a note, and is not
shown to, fails to. Nothing is promoted by it, and a person decides either way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from idetic.lifecycle.duplicates import Word, WordKind, read
from idetic.lifecycle.paraphrases import STEM, is_form


class Bearing(StrEnum):
    """What the version that holds now says about a note."""

    SAME = "same"
    CONFIRMS = "confirms"
    FAILS = "fails"


class _Vocabulary:
    """The words of a text, where each is found in whatever form."""

    def __init__(self, text: str):
        self.words = read(text)
        self._alike: defaultdict[str, set[Word]] = defaultdict(set)
        for word in self.words:
            self._alike[word.value[:STEM]].add(word)

    def holds(self, word: Word) -> bool:
        """Whether the text has a word, or another form of it."""
        return any(is_form(word, other) for other in self._alike[word.value[:STEM]])


@dataclass(frozen=True)
class CanonicalChange:
    """Two versions of a canonical text; None where a version has no text that may be read."""

    before: str | None
    now: str | None

    @cached_property
    def _before(self) -> _Vocabulary:
        return _Vocabulary(self.before or "")

    @cached_property
    def _now(self) -> _Vocabulary:
        return _Vocabulary(self.now or "")

    def bearing_on(self, note: str) -> tuple[Bearing, str]:
        """What the change says about a note, and why, in numbers and never in words of either."""
        if self.before is None or self.now is None:
            return Bearing.FAILS, "its text before cannot be compared"
        if [w.value for w in self._before.words] == [w.value for w in self._now.words]:
            return Bearing.SAME, "its words are the same"
        said = _telling(read(note))
        kept = sum(self._now.holds(word) for word in said)
        lost = sum(self._before.holds(word) and not self._now.holds(word) for word in said)
        why = f"the new text has {kept} of {len(said)} words of the note; {lost} went"
        if denied := [word for word in self._denials() if word not in said]:
            return Bearing.FAILS, f"{why}, and {len(denied)} came that may deny it"
        confirms = bool(said) and not lost and 2 * kept >= len(said)
        return (Bearing.CONFIRMS if confirms else Bearing.FAILS), why

    def _denials(self) -> list[Word]:
        """The negations that came: "not", "without", "unless" and the like."""
        words = (word for word in self._now.words if word.kind is WordKind.NEGATION)
        return [word for word in words if not self._before.holds(word)]


def _telling(words: Iterable[Word]) -> list[Word]:
    """The words that a text is told by: not "to", "and" and the like, which every text has."""
    told = (w for w in words if w.kind is not WordKind.WORD or len(w.value) >= STEM)
    return list(dict.fromkeys(told))
