"""A process that migrates a spec and dies at a named point of it.

The points are put in from outside: what is shipped knows nothing of them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from idetic import Idetic
from idetic.store import spec_migration
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.transfer import anchor_moves
from idetic.transfer.anchor_moves import AnchorMove
from tests.conftest import TestDatabase
from tests.support.children import child


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _instead(owner: Any, name: str, *, nth: int, after: bool) -> None:
    """Let the n-th call of a coroutine function be the last thing that the process does."""
    real, calls = getattr(owner, name), iter(range(1, 1_000))

    async def dying(*args: Any, **named: Any) -> Any:
        last = next(calls) == nth
        if last and not after:
            die()
        answer = await real(*args, **named)
        if last:
            die()
        return answer

    setattr(owner, name, dying)


# In the order in which one migration comes to them, should it be killed at each.
POINTS: dict[str, Callable[[], None]] = {
    "before the old family is closed": lambda: _instead(
        spec_migration, "begin", nth=1, after=False
    ),
    "after the old family is closed": lambda: _instead(spec_migration, "begin", nth=1, after=True),
    "within an anchor": lambda: _instead(anchor_moves, "fill", nth=3, after=True),
    "before an anchor is committed": lambda: _instead(
        AnchorTransaction, "settle", nth=1, after=True
    ),
    "between two anchors": lambda: _instead(AnchorMove, "run", nth=1, after=True),
    "before the switch": lambda: _instead(spec_migration, "switch", nth=1, after=False),
    "after the switch": lambda: _instead(spec_migration, "switch", nth=1, after=True),
}


def killed(database: TestDatabase, spec: Path, point: str, default: str) -> int:
    """Migrate in a process that dies at a point; how it ended."""
    said = [database.dsn, database.admin_dsn, str(spec), point, default]
    with child([sys.executable, "-m", "tests.support.migrating_process", *said]) as running:
        return running.wait()


async def _migrate(dsn: str, admin_dsn: str, spec: str, point: str, default: str) -> None:
    async with Idetic.open(dsn, admin_dsn=admin_dsn) as db:
        POINTS[point]()
        await db.migrate(Path(spec), default={"desk_id": default})


if __name__ == "__main__":
    anyio.run(lambda: _migrate(*sys.argv[1:]))
