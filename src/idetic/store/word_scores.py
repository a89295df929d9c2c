"""BM25 over the words of an anchor, with this anchor's statistics (k1 1.2, b 0.75).

A word counts for the entry that has it and for that entry's neighbours. In the database the same
sums took four times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from idetic.store.members import Members, Windows
from idetic.store.traits import Array

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
        sizes = [len(block) // 4 for _, block in blocks]
        starts = np.repeat([first for first, _ in blocks], sizes)
        # As one text: of an anchor of 100,000 a word has fifty blocks.
        whole = np.frombuffer(b"".join([block for _, block in blocks]), ">u4").astype(np.int64)
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
    # 1 where entries are short; less, the longer they are.
    brevity: float = field(init=False)
    rarity: dict[str, float] = field(default_factory=dict)
    _found: Array = field(init=False)

    def __post_init__(self) -> None:
        self.scores = np.zeros(len(self.members))
        self.covered = np.zeros(len(self.members))
        self._found = np.zeros(len(self.members))
        self.brevity = min(1.0, BRIEF_ENTRY / self._mean(self.members.own))

    def add_all(self, words: Mapping[str, Postings]) -> WordScores:
        """Count every word of the question."""
        entries = int(self.counted.sum())
        if not entries:
            return self
        windows = self.members.windows(self.before, self.after)
        usual = 0.9 / self._mean(windows.lengths)
        for word, postings in words.items():
            met, often = self._within(postings, windows)
            if len(met):
                rarity = float(np.log(1 + (entries - len(met) + 0.5) / (len(met) + 0.5)))
                self.rarity[word] = rarity
                self.covered[met] += rarity
                base = 0.3 + windows.lengths[met] * usual
                self.scores[met] += rarity * often * 2.2 / (often + base)
        return self

    def _mean(self, lengths: Array) -> float:
        """The mean of what counts, and at least one word."""
        counted = lengths if self.counted.all() else lengths[self.counted]
        return max(1.0, float(counted.mean())) if len(counted) else 1.0

    def _within(self, postings: Postings, windows: Windows) -> tuple[Array, Array]:
        """Which members have a word, themselves or by their neighbours, and how often.

        For itself it counts twice where neighbours lend it words: of entries in one window those
        come first that say it themselves.
        """
        found, places = self._found, self.members.places
        at, counts = postings.places, postings.counts
        found[at] = counts * (1 + windows.extended[at])
        for step in (*range(1, self.before + 1), *range(-self.after, 0)):
            inside = (at + step >= 0) & (at + step < len(found))
            lender, other = at[inside], at[inside] + step
            lent = (places[other] == places[lender]) & windows.short[other]
            found[other[lent]] += counts[inside][lent]
        met = np.flatnonzero(found > 0)
        often = found[met]
        # The next word counts in the same array.
        found[met] = 0.0
        counted = self.counted[met]
        return met[counted], often[counted]
