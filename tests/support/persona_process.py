"""A process that fills a persona's log, or dreams, until it is done or somebody kills it.

Reads its order as one JSON line. Prints a line for everything that was acknowledged: the ids of
committed events, or how far a dream has come.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from uuid import UUID, uuid4

import anyio

from idetic import Idetic
from idetic.persona.events import EventDraft, EventKind
from idetic.persona.persona_memory import PersonaMemory
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import remembering

LOOP = 40


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    opened = Idetic.open(
        order["dsn"], admin_dsn=order["admin_dsn"], embedder=FakeEmbedder(pause=order["pause"])
    )
    async with opened as db:
        memory = await remembering(db, order["agent"], derive=order["derive"])
        print("ready", flush=True)
        if order["work"] == "append":
            await _append(memory, order["total"])
        else:
            dreamt = await memory.dream(_progress)
            print(json.dumps({"equal": dreamt.equal}), flush=True)
    print("done", flush=True)


async def _append(memory: PersonaMemory, total: int) -> None:
    """Go on until the log holds `total` events: loops of both singles and batches."""
    while (head := (await memory.actor.head()).position) < total:
        async with memory.loop() as loop:
            for turn in range(0, min(LOOP, total - head), 8):
                if turn % 16:
                    for number in range(8):
                        ids = [uuid4()]
                        await loop.append(EventKind.TOOL_CALL, f"call {turn} {number}", id=ids[0])
                        _told(ids)
                else:
                    ids = [uuid4() for _ in range(8)]
                    await loop.append_many(
                        EventDraft(EventKind.USER_INPUT, f"input {turn} {one}", id=one)
                        for one in ids
                    )
                    _told(ids)


def _told(ids: list[UUID]) -> None:
    print(json.dumps([str(one) for one in ids]), flush=True)


def _progress(what: str, done: int, total: int) -> None:
    said: dict[str, Any] = {"what": what, "done": done, "total": total}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    anyio.run(main)
