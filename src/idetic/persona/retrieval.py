"""Answers of persona memory: long-term entries by meaning and words, loops by fuzzy score.

A loop's score is the document's formula:

similarity = token_set_ratio(query, summary) / 100
recency    = exp(-ln 2 * age / half_life)
boost      = max over the loop's events of kind_boost * visibility_boost
score      = (w_similarity * similarity + w_recency * recency) * boost
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, overload
from uuid import UUID

from rapidfuzz import fuzz, process

from idetic.errors import InputError
from idetic.model import Tier
from idetic.persona.compactor import normalised
from idetic.persona.events import EventKind, LtmEntry, StmEntry, Visibility, kind_of, visibility_of
from idetic.recall.hits import NotUsed, SignalScore
from idetic.spec.primitives import FuzzyHeuristics, Signal
from idetic.store.recall_query import Filters
from idetic.verbs.arguments import check_moment, check_uuid

_ROUNDED = 0.01


@dataclass(frozen=True, slots=True)
class RagFilters:
    """Filters of a question to long-term memory; an empty one filters nothing."""

    kinds: Sequence[EventKind] = ()
    visibilities: Sequence[Visibility] = ()
    loop_ids: Sequence[UUID] = ()
    since: datetime | None = None
    until: datetime | None = None
    min_importance: float | None = None

    def checked(self) -> Filters:
        """The same filters as recall takes them, over long-term entries."""
        check_moment(self.since, "since")
        check_moment(self.until, "until")
        least = self.min_importance
        if least is not None and not (isinstance(least, int | float) and 0 <= least <= 1):
            raise InputError("min_importance must be a number from 0 to 1.")
        envelope = {
            "kind": [kind_of(kind).value for kind in _listed(self.kinds)],
            "visibility": [visibility_of(one).value for one in _listed(self.visibilities)],
        }
        return Filters(
            tiers=[Tier.PERSISTENT],
            where={key: values for key, values in envelope.items() if values},
            sessions=[check_uuid(one, "loop_ids") for one in _listed(self.loop_ids)],
            since=self.since,
            until=self.until,
            min_importance=least,
        )


@dataclass(frozen=True, slots=True)
class LtmHit:
    """A long-term entry that answers, its score, and each signal's rank, value and share of it."""

    entry: LtmEntry
    score: float
    signals: Mapping[Signal, SignalScore] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RagAnswer(Sequence[LtmHit]):
    """The hits, best first, and how they were found. `collections` are those that were asked."""

    query: str
    hits: tuple[LtmHit, ...]
    collections: tuple[str, ...]
    considered: int
    candidates: int
    pending: int = 0
    not_used: tuple[NotUsed, ...] = ()

    @overload
    def __getitem__(self, index: int) -> LtmHit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LtmHit]: ...
    def __getitem__(self, index: int | slice) -> LtmHit | Sequence[LtmHit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def explain(self) -> str:
        """A readable account of the answer."""
        count = f"{len(self.hits)} of {self.considered} entries for {self.query!r}"
        lines = [f"{count}, {self.candidates} candidates, of {', '.join(self.collections)}"]
        for number, hit in enumerate(self.hits, start=1):
            entry = hit.entry
            lines.append(f"{number}. {hit.score:.4f}  {entry.summary}")
            lines.append(
                f"   {entry.persona} {entry.kind}, {entry.visibility}, {entry.ts:%Y-%m-%d}"
            )
            lines += [
                f"   {signal.value:<9} rank {word.rank}, value {word.value or 0:.3f}, "
                f"adds {word.contribution:.4f}"
                for signal, word in hit.signals.items()
                if word.contribution
            ]
        lines += [f"Not used: {n.what}, because {n.why}. {n.remedy}" for n in self.not_used]
        return "\n".join(lines)


def merged(query: str, answers: Sequence[RagAnswer], limit: int) -> RagAnswer:
    """Several answers as one, by score."""
    hits = sorted(
        (hit for answer in answers for hit in answer),
        key=lambda hit: (-hit.score, hit.entry.ts, hit.entry.id),
    )
    return RagAnswer(
        query,
        tuple(hits[:limit]),
        tuple(name for answer in answers for name in answer.collections),
        sum(answer.considered for answer in answers),
        sum(answer.candidates for answer in answers),
        sum(answer.pending for answer in answers),
        tuple(dict.fromkeys(one for answer in answers for one in answer.not_used)),
    )


def _listed(values: object) -> Sequence[Any]:
    """The values of a filter as a list; a single text is refused, not taken letter by letter."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError("A filter with several values must be a list.")
    return list(values)


@dataclass(frozen=True, slots=True)
class Scored:
    """A loop's summary with the terms of its score."""

    entry: StmEntry
    similarity: float
    recency: float
    boost: float
    score: float


def resembling(query: str, summaries: Sequence[str], threshold: float) -> list[int]:
    """Which summaries may be as similar to a query as the threshold asks; `rank` decides.

    All in one call, which rounds.
    """
    texts = list(map(normalised, summaries))
    ratios = process.cdist([normalised(query)], texts, scorer=fuzz.token_set_ratio)[0]
    return [n for n, ratio in enumerate(ratios.tolist()) if ratio > threshold - _ROUNDED]


def rank(
    query: str, entries: Iterable[StmEntry], heuristics: FuzzyHeuristics, now: datetime
) -> list[Scored]:
    """The best `top_k` of these entries; the caller picks the rolling window.

    Equal scores stand in the order of (ts, loop_id), so that asking twice answers alike.
    """
    wanted = normalised(query)
    scored = (_score(wanted, entry, heuristics, now) for entry in entries)
    found = sorted(
        (one for one in scored if one is not None),
        key=lambda one: (-one.score, one.entry.ts, one.entry.loop_id),
    )
    return found[: heuristics.top_k]


def score(query: str, entry: StmEntry, heuristics: FuzzyHeuristics, now: datetime) -> Scored | None:
    """One entry's score; None where the similarity alone is below the threshold."""
    return _score(normalised(query), entry, heuristics, now)


def _score(
    query: str, entry: StmEntry, heuristics: FuzzyHeuristics, now: datetime
) -> Scored | None:
    """The score of a loop for a query, with its parts, or None below the threshold."""
    ratio = fuzz.token_set_ratio(query, normalised(entry.summary))
    if ratio < heuristics.threshold:
        return None
    similarity = ratio / 100.0
    # Clocks differ: an age below zero counts as zero.
    age = max(0.0, (now - entry.ts).total_seconds())
    recency = math.exp(-math.log(2) * age / heuristics.recency_half_life_seconds)
    kinds, visibilities = heuristics.kind_boosts, heuristics.visibility_boosts
    # The boost is that of the best event, however many others there are.
    pairs = set(zip(entry.kinds, entry.visibilities, strict=True))
    boost = max((kinds.get(k, 1.0) * visibilities.get(v, 1.0) for k, v in pairs), default=1.0)
    weights = heuristics.weights
    weighed = weights.similarity * similarity + weights.recency * recency
    return Scored(entry, similarity, recency, boost, weighed * boost)
