"""T3: from which similarity on do two statements say the same, and what must their words add?

MRPC train is for choosing, MRPC test and STS-B test are for reporting; the project's own pairs
(tests/support/near_duplicates.py) are what promotion meets: statements that differ in one detail.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.common import data_file, report
from bench.sts import pairs as scored_pairs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from idetic.embed import BgeSmall
    from idetic.lifecycle.duplicates import Word

    Flags = npt.NDArray[np.bool_]
    Figures = npt.NDArray[np.float64]

# Same or not, and both statements.
Pairs = list[tuple[bool, str, str]]

COSINES = [round(0.80 + 0.01 * step, 2) for step in range(20)]
TRIGRAMS = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]


@dataclass(frozen=True)
class Measured:
    """One set of pairs with all that a verdict rests on."""

    name: str
    same: Flags
    cosine: Figures
    trigram: Figures
    # By check: nothing but the similarity, the critical tokens, every word.
    passes: dict[str, Flags]


def mrpc(split: str) -> Pairs:
    """MRPC's pairs; tab-separated, unquoted, with a byte order mark and a header."""
    lines = data_file(f"mrpc/msr_paraphrase_{split}.txt").read_text("utf-8-sig").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return [(row[0] == "1", row[3], row[4]) for row in rows]


def stsb() -> Pairs:
    """STS-B test: from 4.8 of 5 on the same, up to 4 not; what lies between is left out."""
    found = scored_pairs(data_file("stsb/sts-test.csv"))
    return [(score >= 4.8, one, two) for score, one, two in found if score >= 4.8 or score <= 4]


def own() -> Pairs:
    """The project's 200 pairs that differ in a detail and 80 that say the same."""
    from tests.support.near_duplicates import COMPATIBLE, POSITIVES  # noqa: PLC0415

    different: Pairs = [(False, pair.left, pair.right) for pair in COMPATIBLE]
    return different + [(True, pair.left, pair.right) for pair in POSITIVES]


def measured(name: str, pairs: Pairs, model: BgeSmall) -> Measured:
    """The figures and the checks of every pair."""
    import numpy as np  # noqa: PLC0415 - a missing data file is told before anything loads

    from idetic.folding import trigram_similarity, trigrams  # noqa: PLC0415
    from idetic.lifecycle.duplicates import differences, read  # noqa: PLC0415

    print(f"embedding {name}: {len(pairs)} pairs", file=sys.stderr)
    left = model.embed([one for _, one, _ in pairs])
    right = model.embed([two for _, _, two in pairs])
    words = [(read(one), read(two)) for _, one, two in pairs]

    def check(agrees: Callable[[Sequence[Word], Sequence[Word]], bool]) -> Flags:
        return np.array([agrees(one, two) for one, two in words])

    return Measured(
        name,
        np.array([same for same, _, _ in pairs]),
        (left * right).sum(axis=1).astype(np.float64),
        np.array([trigram_similarity(trigrams(one), trigrams(two)) for _, one, two in pairs]),
        {
            "alone": np.ones(len(pairs), dtype=np.bool_),
            "critical": check(lambda one, two: _critical(one) == _critical(two)),
            "words": check(lambda one, two: not differences(one, two)),
        },
    )


def _critical(words: Sequence[Word]) -> Counter[str]:
    return Counter(word.value for word in words if word.kind != "word")


def figures(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """Precision and recall of "same" for every set, measure, check and threshold."""
    found = []
    for measure, thresholds in (("cosine", COSINES), ("trigram", TRIGRAMS)):
        for least in thresholds:
            for one in sets:
                near: Flags = getattr(one, measure) >= least
                for check, passed in one.passes.items():
                    said = near & passed
                    right = int((said & one.same).sum())
                    found.append(
                        {
                            "measure": measure,
                            "from": least,
                            "set": one.name,
                            "check": check,
                            "said same": int(said.sum()),
                            "wrong": int(said.sum()) - right,
                            "precision": round(right / int(said.sum()), 4) if said.any() else None,
                            "recall": round(right / int(one.same.sum()), 4),
                        }
                    )
    return found


def rows(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each threshold: precision/recall, and counts for the project's own pairs."""
    table: dict[tuple[str, float], dict[str, Any]] = {}
    for one in found:
        row = table.setdefault(
            (one["measure"], one["from"]), {"from": f"{one['measure']} {one['from']:.2f}"}
        )
        right = one["said same"] - one["wrong"]
        precision = "-" if one["precision"] is None else f"{one['precision']:.3f}"
        told = (
            f"{precision}/{one['recall']:.3f}" if one["set"] != "own" else f"{one['wrong']}+{right}"
        )
        row[f"{one['set']} {one['check']}"] = told
    return list(table.values())


def confirmed(sets: Sequence[Measured]) -> dict[str, Any]:
    """Where the pairs lie whose words agree: what a threshold on top of the words would cost."""
    import numpy as np  # noqa: PLC0415

    agree = [one.passes["words"] for one in sets]
    told: dict[str, Any] = {"pairs": int(sum(flags.sum() for flags in agree))}
    told["wrong"] = int(sum((f & ~one.same).sum() for f, one in zip(agree, sets, strict=True)))
    for measure in ("cosine", "trigram"):
        values = np.concatenate([getattr(o, measure)[f] for f, o in zip(agree, sets, strict=True)])
        told[measure] = [round(float(v), 3) for v in np.percentile(values, [0, 5, 10, 50])]
    return told


def grouping(texts: Sequence[str], model: BgeSmall) -> float:
    """Seconds of processor time to group these statements with their vectors."""
    from idetic.lifecycle.duplicates import ComparedStatement, group  # noqa: PLC0415
    from idetic.spec.typology import PromotionPath, PromotionPolicy  # noqa: PLC0415

    vectors = model.embed(texts)
    said = [ComparedStatement(text, vector=v) for text, v in zip(texts, vectors, strict=True)]
    start = time.process_time()
    group(said, PromotionPolicy(path=PromotionPath.COMPOUNDING))
    return time.process_time() - start


def main() -> int:
    """Measure every set; a wrong merge of the shipped rule among the own pairs is a failure."""
    sources = {"train": mrpc("train"), "test": mrpc("test"), "stsb": stsb(), "own": own()}
    from idetic.embed import install, load  # noqa: PLC0415

    installed = install(lambda line: print(line, file=sys.stderr))
    model = load()
    sets = [measured(name, pairs, model) for name, pairs in sources.items()]
    found = figures(sets)
    thousand = [one for _, one, _ in sources["test"][:1000]]
    meta = {
        "cells": "MRPC train, MRPC test, STS-B test: precision/recall; own: wrong+right of 200+80",
        "pairs": ", ".join(f"{one.name} {len(one.same)} ({one.same.sum()} same)" for one in sets),
        "checks": "alone: similarity; critical: and equal critical tokens; words: as shipped",
        "words agree, wrong": "{pairs}, {wrong}".format(**confirmed(sets)),
        "their cosine, trigram at 0, 5, 10, 50 %": "{cosine}, {trigram}".format(**confirmed(sets)),
        "1,000 MRPC sentences grouped, CPU s": round(grouping(thousand, model), 3),
        "model": f"{model.profile.name} from {installed.source}",
        "figures": found,
    }
    report("dedup", rows(found), meta)
    return int(any(f["wrong"] for f in found if (f["set"], f["check"]) == ("own", "words")))


if __name__ == "__main__":
    sys.exit(main())
