"""T4, write: one governed observe and bulk observe_many, beside LangGraph and raw SQL.

Everything runs on one embedded server with fsync and synchronous_commit on. The single writes
take turns in short blocks, so that a slow moment of the machine falls on all of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import anyio
import psycopg
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.types.json import Jsonb

from bench.common import report
from bench.peer_stores import LangGraphStore, PeerStore
from bench.place import bench_server, percentile
from bench.sets import Message
from idetic import Idetic, Observation, Principal
from idetic.context import Worlds
from idetic.library.handles import Interaction, Memory

SHORT = "Wire transfers above the threshold skip the second check when the desk is short."
LONG = (
    "Wire transfers above the threshold skip the second check when the desk is short, which "
    "happened on four Fridays out of five in the branches that report through the new system."
)
Write = Callable[[int], Awaitable[object]]


async def main(rounds: int, block: int, bulk: int) -> None:
    """Measure and report."""
    with bench_server() as server:
        dsn = server.dsn()
        async with Idetic.open(home=server.home) as db:
            memory = await _memory(db)
            rows = await _single(dsn, memory, rounds, block)
            rows += await _bulk(dsn, memory, bulk)
    report("write", rows, {"unit": "ms for one write; observations per second for bulk"})


async def _memory(db: Idetic) -> Memory:
    """A tenant with 150 rules, so that the guard has something to compare with."""
    org, domain = uuid4(), uuid4()
    agent = await db.agent("world_agent")
    worlds = Worlds(db)
    world = await worlds.register(org, domain, "Bench")
    for number in range(150):
        await worlds.put_rule(
            org,
            world,
            f"Rule {number}: a payment of kind {number * 7 % 31} above {number * 950} is held "
            f"until desk {number % 11} has compared it with list {number % 5} and noted it.",
        )
    return agent.bind(org_id=org, domain_id=domain, principal=Principal.agent("bench"))


async def _single(dsn: str, memory: Memory, rounds: int, block: int) -> list[dict[str, Any]]:
    with (
        psycopg.connect(dsn, autocommit=True) as raw,
        closing(LangGraphStore(dsn, None)) as store,
    ):
        raw.execute("CREATE TABLE bare (org_id uuid, id uuid PRIMARY KEY, body text, about jsonb)")
        async with (
            AsyncPostgresStore.from_conn_string(dsn) as astore,
            memory.session() as session,
            session.interaction() as turn,
        ):
            arms = _arms(raw, store, astore, turn, uuid4())
            taken: dict[str, list[float]] = {name: [] for name in arms}
            for _ in range(rounds):
                for name, write in arms.items():
                    for number in range(block):
                        start = time.perf_counter()
                        await write(number)
                        taken[name].append((time.perf_counter() - start) * 1000)
    put = percentile(taken["LangGraph put"], 0.5)
    return [
        {
            "arm": name,
            "writes": len(times),
            "p50 ms": percentile(times, 0.5),
            "p95 ms": percentile(times, 0.95),
            "p50 / LangGraph put": percentile(times, 0.5) / put,
        }
        for name, times in taken.items()
    ]


def _arms(
    raw: psycopg.Connection[Any],
    store: PeerStore,
    astore: AsyncPostgresStore,
    turn: Interaction,
    org: UUID,
) -> dict[str, Write]:
    space = ("bench", str(org))

    async def insert(number: int) -> None:
        values = (org, uuid4(), SHORT, Jsonb({"topic": f"wire/{number}"}))
        raw.execute("INSERT INTO bare VALUES (%s, %s, %s, %s)", values)

    async def put(_: int) -> None:
        store.write(str(org), {str(uuid4()): Message(SHORT, 0)})

    async def aput(_: int) -> None:
        await astore.aput(space, str(uuid4()), {"text": SHORT})

    async def observe(number: int) -> None:
        await turn.observe(SHORT, envelope={"topic": f"wire/{number}"})

    async def observe_guarded(number: int) -> None:
        await turn.observe(LONG, envelope={"topic": f"wire/{number}"})

    return {
        "raw INSERT": insert,
        "LangGraph put": put,
        "LangGraph aput": aput,
        "observe": observe,
        "observe, guarded (>= 100 characters)": observe_guarded,
    }


async def _bulk(dsn: str, memory: Memory, count: int) -> list[dict[str, Any]]:
    rows = []
    for name, text in (("short notes", SHORT), ("guarded notes", LONG)):
        seen = [Observation(text, {"topic": f"wire/{n}"}) for n in range(count)]
        async with memory.session() as session:
            await session.observe_many(seen[:100])
            start = time.perf_counter()
            await session.observe_many(seen)
            ours = count / (time.perf_counter() - start)
            rows += _raw_bulk(dsn, str(session.id), name, ours)
    return rows


def _raw_bulk(dsn: str, session: str, name: str, ours: float) -> list[dict[str, Any]]:
    """The very rows that observe_many wrote, into bare copies of the same tables."""
    rates = {"observe_many": ours}
    with psycopg.connect(dsn, autocommit=True) as raw:
        tables = {}
        for table in ("world_agent_memory", "world_agent_memory_ledger"):
            found = raw.execute(
                f"SELECT t.* FROM worlds.{table} t JOIN worlds.world_agent_memory m "  # noqa: S608
                "USING (org_id, anchor_id, memory_id) WHERE m.session_id = %s",
                (session,),
            )
            columns = [column.name for column in found.description or ()]
            tables[table] = (columns, [[_value(v) for v in row] for row in found.fetchall()])
        for method in ("multi-row INSERT", "executemany INSERT", "COPY"):
            raw.execute("DROP TABLE IF EXISTS bare_memory, bare_ledger")
            raw.execute("CREATE TABLE bare_memory AS TABLE worlds.world_agent_memory WITH NO DATA")
            raw.execute(
                "CREATE TABLE bare_ledger AS TABLE worlds.world_agent_memory_ledger WITH NO DATA"
            )
            start = time.perf_counter()
            for (columns, values), bare in zip(
                tables.values(), ("bare_memory", "bare_ledger"), strict=True
            ):
                _load(raw, bare, columns, values, method)
            count = len(next(iter(tables.values()))[1])
            rates[f"raw {method}"] = count / (time.perf_counter() - start)
    return [
        {"arm": f"{method}, {name}", "rows/s": round(rate), "observe_many / this": ours / rate}
        for method, rate in rates.items()
    ]


def _value(value: Any) -> Any:
    return Jsonb(value) if isinstance(value, dict) else value


def _load(
    raw: psycopg.Connection[Any], table: str, columns: list[str], rows: list[Any], method: str
) -> None:
    names, one = ", ".join(columns), f"({', '.join(['%s'] * len(columns))})"
    into = f"INSERT INTO {table} ({names}) VALUES "  # noqa: S608 - our own table
    for first in range(0, len(rows), 1000):
        chunk = rows[first : first + 1000]
        with raw.transaction(), raw.cursor() as cursor:
            if method == "COPY":
                with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                    for row in chunk:
                        copy.write_row(row)
            elif method == "executemany INSERT":
                cursor.executemany(into + one, chunk)
            else:
                values = [value for row in chunk for value in row]
                cursor.execute(into + ", ".join([one] * len(chunk)), values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.write")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=int, default=50)
    parser.add_argument("--bulk", type=int, default=10_000)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.rounds, chosen.block, chosen.bulk))
