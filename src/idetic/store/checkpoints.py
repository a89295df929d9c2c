"""The checkpointer's schema: LangGraph's own tables, beside memory and apart from it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import anyio
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row
from psycopg.sql import Composable
from psycopg_pool import AsyncConnectionPool

from idetic.errors import Busy, InputError
from idetic.spec import reserved
from idetic.store import templates
from idetic.store.database import Connection, Database
from idetic.store.sqlstate import translated
from idetic.store.templates import raw

CheckpointPool = AsyncConnectionPool[AsyncConnection[DictRow]]
_FILE = "queries/checkpoints.sql"
_TRIES, _PAUSE = 600, 0.1


class Checkpoints:
    """One schema of checkpoints in an open database."""

    def __init__(self, database: Database, schema: str):
        if reserved.is_reserved_schema(schema):
            raise InputError(f"The schema {schema!r} is reserved.", remedy="Use `langgraph`.")
        self._database = database
        self._schema = schema

    @asynccontextmanager
    async def preparing(self) -> AsyncIterator[Connection]:
        """A connection on which the framework can make its tables; one process at a time."""
        async with self._database.administration() as connection:
            for _ in range(_TRIES):
                cursor = await connection.execute(self._compose("try_lock"))
                if await cursor.fetchone() == (True,):
                    break
                await anyio.sleep(_PAUSE)
            else:
                raise Busy("Another process is setting the checkpointer up.")
            await connection.execute(self._compose("schema"))
            yield connection
            # The lock goes with the connection.
            await connection.execute(self._compose("grants"))

    @asynccontextmanager
    async def pool(self, size: int) -> AsyncIterator[CheckpointPool]:
        """A pool for the framework's statements, as the application role."""
        pool: CheckpointPool = AsyncConnectionPool(
            self._database.dsn,
            open=False,
            min_size=1,
            max_size=size,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            configure=self._become,
        )
        try:
            with translated():
                await pool.open(wait=True, timeout=15)
            yield pool
        finally:
            await pool.close()

    async def silent_since(self, moment: datetime) -> list[str]:
        """The threads of which nothing was saved since a moment."""
        async with self._database.reading() as connection:
            cursor = await connection.execute(
                self._compose("silent", moment=sql.Literal(moment)), prepare=False
            )
            return [thread for (thread,) in await cursor.fetchall()]

    async def _become(self, connection: AsyncConnection[Any]) -> None:
        # Two statements, which this pool's prepare_threshold of 0 would prepare as one.
        await connection.execute(self._compose("become"), prepare=False)

    def _compose(self, query: str, **values: Composable) -> sql.Composed:
        names = {"schema": sql.Identifier(self._schema), "schema_text": sql.Literal(self._schema)}
        return raw(templates.query(_FILE, query)).format(**names, **values)
