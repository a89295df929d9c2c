"""One served database for each file of tests over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from idetic.store.embedded import EmbeddedServer
from tests.support.databases import copy_of
from tests.support.http_house import House, housed


@pytest.fixture(scope="module")
async def house(server: EmbeddedServer, template: str, anyio_backend: str) -> AsyncIterator[House]:
    with copy_of(server, template) as database:
        async with housed(database) as made:
            yield made
