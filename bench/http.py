"""HTTP: observe and recall under 1, 8 and 32 clients, beside the library in the same run.

The server is a process of its own, as `idetic serve` starts it, over the same embedded database
that the in-process figures use. The two take turns in short rounds, so that a slow moment of the
machine falls on both. Latency is what one caller waits for one answer.
"""

# ruff: noqa: A005 - named after its task, as all of them; nothing imports it as `http`
from __future__ import annotations

import argparse
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import anyio
import httpx

from bench.common import report
from bench.place import bench_server, percentile, served
from idetic import Idetic, Observation, Principal
from idetic.context import Worlds
from idetic.library.handles import Memory, Session

CLIENTS = (1, 8, 32)
NOTE = "Wire transfers above the threshold skip the second check when the desk is short."
QUESTION = "When is the second check skipped?"
Call = Callable[[int], Awaitable[object]]


async def main(rounds: int, calls: int, held: int) -> None:
    """Measure and report."""
    rows: list[dict[str, Any]] = []
    with bench_server() as server:
        async with Idetic.open(home=server.home) as db:
            memory, key = await _tenant(db)
            async with memory.session() as session:
                await session.observe_many([Observation(f"{n}: {NOTE}") for n in range(held)])
                await memory.embed()
                with served(server.home) as address:
                    for clients in CLIENTS:
                        rows += await _compared(session, address, key, clients, rounds, calls)
    report(
        "http",
        rows,
        {
            "unit": "ms that one caller waits; calls per second of all callers",
            "entries held": held,
            "rounds": rounds,
            "calls per client and round": calls,
        },
    )


async def _tenant(db: Idetic) -> tuple[Memory, str]:
    org, domain = uuid4(), uuid4()
    agent = await db.agent("world_agent")
    await Worlds(db).register(org, domain, "Bench")
    principal = Principal.agent("bench")
    anchor = {"org_id": org, "domain_id": domain}
    made = await db.keys.create(agent="world_agent", principal=principal, anchor=anchor)
    return agent.bind(principal=principal, **anchor), made.key


async def _compared(
    session: Session, address: str, key: str, clients: int, rounds: int, calls: int
) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(
        base_url=address, headers=headers, limits=limits, timeout=120
    ) as http:
        arms = _arms(session, http)
        waited: dict[tuple[str, str], list[float]] = {name: [] for name in arms}
        spent = dict.fromkeys(arms, 0.0)
        for number in range(-1, rounds):
            for name, call in arms.items():
                begun = time.perf_counter()
                found = await _round(call, clients, calls)
                if number >= 0:  # the first round warms everything up
                    waited[name] += found
                    spent[name] += time.perf_counter() - begun
    return [_row(verb, clients, waited, spent) for verb in ("observe", "recall")]


def _arms(session: Session, http: httpx.AsyncClient) -> dict[tuple[str, str], Call]:
    place = {"session_id": str(session.id)}

    async def post(path: str, body: dict[str, Any]) -> None:
        (await http.post(path, json={**body, **place})).raise_for_status()

    return {
        ("observe", "in process"): lambda n: session.observe(f"{NOTE} {n}"),
        ("observe", "http"): lambda n: post("/v1/observations", {"text": f"{NOTE} {n}"}),
        ("recall", "in process"): lambda n: session.recall(QUESTION),
        ("recall", "http"): lambda n: post("/v1/recall", {"query": QUESTION}),
    }


async def _round(call: Call, clients: int, calls: int) -> list[float]:
    """Every client makes its calls one after the other; the milliseconds of each."""
    waited: list[float] = []

    async def client() -> None:
        for number in range(calls):
            begun = time.perf_counter()
            await call(number)
            waited.append((time.perf_counter() - begun) * 1000)

    async with anyio.create_task_group() as group:
        for _ in range(clients):
            group.start_soon(client)
    return waited


def _row(
    verb: str,
    clients: int,
    waited: dict[tuple[str, str], list[float]],
    spent: dict[tuple[str, str], float],
) -> dict[str, Any]:
    row: dict[str, Any] = {"verb": verb, "clients": clients}
    for way in ("in process", "http"):
        found = waited[verb, way]
        row[f"{way} p50"] = round(percentile(found, 0.5), 1)
        row[f"{way} p95"] = round(percentile(found, 0.95), 1)
        row[f"{way} per s"] = round(len(found) / spent[verb, way])
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.http")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--held", type=int, default=500)
    chosen = parser.parse_args()
    anyio.run(main, chosen.rounds, chosen.calls, chosen.held)
