"""A paraphrase of what was shown: its words in other forms, and nothing else said.

Similarity alone would swallow corrections: "paid by cheque" is more alike to "paid by card" than
most paraphrases are. So it proposes, with the spec's bound, and the words confirm: every number,
name, negation and the like is the same and in the same order, and each other word that differs has
its partner, which is a form of the same word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from uuid import UUID

from idetic.folding import trigram_similarity, trigrams
from idetic.lifecycle.duplicates import Word, WordKind, read
from idetic.spec.typology import PromotionPolicy
from idetic.store.entries import Shown

# A word that so many entries have tells little about any of them.
COMMON = 50
# So many entries, those that share most words, are compared.
NEAREST = 8
# Two words are forms of one if they begin alike for so many letters, and half of the longer one.
STEM = 4


@dataclass(frozen=True, slots=True)
class Echo:
    """An observation that repeats entries: which, how alike the words are, and why it counts."""

    echo_of: tuple[UUID, ...]
    trigram: float
    why: str

    def as_data(self) -> dict[str, Any]:
        """For the ledger: ids, a number and a reason, never content."""
        return {
            "echo_of": [str(entry_id) for entry_id in self.echo_of],
            "trigram": round(self.trigram, 4),
            "why": self.why,
        }


class Paraphrases:
    """What was shown, by its words, ready to be compared with."""

    def __init__(self, policy: PromotionPolicy):
        self._bound = policy.dedup_trigram
        self._shown: list[tuple[Shown, tuple[Word, ...]]] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, one: Shown, said: tuple[Word, ...]) -> None:
        """Add an entry that was shown, with its words."""
        for word in {word.value for word in said}:
            self._holding[word].append(len(self._shown))
        self._shown.append((one, said))

    def of(self, text: str, said: tuple[Word, ...]) -> Echo | None:
        """The echo that a text with these words is of the first entry it paraphrases, or None."""
        known = trigrams(text)
        for number in self._near(said):
            one, theirs = self._shown[number]
            alike = trigram_similarity(known, trigrams(one.text))
            if alike >= self._bound and _same_but_forms(said, theirs):
                return Echo((one.entry_id,), alike, "a paraphrase")
        return None

    def _near(self, said: tuple[Word, ...]) -> list[int]:
        """The entries that share most words with these, without those that everybody has."""
        rows = (self._holding.get(word, ()) for word in {word.value for word in said})
        shared = Counter(number for row in rows if len(row) <= COMMON for number in row)
        return [number for number, _ in shared.most_common(NEAREST)]


def _same_but_forms(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    """Whether two statements have the same words, some of them in another form."""
    if len(left) != len(right):
        return False
    return all(map(is_form, left, right))


def is_form(one: Word, other: Word) -> bool:
    """Whether two words are one, or forms of one that decides nothing."""
    if one.value == other.value:
        return True
    if not one.kind is other.kind is WordKind.WORD:
        return False
    pairs = zip(one.value, other.value, strict=False)
    stem = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return stem >= STEM and 2 * stem >= max(len(one.value), len(other.value))


def keeps_details(one: str, other: str) -> bool:
    """Whether two texts have the same numbers, names, negations and other words that decide."""
    left, right = read(one), read(other)
    decisive = {word.value for word in (*left, *right) if word.kind is not WordKind.WORD}
    ours, theirs = (Counter(word.value for word in words) for words in (left, right))
    return all(ours[value] == theirs[value] for value in decisive)
