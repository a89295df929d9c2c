"""A worker in a process of its own, to be killed: its order is one JSON line on stdin.

Beside the real handlers it has `note`, which writes down when it began and when it ended, with a
pause in between. It says "working" on stdout before it begins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import psycopg

from idetic import Idetic
from idetic.jobs.handlers import HANDLERS
from idetic.jobs.leases import Backoff
from idetic.jobs.worker import Pace, Worker, stopping_on_signals
from tests.support.children import child
from tests.support.fake_embedder import FakeEmbedder

NOTES = "CREATE TABLE IF NOT EXISTS public.notes (n integer, what text, pid integer)"
QUICK = {"heartbeat": 0.3, "stalled_after": 1.5, "sweep": 0.5, "poll": 0.2, "grace": 2.0}


@contextmanager
def started(dsn: str, admin_dsn: str, **order: Any) -> Iterator[subprocess.Popen[str]]:
    """Such a process, once it works."""
    command = [sys.executable, "-m", "tests.support.worker_process"]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin
        assert running.stdout
        running.stdin.write(json.dumps({"dsn": dsn, "admin_dsn": admin_dsn, **order}) + "\n")
        running.stdin.flush()
        assert running.stdout.readline() == "working\n"
        yield running


async def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that a worker does."""
    with anyio.fail_after(seconds):
        while not true():  # noqa: ASYNC110 - it waits for the database, which sets no event
            await anyio.sleep(0.02)


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    embedder = FakeEmbedder(pause=order.get("embedding", 0.0))

    async def note(db: Idetic, agent: str, anchor: dict[str, Any], n: int) -> dict[str, Any]:
        await _write(order["admin_dsn"], n, "began")
        await anyio.sleep(order.get("pause", 0.0))
        await _write(order["admin_dsn"], n, "ended")
        return {"n": n}

    async with Idetic.open(order["dsn"], admin_dsn=order["admin_dsn"], embedder=embedder) as db:
        worker = Worker(
            db,
            handlers={**HANDLERS, "note": note},
            pace=Pace(**order.get("pace", QUICK)),
            backoff=Backoff(first=0.05),
        )
        with stopping_on_signals(worker):
            print("working", flush=True)
            counts = await (worker.drain() if order.get("once") else worker.run())
    print(json.dumps({"succeeded": counts.succeeded, "released": counts.released}), flush=True)


async def _write(dsn: str, n: int, what: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        row = (n, what, os.getpid())
        await connection.execute("INSERT INTO public.notes VALUES (%s, %s, %s)", row)


if __name__ == "__main__":
    anyio.run(main)
