"""T2: is the embedder the model it claims to be? Spearman on the STS Benchmark's test split.

References: bge-small-en-v1.5 0.8586; trigram similarity 0.686.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.common import data_file, report

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

REFERENCE = 0.8586


def pairs(path: Path) -> list[tuple[float, str, str]]:
    """Score and both sentences of every pair. The file is tab-separated and unquoted."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(float(row[4]), row[5], row[6]) for row in rows]


def ranks(values: Sequence[float] | Array) -> Array:
    """Ranks from 1; equal values share the mean of their ranks."""
    import numpy as np  # noqa: PLC0415 - a missing data file is told before anything loads

    _, group, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    mean_rank: Array = (last - (count - 1) / 2)[group]
    return mean_rank


def spearman(left: Sequence[float] | Array, right: Sequence[float] | Array) -> float:
    """The rank correlation, ties included."""
    import numpy as np  # noqa: PLC0415

    return float(np.corrcoef(ranks(left), ranks(right))[0, 1])


def main() -> int:
    """Embed both sides of the test split and compare the order of similarities."""
    found = pairs(data_file("stsb/sts-test.csv"))
    from idetic.embed import install, load  # noqa: PLC0415

    installed = install(lambda line: print(line, file=sys.stderr))
    model = load()
    start = time.perf_counter()
    left = model.embed([first for _, first, _ in found])
    right = model.embed([second for _, _, second in found])
    seconds = time.perf_counter() - start
    result = spearman([score for score, _, _ in found], (left * right).sum(axis=1).astype(float))
    row = {
        "model": model.profile.name,
        "precision": model.profile.precision,
        "split": "STS-B test",
        "pairs": len(found),
        "spearman": round(result, 4),
        "reference": REFERENCE,
        "sentences/s": round(2 * len(found) / seconds),
    }
    report("sts", [row], {"model source": installed.source, "tolerance": 0.003})
    return 0 if abs(result - REFERENCE) <= 0.003 else 1


if __name__ == "__main__":
    sys.exit(main())
