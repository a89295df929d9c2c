"""What others do while somebody asks: it is done, and committed, before each of his statements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from idetic.store.anchor_transaction import Anchors
from idetic.store.database import Database, Transaction
from idetic.store.driver import Rows

Deed = Callable[[int], Awaitable[object]]


def happens(patch: pytest.MonkeyPatch, deed: Deed, times: int) -> list[int]:
    """Do something before each of the next statements of a transaction; gives how often it was."""
    ask, done, busy = Transaction.__call__, [0], [False]

    async def asked(self: Transaction, *given: Any) -> Rows:
        # What is done here asks, too. A snapshot is taken with the first statement.
        if not busy[0] and self._begun and done[0] < times:
            done[0], busy[0] = done[0] + 1, True
            try:
                await deed(done[0])
            finally:
                busy[0] = False
        return await ask(self, *given)

    patch.setattr(Transaction, "__call__", asked)
    return done


def without_snapshots(patch: pytest.MonkeyPatch) -> None:
    """Every statement reads its own moment."""
    patch.setattr(Database, "snapshot", Database.transaction)
    patch.setattr(Anchors, "snapshot", Anchors.look)
