"""Plain baselines over texts: BM25 in Python, and a count of shared words as grep would give."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol

_WORD = re.compile(r"[a-z0-9]+")
_STOP = frozenset(
    "a an and are as at be by did do does for from had has have he her him his how i in is it its "
    "me my of on or our she so that the their them they this to us was we were what when where "
    "which who why will with would you your".split()
)
_ENDINGS = ("ingly", "edly", "ing", "ies", "ied", "ed", "es", "ly", "s")


class WordSearch(Protocol):
    """A baseline that holds texts and finds them by words."""

    def search(self, query: str, limit: int) -> list[int]:
        """The places of the best texts, best first."""
        ...


def words(text: str) -> list[str]:
    """Lower-cased words without a small stop list, a common ending cut off."""
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


class WordIndex:
    """BM25 (k1 1.2, b 0.75) over texts, each a document of its own."""

    def __init__(self, texts: Sequence[str]):
        counts = [Counter(words(text)) for text in texts]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / len(lengths)
        self._count = len(texts)
        self._norm = [1.2 * (0.25 + 0.75 * length / mean) for length in lengths]
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for word, times in count.items():
                self._postings[word].append((place, times))

    def search(self, query: str, limit: int) -> list[int]:
        """The places of the best texts."""
        total: dict[int, float] = defaultdict(float)
        for word in set(words(query)):
            found = self._postings.get(word, [])
            idf = math.log(1 + (self._count - len(found) + 0.5) / (len(found) + 0.5))
            for place, times in found:
                total[place] += idf * times * 2.2 / (times + self._norm[place])
        return _best(total, limit)


class WordCount:
    """What grep would do: how many different words of the question a text holds."""

    def __init__(self, texts: Sequence[str]):
        self._words = [frozenset(_WORD.findall(text.lower())) for text in texts]

    def search(self, query: str, limit: int) -> list[int]:
        """The places of the texts with the most of the question's words."""
        wanted = frozenset(_WORD.findall(query.lower())) - _STOP
        return _best({n: float(len(wanted & held)) for n, held in enumerate(self._words)}, limit)


def _best(scores: dict[int, float], limit: int) -> list[int]:
    positive = [(-score, place) for place, score in scores.items() if score > 0]
    return [place for _, place in sorted(positive)[:limit]]


BM25 = "BM25 in Python"
BASELINES: dict[str, Callable[[Sequence[str]], WordSearch]] = {
    BM25: WordIndex,
    "grep: shared words": WordCount,
}
