"""A process that writes to one anchor from eight tasks at once, for the concurrency tests.

Reads its order as JSON on the first line of stdin, says "ready", starts on the next line, and
prints what it was told by the database: one JSON line per write.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from uuid import UUID

import anyio
from anyio import to_thread

from idetic import Idetic, Principal
from idetic.library.handles import Memory


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    async with Idetic.open(order["dsn"], admin_dsn=order["admin_dsn"]) as db:
        agent = await db.agent("world_agent")
        anchor = {name: UUID(value) for name, value in order["anchor"].items()}
        memory = agent.bind(principal=Principal.operator(order["name"]), **anchor)
        said: list[dict[str, Any]] = []
        print("ready", flush=True)
        await to_thread.run_sync(sys.stdin.readline)
        async with anyio.create_task_group() as group:
            for work in order["writers"]:
                group.start_soon(_write, memory, work, said)
    for line in said:
        print(json.dumps(line))


async def _write(memory: Memory, work: list[list[str]], said: list[dict[str, Any]]) -> None:
    """One writer: a session of its own, and a write for each (verb, key) of its work."""
    session = await memory.session().open()
    for verb, key in work:
        if verb == "observe":
            receipt = await session.observe(f"Note {key}.", idempotency_key=key)
        else:
            receipt = await memory.prefer(f"Rule {key}.", idempotency_key=key)
        said.append(
            {
                "key": key,
                "receipt": str(receipt.id),
                "entry": str(receipt.entry_id),
                "position": receipt.position,
                "replayed": receipt.replayed,
            }
        )


if __name__ == "__main__":
    anyio.run(main)
