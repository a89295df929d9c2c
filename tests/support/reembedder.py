"""A process that re-embeds one tenant, slowly enough to be killed: DSN ORG DOMAIN NAME."""

from __future__ import annotations

import sys
from uuid import UUID

import anyio

from idetic import Idetic, Principal
from tests.support.fake_embedder import FakeEmbedder


async def main(*told: str) -> None:
    dsn, admin, org, domain, name = told
    async with Idetic.open(dsn, admin_dsn=admin, embedder=FakeEmbedder(name, 0.01)) as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=UUID(org), domain_id=UUID(domain), principal=Principal.maintenance("rotation")
        )
        print("started", flush=True)
        await memory.reembed()
        print("done", flush=True)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
