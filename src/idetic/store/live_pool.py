"""A pool that outlives its server: connections that died are not lent, lost ones are made anew.

psycopg's pool lends whatever it has, and asks for a lost connection ever more seldom, up to five
minutes apart. A server that was away for a moment would then fail ten calls after it is back, and a
server that was away for half a minute would be missed for a minute.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from anyio import to_thread
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

Pooled = TypeVar("Pooled", bound=psycopg.AsyncConnection[Any])

# A lost connection is asked for about once a second, for as long as it takes.
_RECONNECT = 1.0
# After this a caller who waits asks whether there is a server at all.
_PATIENCE = 5.0
# A server that is gone refuses at once; one that is only busy may take its time to answer.
_PING = 10
_GONE = "the server does not answer"


class LivePool(AsyncConnectionPool[Pooled]):
    """Connections to a server that may die and come back."""

    def __init__(self, conninfo: str, **options: Any):
        again: Callable[[AsyncConnectionPool[Any]], Any] = AsyncConnectionPool.check
        options = {"reconnect_timeout": _RECONNECT, "reconnect_failed": again, **options}
        super().__init__(conninfo, **options)
        self._place = conninfo

    async def getconn(self, timeout: float | None = None) -> Pooled:  # noqa: ASYNC109 - its own
        """A connection whose server has not hung up.

        Waiting ends early, and as a lost connection, if there is no server to wait for.
        """
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            connection = await self._waited_for(deadline)
            if not _hung_up(connection):
                return connection
            await self.putconn(connection)
            # The others of the same server are dead too; one look at all of them will do.
            await self.check()

    async def _waited_for(self, deadline: float) -> Pooled:
        """Whatever connection the pool lends first."""
        left = deadline - time.monotonic()
        try:
            return await super().getconn(min(left, _PATIENCE))
        except PoolTimeout:
            if not await to_thread.run_sync(self._answers):
                raise psycopg.OperationalError(_GONE) from None
        # The server is there: they are all lent, and one will come back.
        return await super().getconn(deadline - time.monotonic())

    def _answers(self) -> bool:
        """Whether the server accepts connections; a pooler that answers for it counts."""
        place = make_conninfo(self._place, connect_timeout=_PING)
        return pq.Ping(pq.PGconn.ping(place.encode())) is pq.Ping.OK


def _hung_up(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether the server closed an idle connection: its end can be read. Takes 2 us, no round trip.

    What else can be read of an idle connection is a notice, and it stays usable.
    """
    pgconn = connection.pgconn
    if pgconn.status != pq.ConnStatus.OK:
        return True
    ready = select.poll()
    ready.register(pgconn.socket, select.POLLIN)
    if not ready.poll(0):
        return False
    try:
        pgconn.consume_input()
    except psycopg.OperationalError:
        return True
    return bool(pgconn.status != pq.ConnStatus.OK)
