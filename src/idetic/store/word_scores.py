"""BM25 over the words of an anchor, with this anchor's statistics (k1 1.2, b 0.75).

A word counts for the entry that has it and for that entry's neighbours. In the database the same
sums took four times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from idetic.store.members import Array, Members
from idetic.store.recall_statement import LONG_ENTRY

# Words count fully where entries are shorter. In words that count, chosen on the development sets.
BRIEF_ENTRY = 15


@dataclass(frozen=True, slots=True)
class Postings:
    """Who has a word, by their place among the members, and how often."""

    places: Array
    counts: Array

    @classmethod
    def read(cls, blocks: Sequence[tuple[int, bytes]]) -> Postings:
        """The postings of a word, each block of them counted from its first member."""
        packed = [np.frombuffer(block, ">u4").astype(np.int64) for _, block in blocks]
        starts = np.repeat([first for first, _ in blocks], [len(block) for block in packed])
        whole = np.concatenate(packed)
        return cls((whole >> 8) + starts, (whole & 0xFF).astype(np.float64))

    def only(self, wanted: Array) -> Postings:
        """Those of the members that a mask names, by their new places."""
        kept = wanted[self.places]
        return Postings((np.cumsum(wanted) - 1)[self.places[kept]], self.counts[kept])


@dataclass(slots=True)
class WordScores:
    """What each member scores by the words of a question.

    `covered` is the rarity of the words that stand in it or right beside it, added up. `counted`
    leaves out members that are here only as somebody's neighbours.
    """

    members: Members
    before: int
    after: int
    counted: Array
    scores: Array = field(init=False)
    covered: Array = field(init=False)
    rarity: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scores = np.zeros(len(self.members))
        self.covered = np.zeros(len(self.members))

    def add_all(self, words: Mapping[str, Postings]) -> WordScores:
        """Count every word of the question."""
        entries = int(self.counted.sum())
        if not entries:
            return self
        extended, lengths = self._lengths()
        base = 0.3 + lengths * (0.9 / max(float(lengths[self.counted].mean()), 1.0))
        for word, postings in words.items():
            found = self._within(postings, extended)
            met = np.flatnonzero(found * self.counted)
            if len(met):
                often = found[met]
                rarity = float(np.log(1 + (entries - len(met) + 0.5) / (len(met) + 0.5)))
                self.rarity[word] = rarity
                self.covered[met] += rarity
                self.scores[met] += rarity * often * 2.2 / (often + base[met])
        return self

    @property
    def brevity(self) -> float:
        """1 where entries are short; less, the longer they are."""
        own = self.members.own[self.counted]
        return min(1.0, BRIEF_ENTRY / max(float(own.mean()), 1.0)) if len(own) else 1.0

    def _within(self, postings: Postings, extended: Array) -> Array:
        """How often each member has a word, itself or by its neighbours.

        For itself it counts twice where neighbours lend it words: of entries in one window those
        come first that say it themselves.
        """
        found = np.zeros(len(self.members))
        at, counts = postings.places, postings.counts
        found[at] = counts * (1 + extended[at])
        short, places = self.members.own < LONG_ENTRY, self.members.places
        for step in (*range(1, self.before + 1), *range(-self.after, 0)):
            inside = (at + step >= 0) & (at + step < len(found))
            lender, other = at[inside], at[inside] + step
            lent = (places[other] == places[lender]) & short[other]
            found[other[lent]] += counts[inside][lent]
        return found

    def _lengths(self) -> tuple[Array, Array]:
        """Which members neighbours lend their words to, and how long each is with them."""
        own, places = self.members.own, self.members.places
        around = own.astype(np.int64)
        for step in (*range(1, self.before + 1), *range(-self.after, 0)):
            lender = slice(None, -step) if step > 0 else slice(-step, None)
            other = slice(step, None) if step > 0 else slice(None, step)
            around[other] += own[lender] * (places[other] == places[lender])
        extended = (own < LONG_ENTRY) & (around > own)
        return extended, np.where(extended, own + around, own)
