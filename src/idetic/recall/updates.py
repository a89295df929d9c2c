"""Updates: of two hits that say the same about the same with another value, the newer comes first.

Both stay, with their dates. Where both have claims, the claims decide. Where not, the rule is
careful: their sentences share the question's rare words, both name a figure, the figures differ,
and the newer sentence says that something changed. Without the last condition, as many updates cost
more of what is unrelated (decision 0035).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from idetic.model import Claim
from idetic.recall.hits import Hit

# How many of the first hits are compared with each other.
COMPARED = 10
# How much of the question's rare words a sentence holds, and how much of the older one's the newer.
_ABOUT, _SAME = 0.2, 0.7
_READ = 4000

_SENTENCE = re.compile(r"(?<=[.!?\n])\s+|, (?=and |but |so |which |now )")
_WORD = re.compile(r"[^\W_]+")
_FIGURE = re.compile(
    r"\d[\d,.:]*\d|\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:now|new|newly|recently|updat\w+|chang\w+|reschedul\w+|moved|instead|no longer|anymore|"
    r"increas\w+|decreas\w+|improv\w+|extend\w+|postpon\w+|switch\w+|reach\w+|grew|grown|currently|"
    r"latest|actually|already)\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(?:most|least|more|fewer|less|earlier|later|faster|slower|older|younger|compared|difference"
    r"|between|versus|vs|in order|order of|summar\w+)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """The sentence of an entry that is most about the question, and names a figure."""

    words: frozenset[str]
    weight: float
    figures: frozenset[str]
    changed: bool


def newest_first(
    question: str, hits: Sequence[Hit], rarity: Mapping[str, float]
) -> tuple[Hit, ...]:
    """The hits in their order, but an update before what it updates.

    A question that compares wants both.
    """
    if _COMPARES.search(question):
        return tuple(hits)
    first, rest = list(hits[:COMPARED]), hits[COMPARED:]
    for place, newer in enumerate(list(first)):
        # Most hits tell of no change, and are read no further.
        if not (newer.entry.claim or _CHANGED.search(newer.entry.body_text[:_READ])):
            continue
        older = (
            hit
            for hit in first[:place]
            if _since(hit) < _since(newer)
            and hit.entry.origin == newer.entry.origin
            and _updates(newer, hit, rarity)
        )
        if (found := next(older, None)) is not None:
            first.remove(newer)
            first.insert(first.index(found), newer)
    return (*first, *rest)


def _since(hit: Hit) -> tuple[datetime, UUID]:
    """Since when an entry holds; of those of one moment, an id says which came later."""
    return hit.entry.valid_at or hit.entry.created_at, hit.entry.id


def _updates(newer: Hit, older: Hit, rarity: Mapping[str, float]) -> bool:
    """Whether a hit gives another value to what an older one states."""
    if newer.entry.claim and older.entry.claim:
        return _another_value(newer.entry.claim, older.entry.claim)
    about = _ABOUT * sum(rarity.values())
    now, then = (_statement(hit.entry.body_text, rarity, about) for hit in (newer, older))
    if now is None or then is None or not now.changed or then.figures >= now.figures:
        return False
    shared = sum(rarity[word] for word in now.words & then.words)
    return shared >= _SAME * then.weight


def _another_value(new: Claim, old: Claim) -> bool:
    """Whether two claims are about the same and differ in their value."""
    one, other = new.normalised(), old.normalised()
    same = (one.subject, one.attribute) == (other.subject, other.attribute)
    return same and one.value != other.value


def _statement(text: str, rarity: Mapping[str, float], about: float) -> _Statement | None:
    """What an entry states about the question; None if no sentence with a figure is about it."""
    best: _Statement | None = None
    for sentence in _SENTENCE.split(text[:_READ]):
        figures = frozenset(figure.lower() for figure in _FIGURE.findall(sentence))
        if figures:
            words = _asked_words(sentence, rarity)
            weight = sum(rarity[word] for word in words)
            if weight >= about > 0 and (best is None or weight > best.weight):
                best = _Statement(words, weight, figures, bool(_CHANGED.search(sentence)))
    return best


def _asked_words(sentence: str, rarity: Mapping[str, float]) -> frozenset[str]:
    """The question's words in a sentence: stems, which begin a word but for a last "i"."""
    words = [word.lower() for word in _WORD.findall(sentence)]
    return frozenset(
        stem
        for stem in rarity
        if any(word.startswith(stem.removesuffix("i") if len(stem) > 3 else stem) for word in words)
    )
