"""What the gates find, what they touch by mistake, and what of a pattern they strip.

Three measures. The labelled set of the tests (tests/unit/gates_corpus.py) is what the rules were
written against, so its recall says that nothing got worse. The second is new with every seed:
values made up in `gates_values`, in the sentences of `gates_texts`, of which the rules were written
with half (`train`) and only measured with the other half (`test`). The third are the names of
deployments in `gates_names`, with what a spec declares and without.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.unit import gates_corpus as corpus

from bench.common import commit, machine, report
from bench.gates_names import rows as names
from bench.gates_texts import Sample, clean, samples
from idetic.gates.gate import Gates, Pipeline
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary


def found(passed: str, value: str) -> bool:
    """Whether nothing of a value is left in a text; of a number no eight digits in a row."""
    number = re.sub(r"[^0-9]", "", value)
    if len(number) > 7 and sum(map(str.isalpha, value)) < 5:
        return number[-8:] not in re.sub(r"[^0-9]", "", passed)
    return value.split("\n", maxsplit=1)[0].split(",", maxsplit=1)[0] not in passed


def main(seed: int, count: int) -> int:
    """Measure and report."""
    gate = Gates(load("world_agent")).at(Boundary.INGEST)
    rows = [*_labelled(gate)]
    for which in ("train", "test"):
        rows += _made(gate, samples(seed, count, which), [*clean(seed, 4 * count, which)], which)
    rows.append(_benign(gate))
    rows += names()
    meta = {"seed": seed, "made up of each type": count, "commit": commit(), **machine()}
    report("gates", rows, meta)
    return 0


def _labelled(gate: Pipeline) -> Iterable[dict[str, Any]]:
    hit: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for case in (*corpus.SECRETS, *corpus.PII):
        all_[case.kind] += 1
        hit[case.kind] += case.removed not in gate.apply(case.text).text
    for kind, number in all_.items():
        yield _row("labelled", kind, number, hit[kind])


def _made(
    gate: Pipeline, made: Iterable[Sample], clean_texts: list[str], which: str
) -> Iterable[dict[str, Any]]:
    """Recall by row; precision by kind, over all texts of this half with the clean ones."""
    hit: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    right: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    kinds: dict[str, str] = {}
    for sample in made:
        passed = gate.apply(sample.text)
        counts = {change.kind: change.count for change in passed.changes}
        kinds[sample.row] = sample.kind
        all_[sample.row] += 1
        hit[sample.row] += found(passed.text, sample.value)
        right[sample.kind] += counts.get(sample.kind, 0)
        taken.update(counts)
    touched = [passed for passed in map(gate.apply, clean_texts) if passed.changes]
    for passed in touched:
        taken.update({change.kind: change.count for change in passed.changes})
    for row, number in all_.items():
        kind = kinds[row]
        precision = right[kind] / taken[kind] if taken[kind] else None
        yield _row(which, row, number, hit[row]) | {"precision": precision}
    yield _row(which, "clean, touched", len(clean_texts), len(touched))


def _benign(gate: Pipeline) -> dict[str, Any]:
    texts = (*corpus.BENIGN, *corpus.TAKEN_ALL_THE_SAME)
    touched = sum(gate.apply(text).text != text for text in texts)
    return _row("harmless", "touched", len(texts), touched)


def _row(which: str, kind: str, number: int, hit: int) -> dict[str, Any]:
    return {"set": which, "type": kind, "texts": number, "found": hit, "share": hit / number}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--count", type=int, default=300)
    given = parser.parse_args()
    raise SystemExit(main(given.seed, given.count))
