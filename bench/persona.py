"""Persona memory: events appended per second, beside LangGraph's checkpointer, and fuzzy queries.

Everything runs on one embedded server with fsync and synchronous_commit on. Single appends and
`put`s take turns in short blocks, so that a slow moment of the machine falls on all of them. A
`put` stores a checkpoint with one message in it, the least that such a loop would store.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import anyio
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from bench.common import report
from bench.place import bench_server, percentile
from idetic import Identity, Idetic
from idetic.persona.events import EventDraft, EventKind, Persona
from idetic.persona.identity import default_heuristics
from idetic.persona.persona_memory import PersonaMemory

SAID = "The desk upstairs closes at six, and the garage behind the station is free after that."
WORDS = (
    "desk garage station invoice train booking refund platform luggage ticket screen lamp".split()
)
Write = Callable[[int], Awaitable[object]]
LOOPS = 10_000


async def main(rounds: int, block: int, bulk: int) -> None:
    """Measure and report."""
    with bench_server() as server:
        dsn = server.dsn()
        async with Idetic.open(home=server.home) as db:
            rows = await _single(db, dsn, rounds, block)
            rows += await _bulk(db, bulk)
            rows += await _fuzzy(db)
    report("persona", rows, {"unit": "ms, events per second", "fsync": "on for all"})


async def _remembering(db: Idetic, agent_id: str, *, derive: bool) -> PersonaMemory:
    return await db.persona(Identity(agent_id=agent_id), tenant="bench", derive=derive)


async def _single(db: Idetic, dsn: str, rounds: int, block: int) -> list[dict[str, Any]]:
    with_entries = (await _remembering(db, "derived", derive=True)).loop()
    alone = (await _remembering(db, "alone", derive=False)).loop()
    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
        async with AsyncPostgresSaver.from_conn_string(dsn) as asaver:
            arms: dict[str, Write] = {
                "LangGraph checkpointer put": lambda n: _put(saver, n),
                "LangGraph checkpointer aput": lambda n: _aput(asaver, n),
                "append, log alone": lambda n: alone.append(EventKind.TOOL_RESULT, f"{SAID} {n}"),
                "append, with its entry": lambda n: with_entries.append(
                    EventKind.TOOL_RESULT, f"{SAID} {n}"
                ),
            }
            taken: dict[str, list[float]] = {name: [] for name in arms}
            for _ in range(rounds):
                for name, write in arms.items():
                    for number in range(block):
                        start = time.perf_counter()
                        await write(number)
                        taken[name].append((time.perf_counter() - start) * 1000)
    put = percentile(taken["LangGraph checkpointer put"], 0.5)
    return [
        {
            "arm": name,
            "writes": len(times),
            "p50 ms": percentile(times, 0.5),
            "p95 ms": percentile(times, 0.95),
            "events/s": round(1000 * len(times) / sum(times)),
            "p50 / put": percentile(times, 0.5) / put,
        }
        for name, times in taken.items()
    ]


def _checkpoint(number: int) -> tuple[RunnableConfig, Any, Any, Any]:
    version = f"{number + 1:032}.0"
    made = empty_checkpoint()
    made["channel_values"] = {"messages": [f"{SAID} {number}"]}
    made["channel_versions"] = {"messages": version}
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid4()), "checkpoint_ns": ""}}
    return config, made, {"source": "loop", "step": number}, {"messages": version}


async def _put(saver: PostgresSaver, number: int) -> None:
    saver.put(*_checkpoint(number))


async def _aput(saver: AsyncPostgresSaver, number: int) -> None:
    await saver.aput(*_checkpoint(number))


async def _bulk(db: Idetic, count: int) -> list[dict[str, Any]]:
    """Batches: the log alone, with entries, and with entries and vectors of the real model."""
    rows = []
    for name, derive in (("log alone", False), ("with entries", True)):
        memory = await _remembering(db, f"bulk-{derive}", derive=derive)
        loop = memory.loop()
        drafts = [EventDraft(EventKind.TOOL_RESULT, f"{SAID} {n}") for n in range(count)]
        await loop.append_many(drafts[:100])
        start = time.perf_counter()
        await loop.append_many(drafts)
        taken = time.perf_counter() - start
        rows.append(
            {"arm": f"append_many, {name}", "writes": count, "events/s": round(count / taken)}
        )
    memory = await _remembering(db, "embedded", derive=True)
    start = time.perf_counter()
    for first in range(0, 500, 10):
        async with memory.loop() as loop:
            await loop.append_many(
                EventDraft(EventKind.TOOL_RESULT, f"{SAID} {first + n}") for n in range(10)
            )
    taken = time.perf_counter() - start
    told = "loops of 10, with entries, vectors and summaries"
    return [*rows, {"arm": told, "writes": 500, "events/s": round(500 / taken)}]


async def _fuzzy(db: Idetic) -> list[dict[str, Any]]:
    """A window of 10,000 loops, which is 500 times the Actor's."""
    memory = await _remembering(db, "fuzzy", derive=True)
    stores = memory.stores[Persona.ACTOR]  # to write summaries without vectors
    for number in range(LOOPS):
        about = f"{WORDS[number % 12]} {WORDS[number * 7 % 11]} number {number}"
        loop_id = uuid4()
        asked = EventDraft(EventKind.USER_INPUT, f"Where do I take the {about} to?")
        await stores.append(loop_id, [asked, EventDraft(EventKind.ACTOR_OUTPUT, SAID)])
        await stores.close_loop(loop_id)
    rows = []
    for window in (20, 1_000, LOOPS):
        heuristics = default_heuristics(Persona.ACTOR).model_copy(update={"window": window})
        times = []
        for number in range(20):
            start = time.perf_counter()
            await memory.actor.fuzzy_query(f"the refund for platform {number}", heuristics)
            times.append((time.perf_counter() - start) * 1000)
        rows.append(
            {"arm": f"fuzzy_query over {window:,} loops", "p50 ms": percentile(times, 0.5),
             "p95 ms": percentile(times, 0.95)}
        )  # fmt: skip
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.persona")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=int, default=50)
    parser.add_argument("--bulk", type=int, default=10_000)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.rounds, chosen.block, chosen.bulk))
