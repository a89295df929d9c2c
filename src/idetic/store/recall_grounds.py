"""What a recall's relevance is judged by: raw features of the question, and of each hit.

None of them depends on a weight, a rank or the fusion of a spec, so a value made of them means
the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class SignalScore:
    """One signal of one hit: its rank among the candidates, and its value from 0 to 1."""

    rank: int | None
    value: float | None
    contribution: float


@dataclass(frozen=True, slots=True)
class HitGrounds:
    """How well one entry matches the question's words, and how long it is.

    `covered` is the summed rarity of the question's words in the entry or right beside it.
    `lexical` is its share of the best BM25 score. `words` is the number of its words that count.
    """

    covered: float = 0.0
    lexical: float = 0.0
    words: int = 0


@dataclass(frozen=True)
class QuestionGrounds:
    """How well a whole anchor matches a question.

    `nearest` is the best cosine; None if no vectors were compared. `rarity` has the question's
    words that occur in the anchor, with their rarity there; None if words do not count. `named` are
    the words that look like names, `covered` is the highest sum of rarities in one entry.
    """

    entries: int
    nearest: float | None = None
    rarity: Mapping[str, float] | None = None
    words: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    covered: float = 0.0

    @cached_property
    def unheard(self) -> tuple[str, ...]:
        """The question's words that no entry has."""
        return tuple(word for word in self.words if word not in (self.rarity or {}))

    @cached_property
    def unheard_rarity(self) -> float:
        """The rarity of a word that no entry has."""
        return math.log(1 + (self.entries + 0.5) / 0.5)

    @cached_property
    def total(self) -> float:
        """The rarity of all words of the question, added up."""
        return sum((self.rarity or {}).values()) + len(self.unheard) * self.unheard_rarity
