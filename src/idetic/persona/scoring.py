"""How well a loop's summary answers a query: the document's formula, and nothing else.

similarity = token_set_ratio(query, summary) / 100
recency    = exp(-ln 2 * age / half_life)
boost      = max over the loop's events of kind_boost * visibility_boost
score      = (w_similarity * similarity + w_recency * recency) * boost
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rapidfuzz import fuzz

from idetic.persona.events import StmEntry
from idetic.persona.identity import Heuristics
from idetic.persona.words import normalised


@dataclass(frozen=True, slots=True)
class Scored:
    """A loop's summary with what made its score: explaining costs nothing more."""

    entry: StmEntry
    similarity: float
    recency: float
    boost: float
    score: float


def rank(
    query: str, entries: Iterable[StmEntry], heuristics: Heuristics, now: datetime
) -> list[Scored]:
    """The best `top_k` of these entries. The rolling window is the caller's: it has the clock.

    Equal scores stand in the order of (ts, loop_id), so that asking twice answers alike.
    """
    wanted = normalised(query)
    scored = (_score(wanted, entry, heuristics, now) for entry in entries)
    found = sorted(
        (one for one in scored if one is not None),
        key=lambda one: (-one.score, one.entry.ts, one.entry.loop_id),
    )
    return found[: heuristics.top_k]


def score(query: str, entry: StmEntry, heuristics: Heuristics, now: datetime) -> Scored | None:
    """One entry's score; None where the similarity alone is below the threshold."""
    return _score(normalised(query), entry, heuristics, now)


def _score(wanted: str, entry: StmEntry, heuristics: Heuristics, now: datetime) -> Scored | None:
    ratio = fuzz.token_set_ratio(wanted, normalised(entry.summary))
    if ratio < heuristics.threshold:
        return None
    similarity = ratio / 100.0
    recency = recency_of((now - entry.ts).total_seconds(), heuristics.half_life_seconds)
    boost = boost_of(entry, heuristics)
    weighed = heuristics.w_similarity * similarity + heuristics.w_recency * recency
    return Scored(entry, similarity, recency, boost, weighed * boost)


def recency_of(age_seconds: float, half_life_seconds: float) -> float:
    """1 for what just happened, half after a half-life. Clocks differ: the future is now."""
    return math.exp(-math.log(2) * max(0.0, age_seconds) / half_life_seconds)


def boost_of(entry: StmEntry, heuristics: Heuristics) -> float:
    """The largest boost among the loop's events; what is not configured counts 1."""
    kinds, visibilities = heuristics.kind_boosts, heuristics.visibility_boosts
    pairs = set(zip(entry.kinds, entry.visibilities, strict=True))
    return max((kinds.get(k, 1.0) * visibilities.get(v, 1.0) for k, v in pairs), default=1.0)
