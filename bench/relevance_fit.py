"""A plain logistic regression, by Newton's method, and the floors that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
# A little weight on small coefficients: two features that say the same would run apart.
RIDGE = 1e-5
_STEPS = 60


def fitted(rows: Sequence[Mapping[str, float]], truths: Sequence[bool]) -> dict[str, float]:
    """The coefficients that make the outcomes of these rows most probable, by feature."""
    names = list(rows[0])
    given = np.array([[1.0, *(row[name] for name in names)] for row in rows])
    truth = np.array(truths, dtype=np.float64)
    weights = np.zeros(given.shape[1])
    ridge = RIDGE * len(truth) * np.diag([0.0] + [1.0] * len(names))
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (chance - truth) + ridge @ weights
        bend = (given * (chance * (1 - chance))[:, None]).T @ given + ridge
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    return dict(zip(["constant", *names], map(float, weights), strict=True))


def chances(coefficients: Mapping[str, float], rows: Sequence[Mapping[str, float]]) -> Numbers:
    """The probability of each row."""
    names = [name for name in coefficients if name != "constant"]
    given = np.array([[row[name] for name in names] for row in rows]).reshape(-1, len(names))
    odds = coefficients["constant"] + given @ np.array([coefficients[name] for name in names])
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float64)


def below(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return float(np.quantile(np.array(values), share))


def bins(values: Sequence[float], truths: Sequence[bool]) -> list[dict[str, float | str]]:
    """Ten bins: how many values lie in each, their mean, and the share that came true."""
    told: list[dict[str, float | str]] = []
    given, truth = np.array(values), np.array(truths, dtype=np.float64)
    places = np.minimum((given * 10).astype(int), 9)
    for place in range(10):
        inside = places == place
        if count := int(inside.sum()):
            said, came = float(given[inside].mean()), float(truth[inside].mean())
            told.append(
                {
                    "bin": f"{place / 10:.1f}-{(place + 1) / 10:.1f}",
                    "count": count,
                    "value": round(said, 3),
                    "true": round(came, 3),
                    "off": round(came - said, 3),
                }
            )
    return told
