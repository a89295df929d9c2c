"""The administration's own door: the login's rights, for migrations, specs and keys.

A memory, a session and the Actor's objects do not hold it: they know only the application's door.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from idetic.errors import DatabaseClosed
from idetic.store.database import Connection
from idetic.store.sqlstate import translated


class Administration:
    """Connections of a login that may create roles and schemas; one at a time, none is kept."""

    def __init__(self, dsn: str):
        self._dsn = dsn
        self._closed = False

    def close(self) -> None:
        """Nothing can be administered any more."""
        self._closed = True

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection of its own, in autocommit."""
        if self._closed:
            raise DatabaseClosed
        with translated():
            connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True)
            async with connection:
                yield connection
