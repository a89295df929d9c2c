"""A process that opens an empty database and asks for an agent, for the concurrency tests."""

from __future__ import annotations

import json
import sys

import anyio

from idetic import Idetic


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    print("ready", flush=True)
    sys.stdin.readline()
    async with Idetic.open(order["dsn"], admin_dsn=order["admin_dsn"]) as db:
        agent = await db.agent("world_agent")
        print(json.dumps({"version": agent.version}))


if __name__ == "__main__":
    anyio.run(main)
