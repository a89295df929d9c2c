"""Fixtures that several integration tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from idetic import Idetic
from tests.conftest import TestDatabase, make_world
from tests.support.clock import SettableClock
from tests.support.key_house import House


@pytest.fixture
async def house(database: TestDatabase) -> AsyncIterator[House]:
    """A world and keys to it, under a clock that the test sets."""
    clock = SettableClock()
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock)
    async with opened as db:
        yield House(db, await make_world(db, await db.agent("world_agent")), clock)
