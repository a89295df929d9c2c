"""T8, start: what a program pays before its first answer.

Each figure is the median of several runs in fresh processes. The import is cold for Python, not
for the disk; the first start unpacks PostgreSQL and makes a cluster, a warm one only starts it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.common import ROOT, report

IMPORT = "import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
START = """
import json, sys, time
begin = time.perf_counter()
import anyio
from idetic import Idetic, Principal
told = {"import": time.perf_counter() - begin}

def lap(name, since):
    told[name] = time.perf_counter() - since
    return time.perf_counter()

async def main():
    at = time.perf_counter()
    async with Idetic.open(home=sys.argv[1]) as db:
        at = lap("open", at)
        agent = await db.agent("operator_agent")
        at = lap("agent", at)
        from uuid import UUID
        memory = agent.bind(operator_id=UUID(int=7), principal=Principal.agent("bench"))
        session = await memory.session().open()
        await session.observe("Deployments wait for a second pair of eyes.")
        at = lap("first observe", at)
        await memory.embed()
        at = lap("model and first embed", at)
        assert len(await memory.recall("What do deployments wait for?"))
        at = lap("first recall", at)
        assert len(await memory.recall("Who looks at deployments?"))
        at = lap("second recall", at)
        told["process until first recall"] = at - begin - told["second recall"]
    lap("close", at)
    print(json.dumps(told))

anyio.run(main)
"""


def main(runs: int) -> None:
    """Measure and report."""
    modules = ("idetic", "psycopg", "pydantic")
    rows: list[dict[str, Any]] = [
        {"what": f"import {module}", "median s": _imports(module, runs)} for module in modules
    ]
    first, warm = _starts(runs)
    for name, runs_of in (("first start", first), ("warm start", warm)):
        for what in runs_of[0]:
            seconds = statistics.median(run[what] for run in runs_of)
            rows.append({"what": f"{name}: {what}", "median s": round(seconds, 3)})
    report("start", rows, {"runs": runs, "unit": "seconds; each run a fresh process"})


def _imports(module: str, runs: int) -> float:
    code = IMPORT.format(module=module)
    return round(statistics.median(float(_run("-c", code)) for _ in range(runs)), 3)


def _starts(runs: int) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Pairs of a first start in a new home and a warm one in the same."""
    first, warm = [], []
    for _ in range(runs):
        home = Path(tempfile.mkdtemp(prefix="idetic-bench-"))
        home.chmod(0o755)
        try:
            first.append(json.loads(_run("-c", START, str(home))))
            warm.append(json.loads(_run("-c", START, str(home))))
        finally:
            shutil.rmtree(home, ignore_errors=True)
    return first, warm


def _run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.start")
    parser.add_argument("--runs", type=int, default=3)
    main(parser.parse_args().runs)
