"""LangGraph's own checkpointer, in the schema that an agent's spec names for it.

The state of a running graph is not memory: it is replaced at every step, and its tables are the
framework's. They lie in the same database, so that one backup holds both, and in a schema of their
own, so that neither knows of the other (primitive 4).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Literal, cast
from urllib.parse import quote

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from idetic.errors import InputError
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.store.checkpoints import CheckpointPool, Checkpoints

SCHEMA = "langgraph"


class Saver(AsyncPostgresSaver):
    """LangGraph's own, on connections that are lent for one transaction each."""

    def __init__(self, pool: CheckpointPool, snapshots: CheckpointPool):
        super().__init__(pool)
        self._snapshots = snapshots

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Prune threads. What it reads has to be of one moment, and a transaction that has begun
        can no longer be made so."""
        await AsyncPostgresSaver(self._snapshots).aprune(thread_ids, strategy=strategy)


@asynccontextmanager
async def open_saver(
    db: Idetic, *, schema: str = SCHEMA, pool_size: int = 4
) -> AsyncIterator[AsyncPostgresSaver]:
    """`async with open_saver(db) as saver`: its tables made or brought up to date, then open.

    Making them takes the admin login; using them does not.
    """
    checkpoints = Checkpoints(db.database, schema)
    if not await checkpoints.is_current(len(AsyncPostgresSaver.MIGRATIONS) - 1):
        async with checkpoints.preparing(db.administration) as connection:
            # It names its row factory itself, whatever the connection's is.
            await AsyncPostgresSaver(cast("Any", connection)).setup()
    pools = checkpoints.pool(pool_size), checkpoints.pool(1, snapshot=True)
    async with pools[0] as pool, pools[1] as snapshots:
        yield Saver(pool, snapshots)


def thread(memory: Memory, thread_id: str) -> RunnableConfig:
    """The configuration of a thread that belongs to a scope.

    LangGraph's tables know no tenant. A thread id that begins with the scope keeps two tenants'
    threads of one name apart.
    """
    if not isinstance(thread_id, str) or not thread_id:
        raise InputError("A thread id is a text of at least one character.")
    parts = [memory.scope.agent, *map(str, memory.scope.anchor.values()), thread_id]
    return {"configurable": {"thread_id": "/".join(quote(part, safe="") for part in parts)}}


async def prune(
    db: Idetic,
    saver: AsyncPostgresSaver,
    *,
    silent_for: timedelta,
    strategy: Literal["delete", "keep_latest"] = "keep_latest",
    schema: str = SCHEMA,
) -> list[str]:
    """Prune the threads of which nothing was saved for so long; says which.

    `keep_latest` leaves each thread where it stands and takes the steps that led there; `delete`
    takes the thread.
    """
    if silent_for < timedelta(0):
        raise InputError("silent_for is not negative.")
    moment = db.clock.now() - silent_for
    threads = await Checkpoints(db.database, schema).silent_since(moment)
    if threads:
        await saver.aprune(threads, strategy=strategy)
    return threads
