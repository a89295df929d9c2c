"""What a ranking is worth: recall, nDCG, update before original; with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from bench.sets import Question

Scores = dict[str, float]
UPDATE = "update first"
RESAMPLES = 1_000
SEED = 17
# The metrics of each set, the first two of which every arm is judged by.
METRICS = {
    "locomo": ("R@10", "nDCG@10", "R@5", "R@25", "R@50", "any@10", "all@10"),
    "beam": ("R@10", "nDCG@10", "R@5", "R@25", "R@50", "any@10", "all@10", UPDATE),
    "longmemeval": ("recall_all@5", "nDCG@10", "recall_any@5"),
}


def scores(ranking: Sequence[int], question: Question) -> Scores:
    """Every metric of one ranking, in percent; that of updates where the question is about one.

    R@k is the share of the evidence among the first k; nDCG is binary.
    """
    evidence = question.evidence
    ranks = [rank for rank, place in enumerate(ranking) if place in evidence]
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank < 10)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(evidence))))
    at = {k: sum(rank < k for rank in ranks) for k in (5, 10, 25, 50)}
    told = {f"R@{k}": at[k] / len(evidence) for k in at} | {"nDCG@10": gain / ideal}
    for name, k in (("any@10", 10), ("recall_any@5", 5)):
        told[name] = float(at[k] > 0)
    for name, k in (("all@10", 10), ("recall_all@5", 5)):
        told[name] = float(at[k] == len(evidence))
    if question.original and question.updated:
        told[UPDATE] = float(update_first(ranking, question))
    return {name: 100 * value for name, value in told.items()}


def update_first(ranking: Sequence[int], question: Question) -> bool:
    """Whether an updated message stands above every original one; not if neither was found."""
    best = [
        next((rank for rank, place in enumerate(ranking) if place in side), len(ranking))
        for side in (question.updated, question.original)
    ]
    return best[0] < best[1]


def mean(told: Sequence[Scores], metrics: Sequence[str]) -> Scores:
    """The mean of each metric over the questions that have it."""
    return {
        name: round(sum(values) / len(values), 1)
        for name in metrics
        if (values := [one[name] for one in told if name in one])
    }


def intervals(told: Sequence[Scores], metrics: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each mean, by drawing the questions again; seeded, so repeatable."""
    columns = {name: [one[name] for one in told if name in one] for name in metrics}
    return {name: interval(np.array(values)) for name, values in columns.items() if values}


def interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Between which means 95 % of the resamples lie."""
    low, high = np.percentile(_draws(len(values)) @ values / len(values), [2.5, 97.5])
    return round(float(low), 1), round(float(high), 1)


@cache
def _draws(count: int) -> npt.NDArray[np.float64]:
    """How often each resample draws each question: all that a mean needs, the same for all arms."""
    shares = np.full(count, 1 / count)
    drawn = np.random.default_rng(SEED).multinomial(count, shares, RESAMPLES)
    return drawn.astype(np.float64)
