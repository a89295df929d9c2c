"""A place to measure in: an embedded server of its own, thrown away afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idetic.store.embedded import EmbeddedServer


@contextmanager
def bench_server(kept: Path | None = None) -> Iterator[EmbeddedServer]:
    """An embedded server, durable as in production: over a home that is kept, or a fresh one."""
    home = kept or Path(tempfile.mkdtemp(prefix="idetic-bench-"))
    home.mkdir(exist_ok=True)
    home.chmod(0o755)
    server = EmbeddedServer.acquire(home)
    try:
        yield server
    finally:
        server.release()
        if kept is None:
            shutil.rmtree(home, ignore_errors=True)


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The address of `idetic serve` over a home, in a process of its own."""
    command = ["serve", "--json", "--port", "0", "--no-worker", "--rate", "1000000"]
    running = subprocess.Popen(
        [sys.executable, "-m", "idetic", *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "IDETIC_HOME": str(home)},
    )
    assert running.stdout
    try:
        yield json.loads(running.stdout.readline())["address"]
    finally:
        running.terminate()
        running.communicate(timeout=60)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
