"""The model's time: sentences by threads and batch, STS-B, and many clients that recall with it.

`--tree` names another checkout whose clients are measured too, in turns with this one's: each in a
process of its own, with an embedded server of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.common import ROOT, commit, data_file, report
from bench.sts import pairs, spearman

SENTENCES = 128
LEAST_SPEARMAN = 0.857
CLIENTS = """
import json, sys, time
import anyio
from uuid import UUID
from idetic import Idetic, Observation, Principal

home, clients, seconds, entries = sys.argv[1], *map(int, sys.argv[2:])
TOPICS = ("deployments", "the budget", "a new hire", "the outage", "invoices", "the roadmap")
told = {}

async def main():
    async with Idetic.open(home=home) as db:
        agent = await db.agent("operator_agent")
        memories = [agent.bind(operator_id=UUID(int=n + 1), principal=Principal.agent("bench"))
                    for n in range(clients)]
        for n, memory in enumerate(memories):
            session = await memory.session().open()
            await session.observe_many([
                Observation(f"Note {m}: {TOPICS[m % 6]} waits for person {m * 7 % 50} of team {n}.")
                for m in range(entries)])
            await memory.embed()
        await memories[0].recall("Is the model at hand?")

        async def ask(kind, n, memory, until, counted):
            m = 0
            while m == 0 or time.perf_counter() < until:
                m += 1
                about = f"{n}-{m}" if kind == "new" else f"{m % 4}"
                found = await memory.recall(f"Who waits for {TOPICS[m % 6]} in case {about}?")
                assert found.profile_id is not None, found.not_used
                counted.append(1)

        for kind in ("new", "repeated"):
            for many in (1, clients):
                counted, begin, cpu = [], time.perf_counter(), time.process_time()
                async with anyio.create_task_group() as group:
                    for n, memory in enumerate(memories[:many]):
                        group.start_soon(ask, kind, n, memory, begin + seconds, counted)
                rate = len(counted) / (time.perf_counter() - begin)
                cpu = 1000 * (time.process_time() - cpu) / len(counted)
                told[f"{kind}, {many} clients"] = rate, cpu
    print(json.dumps(told))

anyio.run(main)
"""


def main(tree: Path | None, clients: int, seconds: int, entries: int, rounds: int) -> int:
    """Measure and report."""
    found = pairs(data_file("stsb/sts-test.csv"))
    rows = sentence_rows([first for _, first, _ in found[:SENTENCES]])
    quality = sts(found)
    report("model", rows, {"STS-B spearman": quality, "at least": LEAST_SPEARMAN})
    trees = {"this": ROOT} | ({"other": tree} if tree else {})
    told: dict[tuple[str, str], list[list[float]]] = {}
    for _ in range(rounds):
        for name, path in trees.items():
            for what, measured in recalls(path, clients, seconds, entries).items():
                told.setdefault((what, name), []).append(measured)
    table: list[dict[str, Any]] = []
    for what in dict.fromkeys(what for what, _ in told):
        row: dict[str, Any] = {"questions": what}
        for name in trees:
            rates, cpus = zip(*told[what, name], strict=True)
            row |= {f"{name}, recalls/s": _median(rates), f"{name}, cpu ms": _median(cpus)}
        if tree:
            row["ratio"] = round(row["this, recalls/s"] / row["other, recalls/s"], 2)
        table.append(row)
    commits = {name: commit(path) for name, path in trees.items()}
    meta = {"clients": clients, "seconds": seconds, "entries of an anchor": entries}
    report("model_clients", table, {**meta, "rounds": rounds, "commits": commits})
    return 0 if quality >= LEAST_SPEARMAN else 1


def sentence_rows(sentences: list[str]) -> list[dict[str, Any]]:
    """Rate and processor time of a sentence: by threads, and by how many calls run at a time."""
    from idetic.embed import load  # noqa: PLC0415 - a missing data file is told before it loads

    rows = []
    for threads in (1, 2):
        model = load(threads=threads)
        model.embed(sentences[:4])
        for calls, batch in ((1, 1), (1, 4), (1, 64), (2, 4), (32, 1)):
            parts = [sentences[n : n + batch] for n in range(0, len(sentences), batch)]
            wall, cpu = time.perf_counter(), time.process_time()
            with ThreadPoolExecutor(calls) as pool:
                list(pool.map(model.embed, parts))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            rows.append({
                "precision": model.profile.precision, "threads": threads, "calls at a time": calls,
                "texts of a call": batch, "sentences/s": round(len(sentences) / wall),
                "cpu ms": round(1000 * cpu / len(sentences), 2),
            })  # fmt: skip
    return rows


def sts(found: list[tuple[float, str, str]]) -> float:
    """Spearman's correlation on the STS Benchmark, as `bench.sts` has it."""
    from idetic.embed import load  # noqa: PLC0415

    model = load()
    left = model.embed([first for _, first, _ in found])
    right = model.embed([second for _, _, second in found])
    near = (left * right).sum(axis=1).astype(float)
    return round(spearman([score for score, _, _ in found], near), 4)


def recalls(tree: Path, clients: int, seconds: int, entries: int) -> dict[str, list[float]]:
    """Recalls a second, and the client's processor time of one: of new and repeated questions."""
    home = Path(tempfile.mkdtemp(prefix="idetic-bench-"))
    home.chmod(0o755)
    try:
        done = subprocess.run(
            [sys.executable, "-c", CLIENTS, str(home), *map(str, (clients, seconds, entries))],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONSAFEPATH": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if done.returncode:
        sys.exit(done.stderr)
    told: dict[str, list[float]] = json.loads(done.stdout)
    return told


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.model")
    parser.add_argument("--tree", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--entries", type=int, default=100, help="notes of each client's anchor")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    sys.exit(main(given.tree, given.clients, given.seconds, given.entries, given.rounds))
