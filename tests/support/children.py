"""Processes that tests start: none is waited for without end, and none outlives its test.

One that is late is killed. Its pipes end with it, and whatever waits at them or for it goes on and
fails: one test, not the whole run.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PATIENCE = 240.0


@contextmanager
def child(
    command: Sequence[str], *, patience: float | None = PATIENCE, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """A process for as long as the block runs, or until the patience is over if there is one."""
    options = {"encoding": "utf-8", **options}
    with subprocess.Popen(command, **options) as running:
        try:
            if patience is None:
                yield running
            else:
                with within(running, patience):
                    yield running
        finally:
            running.kill()


@contextmanager
def within(running: subprocess.Popen[str], patience: float = PATIENCE) -> Iterator[None]:
    """Kill a process that has not done by then what the block waits for."""
    late = threading.Timer(patience, running.kill)
    late.start()
    try:
        yield
    finally:
        late.cancel()
