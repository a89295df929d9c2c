"""The gate for notes: which of the labelled notes it refuses, and which it should have.

The notes are made from seeded templates (tests/support/labelled_notes.py). One half was looked at
while the gate was written, the other is held out: other templates, written after the gate was.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.support.labelled_notes import LabelledNote, labelled

from bench.common import report
from idetic.persona.notes import NoteGate

SEEDS = {"in view": 7, "held out": 20261118}
COUNT = 240
# Below these the gate is not what its page says.
PRECISION, RECALL = 0.95, 0.95


def refused(one: LabelledNote) -> bool:
    """Whether the gate refuses one of the notes, each after those before it."""
    return any(_refused(one, at) for at in range(len(one.notes)))


def _refused(one: LabelledNote, at: int) -> bool:
    """Whether the gate refuses a note, as `leave_note` asks it."""
    gate = NoteGate(one.notes[at], one.notes[:at])
    for said in one.said:
        if gate.overlaps(said):
            return True
    for known in one.known:
        gate.know(known)
    return bool(gate.carried)


def figures(name: str, notes: Iterable[LabelledNote]) -> dict[str, Any]:
    """Precision and recall of one half, and what was missed."""
    found: Counter[tuple[bool, bool]] = Counter()
    missed: Counter[str] = Counter()
    for one in notes:
        answer = refused(one)
        found[one.leaks, answer] += 1
        missed[one.kind] += answer is not one.leaks
    right = found[True, True]
    return {
        "half": name,
        "notes": sum(found.values()),
        "leaks": right + found[True, False],
        "precision": right / max(1, right + found[False, True]),
        "recall": right / max(1, right + found[True, False]),
        "wrong": ", ".join(f"{kind} {n}" for kind, n in missed.items() if n) or "none",
    }


def main() -> int:
    """Measure both halves; a figure below its bound is a failure."""
    rows = [
        figures(name, labelled(seed, COUNT, held_out=name == "held out"))
        for name, seed in SEEDS.items()
    ]
    report("notes", rows, {"seeds": SEEDS, "bounds": f"{PRECISION} and {RECALL}"})
    return int(any(row["precision"] < PRECISION or row["recall"] < RECALL for row in rows))


if __name__ == "__main__":
    sys.exit(main())
