"""What a connection still knows when it comes back to its pool, whichever pool that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool

# Settings of ours do not show among the server's; locks would be the session's.
_LEFT = """
SELECT session_user, current_user,
    (SELECT jsonb_object_agg(s.name, current_setting(s.name, true))
     FROM unnest(ARRAY['idetic.scope', 'idetic.anchor', 'idetic.closing', 'idetic.erasing'])
         AS s (name) WHERE current_setting(s.name, true) <> ''),
    (SELECT jsonb_object_agg(s.name, s.setting) FROM pg_settings s WHERE s.source = 'session'),
    (SELECT count(*) FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory')
"""


@dataclass
class Returned:
    """The connections that came back: how many, and what was wrong with them."""

    login: str
    count: int = 0
    faults: list[str] = field(default_factory=list)

    async def look(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Note one that comes back; one that is closed goes nowhere."""
        if connection.closed:
            return
        self.count += 1
        status = connection.info.transaction_status
        if status is not TransactionStatus.IDLE:
            self.faults.append(f"in a transaction: {status.name}")
            return
        async with connection.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(_LEFT)
            left = await cursor.fetchone()
        await connection.rollback()
        if left != (self.login, self.login, None, None, 0):
            self.faults.append(str(left))


def watching(patch: pytest.MonkeyPatch, login: str) -> Returned:
    """Look at every connection that comes back from now on."""
    returned, put = Returned(login), AsyncConnectionPool.putconn

    async def putconn(
        self: AsyncConnectionPool[Any], connection: psycopg.AsyncConnection[Any]
    ) -> None:
        await returned.look(connection)
        await put(self, connection)

    patch.setattr(AsyncConnectionPool, "putconn", putconn)
    return returned
