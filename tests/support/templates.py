"""What templates are made of: agents that are applied, and distributed where there is a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from idetic import Idetic
from idetic.library.handles import Agent
from idetic.store.database import APP_ROLE
from tests.support import aside
from tests.support.servers import Kind, TestServer


async def apply_agent(server: TestServer, db: Idetic, name: str) -> Agent:
    """Apply a shipped agent, and put its tables where this kind of server is to have them."""
    agent = await db.agent(name)
    if Kind.CITUS in server.kinds:
        await db.distribute(name)
    return agent


def fill(server: TestServer, name: str, work: Callable[[Idetic], Awaitable[Any]]) -> None:
    """Open a database and do something in it, from a fixture that has no loop."""

    async def opened() -> None:
        dsn, admin_dsn = server.dsn(user=APP_ROLE, dbname=name), server.dsn(dbname=name)
        async with Idetic.open(dsn, admin_dsn=admin_dsn) as db:
            await work(db)

    aside.run(opened)
