"""Processes that close a session, and die at a named point of it.

One process loads everything and then forks a new one for each close, so that a kill costs a few
milliseconds and not a start of Python. The points are put in from outside: what is shipped knows
nothing of them. An order is one JSON line with one close or several, which then begin at once; the
answer is one JSON line with the exit code of each and what it told, if it lived to tell.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import anyio
from anyio import to_thread

from idetic import Idetic, Principal, Receipt, Scope
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.database import Database, Transaction
from tests.support.children import child, within
from tests.support.clock import SettableClock


class Ended(NamedTuple):
    """How a closing process ended: a negative code is the signal that killed it."""

    code: int
    told: dict[str, Any] | None


class Closers:
    """The process that forks them, seen from a test."""

    def __init__(self, parent: subprocess.Popen[str]):
        self._parent = parent

    def close(self, *orders: dict[str, Any]) -> list[Ended]:
        """One process for each order, all of them at once; comes back when they have ended."""
        asked, answers = self._parent.stdin, self._parent.stdout
        assert asked
        assert answers
        with within(self._parent):
            asked.write(json.dumps(orders, default=str) + "\n")
            asked.flush()
            return [Ended(*one) for one in json.loads(answers.readline())]


@contextmanager
def closers() -> Iterator[Closers]:
    """The forking process."""
    command = [sys.executable, "-m", "tests.support.closer_process"]
    with child(
        # It may serve all tests of a file; each answer is waited for by itself.
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, patience=None,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as parent:  # fmt: skip
        yield Closers(parent)


# --- the points -----------------------------------------------------------------------------------


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def commit_alone() -> None:
    """The commit as a message of its own, so that there is a moment before it to die in."""
    Transaction.end_with_next = lambda self: None  # type: ignore[method-assign]


def around_commit(*, committed: bool) -> None:
    """When all is written: just before the commit, or just after it and before anybody is told."""
    real = Database.transaction
    commit_alone()

    @asynccontextmanager
    async def dying(self: Database, scope: Scope | None) -> AsyncIterator[Transaction]:
        async with real(self, scope) as run:
            yield run
            if not committed:
                die()
        die()

    Database.transaction = dying  # type: ignore[method-assign]


def while_settling(*, call: int, whole: bool) -> None:
    """In the n-th settlement of the close: after half of its steps, or when it is whole and the
    next one has not begun.
    """
    real, calls = AnchorTransaction.settle, iter(range(1, 100))
    commit_alone()

    async def dying(self: AnchorTransaction, version: int, steps: Sequence[Any]) -> list[Receipt]:
        if next(calls) == call:
            await real(self, version, steps if whole else steps[: len(steps) // 2])
            die()
        return await real(self, version, steps)

    AnchorTransaction.settle = dying  # type: ignore[method-assign]


def at_any_moment(*, after: float) -> None:
    """Some time after it began, wherever that is."""
    threading.Timer(after, die).start()


POINTS: dict[str, Callable[..., None]] = {
    "before_commit": lambda: around_commit(committed=False),
    "after_commit": lambda: around_commit(committed=True),
    # A session with two open interactions: a settlement for each, and then its own.
    "mid_promotion": lambda: while_settling(call=3, whole=False),
    "mid_close": lambda: while_settling(call=1, whole=True),
    "any_moment": at_any_moment,
    "none": lambda: None,
}


# --- the forking process, and those that it forks -------------------------------------------------


def serve() -> None:
    for line in sys.stdin:
        forked = [_fork(order) for order in json.loads(line)]
        for ready, _, _, _ in forked:
            os.read(ready, 1)
        for _, go, _, _ in forked:
            os.write(go, b"\n")
        print(json.dumps([_ended(told, pid) for _, _, told, pid in forked]), flush=True)


def _fork(order: dict[str, Any]) -> tuple[int, int, int, int]:
    """A process that says when it is ready, waits to be told, and tells what it did."""
    (ready, say_ready), (hear_go, go), (told, tell) = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(told)
        anyio.run(_close, order, say_ready, hear_go, tell)
        os._exit(0)
    for mine in (say_ready, hear_go, tell):
        os.close(mine)
    return ready, go, told, pid


def _ended(told: int, pid: int) -> tuple[int, dict[str, Any] | None]:
    with os.fdopen(told) as heard:
        said = heard.read()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), json.loads(said) if said else None


async def _close(order: dict[str, Any], say_ready: int, hear_go: int, tell: int) -> None:
    clock = SettableClock(datetime.fromisoformat(order["now"]))
    opened = Idetic.open(order["dsn"], admin_dsn=order["admin_dsn"], clock=clock)
    async with opened as db:
        agent = await db.agent("world_agent")
        anchor = {name: UUID(value) for name, value in order["anchor"].items()}
        memory = agent.bind(principal=Principal.operator("ada"), **anchor)
        session = memory.session(UUID(order["session"]))
        os.write(say_ready, b"\n")
        await to_thread.run_sync(os.read, hear_go, 1)
        POINTS[order["point"]](**order["how"])
        closed = await session.close()
        said = {"decision": closed.receipt.decision, "decided": len(closed.decided)}
        os.write(tell, json.dumps(said).encode())


if __name__ == "__main__":
    serve()
