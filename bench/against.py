"""This tree against another checkout: observe, observe_many and recall, in interleaved rounds.

`recall` is with the spec of the World Agent, `recall_new` with what `spec new` writes in each tree.

Each tree runs its own code in a process of its own, with an embedded server of its own. A round of
the one follows a round of the other, so that a slow moment of the machine falls on both; processor
time (of the client and of its sessions on the server) hardly feels such a moment at all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.common import ROOT, commit, report

# How many calls a round of each has. Short rounds: what disturbs one disturbs few.
CALLS = {"observe": 100, "observe_many": 5, "recall": 15, "recall_new": 15}
WARM = 2
TREES = ("other", "this")
Told = dict[tuple[str, str], list[dict[str, Any]]]


class Tree:
    """A checkout under measurement, in a process that runs its code."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process
        self._answer()

    def round(self, name: str) -> dict[str, Any]:
        """One round of calls: the time of each, and the processor time of one."""
        assert self._process.stdin is not None
        print(name, CALLS[name], file=self._process.stdin, flush=True)
        told: dict[str, Any] = self._answer()
        return told

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"A measured tree ended with {self._process.wait()}; its error stands above.")
        return json.loads(line)


@contextmanager
def measured(tree: Path) -> Iterator[Tree]:
    """The tree at a path, started and filled; it ends with the block."""
    paths = os.pathsep.join((str(tree / "src"), str(ROOT)))
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.tree"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        yield Tree(process)


def main(other: Path, rounds: int) -> None:
    """Measure and report."""
    if not (other / "src" / "idetic").is_dir():
        sys.exit(f"{other} is no checkout of Idetic: it has no src/idetic.")
    told: Told = {}
    with ExitStack() as stack:
        paths = zip(TREES, (other, ROOT), strict=True)
        trees = {name: stack.enter_context(measured(path)) for name, path in paths}
        for number in range(rounds + WARM):
            for call in CALLS:
                # Whoever goes first takes turns too.
                for name in TREES if number % 2 else reversed(TREES):
                    found = trees[name].round(call)
                    # Not the first: those prepare statements and fill caches.
                    told.setdefault((call, name), []).extend([found] if number >= WARM else [])
    about = {"other": commit(other), "this": commit(), "rounds": rounds, "calls": dict(CALLS)}
    report("against", [row for call in CALLS for row in _rows(call, told)], about)


def _rows(call: str, told: Told) -> Iterator[dict[str, Any]]:
    for what in ("ms", "client", "server", "client + server"):
        other, this = (_middle(told[call, name], what) for name in TREES)
        yield {
            "call": call,
            "measure": "ms" if what == "ms" else f"CPU ms, {what}",
            "other": round(other, 3),
            "this": round(this, 3),
            "this / other": round(this / other, 2),
        }


def _middle(rounds: list[dict[str, Any]], what: str) -> float:
    """The median call for times; the median round for processor time."""
    if what == "ms":
        found = [taken for one in rounds for taken in one["ms"]]
    else:
        found = [sum(one[part] for part in what.split(" + ")) for one in rounds]
    return float(median(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.against")
    parser.add_argument("--tree", type=Path, required=True, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=30)
    chosen = parser.parse_args()
    main(chosen.tree.resolve(), chosen.rounds)
