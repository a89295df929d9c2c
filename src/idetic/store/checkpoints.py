"""The checkpointer's schema: LangGraph's own tables, beside memory and apart from it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import anyio
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row

from idetic.errors import Busy, CapabilityRefused, DatabaseUnsupported, InputError, SpecChanged
from idetic.spec import reserved
from idetic.store import templates
from idetic.store.database import (
    APP_ROLE,
    Administration,
    Connection,
    Database,
    RolePool,
    is_direct,
)
from idetic.store.driver import Rows, privilege_needed, translated
from idetic.store.scope import quoted
from idetic.store.templates import BoundStatement, Values, filled, raw, statement

CheckpointPool = RolePool[AsyncConnection[DictRow]]
_FILE = "queries/checkpoints.sql"
_TRIES, _PAUSE = 600, 0.1


class Checkpoints:
    """One schema of checkpoints in an open database."""

    def __init__(self, database: Database, schema: str):
        if reserved.is_reserved_schema(schema):
            raise InputError(f"The schema {schema!r} is reserved.", remedy="Use `langgraph`.")
        self._database = database
        self._schema = schema

    async def is_current(self, newest: int) -> bool:
        """Whether the framework's tables are there and have its newest migration."""
        try:
            ((held,),) = await self._ask("newest", {})
        except (SpecChanged, CapabilityRefused):
            return False
        return bool(held is not None and held >= newest)

    async def silent_since(self, moment: datetime, prefix: str) -> list[str]:
        """The threads of one scope of which nothing was saved since a moment."""
        asked = {"moment": moment, "prefix": prefix}
        return [thread for (thread,) in await self._ask("silent", asked)]

    async def _ask(self, query: str, values: Values) -> Rows:
        """The rows of one query over the framework's tables, asked as the application."""
        text = filled(templates.query(_FILE, query), {"schema": quoted(self._schema)})
        return await self._database.run_all(None, [BoundStatement(statement(text), values)])

    @asynccontextmanager
    async def preparing(self, administration: Administration) -> AsyncIterator[Connection]:
        """A connection on which the framework can make its tables; one process at a time."""
        async with administration.connection() as connection:
            if not await is_direct(connection):
                raise DatabaseUnsupported(
                    "The checkpointer's tables cannot be made through a connection pooler.",
                    remedy="Open once with an `admin_dsn` that leads to the server itself.",
                )
            await self._lock(connection)
            with privilege_needed(
                "This login may not make the checkpointer's tables.",
                "Open once with an admin login: `Idetic.open(dsn, admin_dsn=…)`.",
            ):
                await connection.execute(self._composed("schema"))
            yield connection
            # The lock goes with the connection.
            await connection.execute(self._composed("grants"))

    async def _lock(self, connection: Connection) -> None:
        """Wait a bounded time for the lock that lets one process make the tables, or say Busy."""
        for _ in range(_TRIES):
            cursor = await connection.execute(self._composed("try_lock"))
            if await cursor.fetchone() == (True,):
                return
            await anyio.sleep(_PAUSE)
        raise Busy("Another process is setting the checkpointer up.")

    def _composed(self, query: str) -> sql.Composed:
        """A query of this file with the schema in place, both as a name and as a text."""
        names = {"schema": sql.Identifier(self._schema), "schema_text": sql.Literal(self._schema)}
        return raw(templates.query(_FILE, query)).format(**names)

    @asynccontextmanager
    async def pool(self, size: int, *, snapshot: bool = False) -> AsyncIterator[CheckpointPool]:
        """A pool for the framework's statements, as the application role.

        With `snapshot` all statements of a loan read the same moment; it is opened when needed.
        """
        pool: CheckpointPool = RolePool(
            self._database.dsn,
            role=APP_ROLE,
            schema=self._schema,
            begin="BEGIN ISOLATION LEVEL REPEATABLE READ" if snapshot else "BEGIN",
            open=False,
            min_size=0 if snapshot else 1,
            max_size=size,
            kwargs={"row_factory": dict_row},
        )
        try:
            with translated():
                await pool.open(wait=True, timeout=15)
            yield pool
        finally:
            await pool.close()
