"""What recall must reach on the development sets, as data, and the verdict on what it reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.baselines import BM25
from bench.scoring import METRICS, UPDATE, Scores, interval
from bench.specs import NEW, NEW_RERANKED, SINGLE, SpecData


@dataclass(frozen=True, slots=True)
class Floor:
    """What one metric of one set must reach, and what it is meant to reach in the end."""

    set: str
    metric: str
    least: float
    aim: float | None = None


# The default recipe, one and the same for all sets.
DEFAULT = (
    Floor("locomo", "R@10", 80, 84),
    Floor("locomo", "nDCG@10", 60, 66),
    Floor("locomo", "R@25", 88, 91),
    Floor("longmemeval", "recall_all@5", 88, 91),
    Floor("longmemeval", "nDCG@10", 90, 93),
    Floor("beam", "R@10", 60, 68),
    Floor("beam", "nDCG@10", 50, 56),
    Floor("beam", UPDATE, 55, 80),
)
RRF = (Floor("locomo", "R@10", 75), Floor("locomo", "nDCG@10", 55))
# What the reranker must add to the default recipe: it is worth its time, and harms no set.
GAINS = (
    Floor("locomo", "R@10", 1),
    Floor("locomo", "nDCG@10", 2),
    Floor("longmemeval", "recall_all@5", 0),
    Floor("longmemeval", "nDCG@10", 0),
    Floor("beam", "R@10", 0),
    Floor("beam", "nDCG@10", 0),
)
# So many points a spec may be below BM25 or its own best single signal.
TOLERANCE = 1.0

# The means of each arm, by set.
Means = Mapping[str, Mapping[str, Scores]]


def floors_of(name: str, spec: SpecData) -> Sequence[Floor]:
    """What `spec new` writes and every weighted score reach the default; RRF has its own floors."""
    fusion = spec["retrieval"].get("fusion", {}).get("method", "rrf")
    return RRF if name != NEW and fusion == "rrf" else DEFAULT


def judged(specs: Mapping[str, SpecData], means: Means) -> tuple[list[str], bool]:
    """A line for every floor of these specs, and whether all of them hold."""
    lines, hold = [], True
    for name, spec in specs.items():
        for floor in floors_of(name, spec):
            reached = means.get(floor.set, {}).get(name, {}).get(floor.metric)
            if reached is not None:
                hold &= reached >= floor.least
                lines.append(_line(name, floor, reached))
    return lines, hold


def gains(told: Mapping[str, Mapping[str, Sequence[Scores]]]) -> tuple[list[str], bool]:
    """What the reranker adds to the default recipe, with its interval; whether that is enough."""
    lines, hold = [], True
    for floor in GAINS:
        arms = told.get(floor.set, {})
        if NEW in arms and NEW_RERANKED in arms:
            pairs = zip(arms[NEW], arms[NEW_RERANKED], strict=True)
            gained = np.array(
                [after[floor.metric] - before[floor.metric] for before, after in pairs]
            )
            enough = bool(gained.mean() >= floor.least)
            lines.append(_gain(floor, float(gained.mean()), interval(gained), enough))
            hold &= enough
    return lines, hold


def _gain(floor: Floor, gained: float, bounds: tuple[float, float], enough: bool) -> str:
    word = "holds" if enough else "MISSED"
    between = "{:+.1f} to {:+.1f}".format(*bounds)
    what = f"reranker, {floor.set} {floor.metric}: {gained:+.1f} ({between})"
    return f"{word}: {what}, the floor is {floor.least:+g}"


def _line(name: str, floor: Floor, reached: float) -> str:
    word = "holds" if reached >= floor.least else "MISSED"
    aim = ""
    if floor.aim is not None:
        aim = f", the aim {floor.aim:g}" + (" too" if reached >= floor.aim else " is ahead")
    what = f"{name}, {floor.set} {floor.metric}"
    return f"{word}: {what} is {reached:g}, the floor is {floor.least:g}{aim}"


def below(specs: Mapping[str, SpecData], means: Means) -> list[str]:
    """Where a spec is below BM25 or one of its own signals alone by more than a point."""
    return [
        f"BELOW: {name}, {of} {metric} is {own[metric]:g}, {rival} has {other[metric]:g}"
        for of, arms in means.items()
        for name in specs
        for rival in (BM25, *(alone(name, signal) for signal in SINGLE))
        if (own := arms.get(name)) and (other := arms.get(rival))
        for metric in METRICS[of][:2]
        if own[metric] < other[metric] - TOLERANCE
    ]


def alone(spec: str, signal: str) -> str:
    """The name of a spec's single-signal arm."""
    return f"{spec}, {signal} alone"
