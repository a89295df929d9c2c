"""Writers at once: 1, 8 and 32 clients in one anchor and in many, and documents in bulk.

Everything runs on one embedded server, beside LangGraph's own store in the same database. The two
take turns in short rounds, so that a slow moment of the machine falls on both. Each client is a
coroutine with a session of its own that writes one note after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID, uuid4

import anyio
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore

from bench.common import commit, machine, report
from bench.place import bench_server, percentile
from bench.write import SHORT
from idetic import Idetic, Principal
from idetic.context import Worlds
from idetic.library.handles import Memory, Session
from idetic.surfaces.langgraph import IdeticStore

CLIENTS = (1, 8, 32)
OURS, PEER = "Idetic", "LangGraph"
# One write of one client: its number, and the number of the write.
Write = Callable[[int, int], Awaitable[object]]
Load = Callable[[int], Awaitable[object]]


async def main(rounds: int, writes: int, documents: int) -> None:
    """Measure and report."""
    with bench_server() as server:
        async with (
            Idetic.open(home=server.home) as db,
            AsyncPostgresStore.from_conn_string(server.dsn()) as peer,
        ):
            await peer.setup()
            rows = []
            for place, count in (("one anchor", 1), ("many anchors", max(CLIENTS))):
                memories = await _memories(db, count)
                rows += await _writers(place, memories, peer, rounds, writes)
            rows += await _documents(await _store(db), peer, rounds, documents)
    told = {"unit": "writes per second, median of the rounds", "rounds": rounds}
    report("concurrency", rows, told)
    print(f"machine: {machine()}, commit {commit()}")


async def _memories(db: Idetic, count: int) -> list[Memory]:
    """Anchors of one tenant that has 150 rules for the guard to compare with."""
    org, worlds = uuid4(), Worlds(db)
    agent = await db.agent("world_agent")
    domains = [uuid4() for _ in range(count)]
    made = [await worlds.register(org, domain, "Bench") for domain in domains]
    for number in range(150):
        text = f"Rule {number}: a payment above {number * 950} waits for desk {number % 11}."
        await worlds.put_rule(org, made[number % count], text)
    principal = Principal.agent("bench")
    return [agent.bind(org_id=org, domain_id=one, principal=principal) for one in domains]


async def _writers(
    place: str, memories: Sequence[Memory], peer: AsyncPostgresStore, rounds: int, writes: int
) -> list[dict[str, Any]]:
    """Both stores under 1, 8 and 32 clients."""
    rows = []
    async with AsyncExitStack() as stack:
        sessions: list[Session] = [
            await stack.enter_async_context(memories[n % len(memories)].session())
            for n in range(max(CLIENTS))
        ]
        spaces = [("bench", str(_domain(one.memory))) for one in sessions]

        async def observe(client: int, number: int) -> None:
            await sessions[client].observe(SHORT, envelope={"topic": f"wire/{number}"})

        async def put(client: int, _: int) -> None:
            await peer.aput(spaces[client], str(uuid4()), {"text": SHORT})

        arms: dict[str, Write] = {PEER: put, OURS: observe}
        for clients in CLIENTS:
            each = max(1, writes // clients)
            rates: dict[str, list[float]] = {name: [] for name in arms}
            for _ in range(rounds):
                for name, write in arms.items():
                    rates[name].append(await _rate(write, clients, each))
            rows.append(_row(f"{place}, {clients} clients", rates))
    return rows


async def _rate(write: Write, clients: int, each: int) -> float:
    """Writes per second of so many clients, each of which waits for its own."""

    async def client(number: int) -> None:
        for one in range(each):
            await write(number, one)

    start = time.perf_counter()
    await asyncio.gather(*map(client, range(clients)))
    return clients * each / (time.perf_counter() - start)


async def _store(db: Idetic) -> IdeticStore:
    """Documents on our memory: a tenant of their own."""
    agent = await db.agent("framework_agent")
    keys = {key.name: f"bench-{uuid4()}" for key in agent.spec.anchor.keys}
    return IdeticStore(agent.bind(principal=Principal.agent("bench"), **keys))


async def _documents(
    ours: BaseStore, peer: BaseStore, rounds: int, count: int
) -> list[dict[str, Any]]:
    """A batch of new documents, the same names once more, and as many puts at once."""
    stores = {PEER: peer, OURS: ours}
    rates: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds):
        space = ("documents", str(number))
        for name, store in stores.items():
            for what, load in _loads(store, space).items():
                start = time.perf_counter()
                await load(count)
                taken = count / (time.perf_counter() - start)
                rates.setdefault(what, {}).setdefault(name, []).append(taken)
    return [_row(f"{what} of {count:,}", found) for what, found in rates.items()]


def _loads(store: BaseStore, space: tuple[str, ...]) -> Mapping[str, Load]:
    def values(count: int, what: str) -> dict[str, dict[str, Any]]:
        return {f"{what} {n}": {"text": SHORT, "number": n} for n in range(count)}

    async def batch(count: int) -> None:
        await store.abatch([PutOp(space, key, v) for key, v in values(count, "b").items()])

    async def gathered(count: int) -> None:
        puts = (store.aput(space, key, value) for key, value in values(count, "g").items())
        await asyncio.gather(*puts)

    return {"abatch": batch, "abatch once more": batch, "gathered aput": gathered}


def _row(arm: str, rates: Mapping[str, list[float]]) -> dict[str, Any]:
    found = {name: percentile(each, 0.5) for name, each in rates.items()}
    shown = {f"{name} /s": round(rate) for name, rate in found.items()}
    return {"arm": arm, **shown, "Idetic / LangGraph": found[OURS] / found[PEER]}


def _domain(memory: Memory) -> UUID:
    found: UUID = memory.scope.anchor["domain_id"]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.concurrency")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--writes", type=int, default=640, help="in one round of one arm")
    parser.add_argument("--documents", type=int, default=1_000)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.rounds, chosen.writes, chosen.documents))
