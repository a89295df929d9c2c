"""The fusion of a recall: every signal's value and rank for each candidate, and their sum.

By reciprocal ranks or by weighted values, as the spec says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from idetic.spec.primitives import FusionMethod, Retrieval, Signal
from idetic.store.recall_grounds import HitGrounds, SignalScore
from idetic.store.traits import Array

# By bands that share a rank: microseconds of age must not weigh as much as relevance.
_BANDED = (Signal.DECAY, Signal.STATEMENT, Signal.VOICE, Signal.SPEAKER, Signal.TIME)
_BANDS = 3
_SILENT = SignalScore(None, None, 0.0)


@dataclass(slots=True)
class Candidates:
    """Candidates with their values by signal; NaN where a signal knows nothing of one.

    `distances` are infinite where no vector was compared, `words` are shares of the best score by
    words and `covered` the rarity of the words met. `turns` count up within a place, so that
    neighbours differ by one; `asks` says which are questions.
    """

    ids: Array
    tiers: list[str]
    distances: Array
    values: dict[Signal, Array]
    covered: Array
    words: Array
    places: Array
    turns: Array
    asks: Array
    brevity: float
    found: Array = field(init=False)
    ranks: dict[Signal, Array] = field(default_factory=dict)
    shares: dict[Signal, Array] = field(default_factory=dict)

    def fuse(self, retrieval: Retrieval, weights: Mapping[Signal, float]) -> Array:
        """The score of each candidate; what each signal added is kept."""
        alone = np.zeros(len(self.tiers))
        for signal, weight in weights.items():
            if signal in self.values:
                alone += self._share(signal, weight, retrieval)
        if weights.get(Signal.NEARBY):
            self.values[Signal.NEARBY] = near = self._nearby(alone)
            self.shares[Signal.NEARBY] = weights[Signal.NEARBY] * self.brevity * near
            alone = alone + self.shares[Signal.NEARBY]
        # A tier that the spec does not name is out of reach.
        reach = {tier.value: float(weight) for tier, weight in retrieval.tiers.items()}
        weighed = np.array([reach.get(tier, 0.0) for tier in self.tiers])
        scores: Array = alone * weighed
        self.found = (weighed > 0) & (np.isfinite(self.distances) | (scores > 0))
        return scores

    def best(self, scores: Array, limit: int) -> list[int]:
        """Those that are found, best first, as many as asked for.

        A compared vector is reason enough to be found, however far off it is: whoever asks for k
        gets k where k exist, and the distance says how little they may mean.
        """
        order = np.lexsort((_descending(self.ids), self.distances, -scores))
        return [int(at) for at in order[self.found[order]][:limit]]

    def words_on(self, chosen: Sequence[int]) -> list[dict[Signal, SignalScore]]:
        """Every signal's word on some candidates, one after the other."""
        columns = {signal: self._words_of(signal, np.array(chosen, int)) for signal in Signal}
        return [{signal: words[n] for signal, words in columns.items()} for n in range(len(chosen))]

    def _words_of(self, signal: Signal, chosen: Array) -> list[SignalScore]:
        """One signal's word on each of some candidates."""
        if signal not in self.values:
            return [_SILENT] * len(chosen)
        nothing = [0] * len(chosen)
        ranks, shares = (
            kept[signal][chosen].tolist() if signal in kept else nothing
            for kept in (self.ranks, self.shares)
        )
        return [
            # What is no number equals nothing, not even itself.
            SignalScore(rank or None, value if value == value else None, float(share))  # noqa: PLR0124
            for rank, value, share in zip(
                ranks, self.values[signal][chosen].tolist(), shares, strict=True
            )
        ]

    def similarity(self, at: int) -> float | None:
        """The cosine of question and entry, where it was compared."""
        return -float(self.distances[at]) if np.isfinite(self.distances[at]) else None

    def grounds(self, at: int, words: int) -> HitGrounds:
        """What a candidate's relevance is judged by."""
        return HitGrounds(float(self.covered[at]), float(self.words[at]), words)

    def _share(self, signal: Signal, weight: float, retrieval: Retrieval) -> Array:
        """What a signal adds to each score: its weighted value, or its share by rank."""
        self.ranks[signal] = ranks = self._ranked(signal)
        if retrieval.fusion.method is FusionMethod.WEIGHTED:
            share = weight * _numbers(self._known(signal))
        else:
            # Ranks do not tell how weak words are where entries are long, so the weight does.
            counted = weight * self.brevity if signal is Signal.LEXICAL else weight
            share = np.where(ranks > 0, counted / (retrieval.fusion.k + ranks), 0.0)
        self.shares[signal] = share
        return share

    def _known(self, signal: Signal) -> Array:
        """A signal's values; an entry that waits for its vector is as near as its words say.

        Counted as far off, what was said a moment ago would lose to anything that has a vector.
        """
        values = self.values[signal]
        if signal is not Signal.SEMANTIC or not np.isfinite(self.distances).any():
            return values
        return np.where(np.isnan(values), self.words, values)

    def _ranked(self, signal: Signal) -> Array:
        """The rank of each candidate by a signal, ties sharing one; 0 for what it knows nothing of.

        Meaning ranks by distance: its value is cut off at both ends.
        """
        if signal is Signal.SEMANTIC:
            return np.where(np.isfinite(self.distances), _places(self.distances), 0)
        values = _numbers(self.values[signal])
        if signal in _BANDED:
            band = np.ceil(values * _BANDS).astype(np.int64)
            # How many bands there are from the best one down to each.
            ranks = np.cumsum((np.bincount(band) > 0)[::-1])[::-1]
            return np.where(values > 0, ranks[band], 0)
        if signal is Signal.LEXICAL and values.any():
            # What has no word of the question ranks after all that have one: with no rank at all,
            # one common word would be worth more than being the nearest.
            return _places(-values)
        return np.where(values > 0, _places(-values), 0)

    def _nearby(self, alone: Array) -> Array:
        """What each gains by its place: twice its best candidate, and the question it answers."""
        order = np.lexsort((self.turns, self.places))
        one, next_one = order[:-1], order[1:]
        answers = (
            (self.places[one] == self.places[next_one])
            & (self.turns[one] + 1 == self.turns[next_one])
            & self.asks[one]
        )
        _, place = np.unique(self.places, return_inverse=True)
        best = np.zeros(len(alone))
        np.maximum.at(best, place, alone)
        near = 2 * best[place]
        near[next_one[answers]] += alone[one[answers]]
        return near


def _places(values: Array) -> Array:
    """One more than how many values are lower."""
    return np.searchsorted(np.sort(values), values) + 1


def _numbers(values: Array) -> Array:
    """The values, 0 where there is none."""
    return np.where(np.isnan(values), 0.0, values)


def _descending(ids: Array) -> Array:
    """Numbers that sort ids from the newest to the oldest."""
    halves = np.ascontiguousarray(ids).view(">u8")
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    ranks = np.empty(len(ids), np.int64)
    ranks[order] = np.arange(len(ids), 0, -1)
    return ranks
