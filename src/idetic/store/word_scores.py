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
# A word of so many members is added up over all of them, a rarer one over those that it reaches.
_COMMON = 8


@dataclass(frozen=True, slots=True)
class Postings:
    """Who has a word, by their place among the members, and how often."""

    places: Array
    counts: Array

    @classmethod
    def read(cls, blocks: Sequence[tuple[int, bytes]]) -> Postings:
        """The postings of a word, each block of them counted from its first member."""
        sizes = [len(block) // 4 for _, block in blocks]
        starts = np.repeat(np.array([first for first, _ in blocks], np.int32), sizes)
        # As one text: of an anchor of 100,000 a word has fifty blocks.
        whole = np.frombuffer(b"".join([block for _, block in blocks]), ">u4").astype(np.uint32)
        return cls((whole >> 8).astype(np.int32) + starts, (whole & 0xFF).astype(np.float32))

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return int(self.places.nbytes + self.counts.nbytes)

    def followed(self, more: Postings, first: int) -> Postings:
        """These and others of members behind, which begin there."""
        places = np.concatenate([self.places, more.places + np.int32(first)])
        return Postings(places, np.concatenate([self.counts, more.counts]))

    def only(self, wanted: Array) -> Postings:
        """Those of the members that a mask names, by their new places."""
        kept = wanted[self.places]
        return Postings((np.cumsum(wanted) - 1)[self.places[kept]], self.counts[kept])


@dataclass(frozen=True, slots=True)
class Reach:
    """Which members have a word, themselves or by their neighbours, and how often."""

    at: Array
    often: Array

    @classmethod
    def of(cls, postings: Postings, windows: Windows) -> Reach:
        """How far the postings of a word reach.

        For itself a member counts twice where neighbours lend it words: of entries in one window
        those come first that say it themselves.
        """
        places, counts = postings.places, postings.counts
        at, often = [places], [counts * (1 + windows.extended[places])]
        for step, lends in windows.lends.items():
            lent = lends[places]
            at.append(places[lent] + step)
            often.append(counts[lent])
        return cls._added(np.concatenate(at), np.concatenate(often), len(windows.lengths))

    @classmethod
    def _added(cls, at: Array, often: Array, members: int) -> Reach:
        """What each member has in all."""
        if len(at) * _COMMON > members:
            sums = np.bincount(at, often, members)
            met = np.flatnonzero(sums)
            return cls(met.astype(np.int32), sums[met].astype(np.float32))
        met, which = np.unique(at, return_inverse=True)
        return cls(met, np.bincount(which, often, len(met)).astype(np.float32))

    def after(self, first: int, counted: Array) -> Reach:
        """By places behind others, without those that are here only as somebody's neighbours."""
        own = counted[self.at]
        return Reach(self.at[own] + first, self.often[own])


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
    _reached: list[Reach] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scores = np.zeros(len(self.members))
        self.covered = np.zeros(len(self.members))
        own = sum(part.words(counted) for part, counted in self._parts())
        self.brevity = min(1.0, BRIEF_ENTRY / self._mean(own))

    def add_all(self, words: Mapping[str, Sequence[Reach]]) -> WordScores:
        """Count every word of the question, each by what it reaches, part by part."""
        entries = int(np.count_nonzero(self.counted))
        if not entries:
            return self
        windows = [(part.windows(self.before, self.after), own) for part, own in self._parts()]
        usual = 0.9 / self._mean(sum(window.words(own) for window, own in windows))
        lengths = [window.lengths for window, _ in windows]
        for word, parts in words.items():
            many = sum(len(part.at) for part in parts)
            if not many:
                continue
            rarity = float(np.log(1 + (entries - many + 0.5) / (many + 0.5)))
            self.rarity[word] = rarity
            self._reached += parts
            first = 0
            for part, length in zip(parts, lengths, strict=True):
                base = 0.3 + length[part.at - first] * usual
                self.covered[part.at] += rarity
                self.scores[part.at] += rarity * part.often * 2.2 / (part.often + base)
                first += len(length)
        return self

    def best(self, count: int) -> Array:
        """Where the highest scores stand: at least so many, where there are.

        The rarest word that enough have gives a bound; to sort all scores took four times as long.
        """
        enough = [reach for reach in self._reached if len(reach.at) >= count]
        if not enough:
            return np.flatnonzero(self.scores)
        rarest = min(enough, key=lambda reach: len(reach.at))
        bound = np.partition(self.scores[rarest.at], -count)[-count]
        return np.flatnonzero(self.scores >= bound)

    def reach(self, postings: Postings) -> list[Reach]:
        """How far a word reaches whose postings are of all members, which are of one part."""
        ((part, counted),) = self._parts()
        return [Reach.of(postings, part.windows(self.before, self.after)).after(0, counted)]

    def _parts(self) -> list[tuple[Members, Array]]:
        """What the members were joined of, each with who counts there."""
        found, first = [], 0
        for part in self.members.parts:
            found.append((part, self.counted[first : first + len(part)]))
            first += len(part)
        return found

    def _mean(self, words: int) -> float:
        """So many words on the mean of what counts, and at least one."""
        return max(1.0, words / max(1, int(np.count_nonzero(self.counted))))
