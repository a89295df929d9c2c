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
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.unit import gates_corpus as corpus

from bench.common import commit, machine, report
from bench.gates_names import rows as names
from bench.gates_texts import Sample, clean, samples
from idetic.gates.credentials import SECRETS
from idetic.gates.gate import REGIONS, Gates, Pipeline
from idetic.gates.personal_data import personal_data
from idetic.gates.redaction import Signed, redact
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary

_ROUNDS = 15
# Notes as agents write them: a sentence or two, and hardly ever a number.
_PROSE = (
    "The second reviewer was late again, so the release waited for the afternoon.",
    "Wires to the new counterparty bounced until the operator corrected the beneficiary's bank.",
    "The customer asked twice whether the fee applies to recurring payments and was not sure.",
    "Retrying after a timeout helped; the first attempt had already gone through, though.",
    "Explorers keep proposing the same exception for month-end batches, each in other words.",
    "Both checks were done by one person because the other was on leave; nobody noticed.",
    "She prefers a short summary first and the details only when she asks for them.",
    "The session ended before the token budget did, and the plan was kept for the next one.",
)


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
    rows += _cost(seed, count)
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


def _cost(seed: int, count: int) -> Iterable[dict[str, Any]]:
    """CPU microseconds of a clean note, with every recogniser asked and after the first look."""
    looked_at = (*SECRETS, *personal_data(REGIONS))
    whole = tuple(one.recogniser if isinstance(one, Signed) else one for one in looked_at)
    numbers = [*clean(seed, count, "test")]
    for name, texts in (("prose", _PROSE * 25), ("with numbers and labels", numbers)):
        best = {"every recogniser": float("inf"), "after the first look": float("inf")}
        for _ in range(_ROUNDS):
            for how, recognisers in zip(best, (whole, looked_at), strict=True):
                begun = time.process_time()
                for text in texts:
                    redact(text, recognisers)
                best[how] = min(best[how], time.process_time() - begun)
        for how, seconds in best.items():
            told = {"set": "CPU us a clean note", "type": f"{name}: {how}", "texts": len(texts)}
            yield told | {"us": round(seconds / len(texts) * 1e6, 1)}


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
