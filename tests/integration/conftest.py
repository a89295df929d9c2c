"""Fixtures that several integration tests share."""

from __future__ import annotations

import pytest

from idetic import Idetic
from tests.conftest import make_world
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.key_house import House


@pytest.fixture
async def house(db: Idetic) -> House:
    """A world and keys to it, under a clock that the test sets."""
    clock = SettableClock()
    here = view_of(db, clock)
    return House(here, await make_world(here, await here.agent("world_agent")), clock)
