"""One tree's side of `bench.against`: its own process, its own code, its own embedded server.

A round is asked for on standard input as a name and a number of calls, and answered on standard
output with the time of each call and the processor time of all. Nothing is imported that older
trees do not have.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from itertools import count as counting
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import numpy as np
import psycopg
import yaml

from bench.place import bench_server
from idetic import Idetic, Observation, Principal
from idetic.embed.port import EmbeddingModel
from idetic.library.handles import Agent, Memory
from idetic.spec.interview import build

ENTRIES = 1000
MANY = 100
RULES = 150
_WORDS = (
    "wire transfer desk branch threshold second check friday report system payment ledger "
    "client approval limit signature manager evening morning queue delay notice holiday letter"
).split()
_NUMBERS = counting()
Call = Callable[[int], Awaitable[object]]


class Drawn:
    """An embedder that takes no time: a text's vector is drawn from its last letters."""

    profile = EmbeddingModel("bge-small-en-v1.5", 384, 512, "none", "bench", "bench")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """One unit vector per text, the same whenever the text comes."""
        seeds = (int.from_bytes(text.encode()[-8:], "big") for text in texts)
        drawn = [np.random.default_rng(seed).standard_normal(384, np.float32) for seed in seeds]
        return np.array([one / np.linalg.norm(one) for one in drawn], np.float32)


def note(number: int) -> Observation:
    """A note of twelve words and its number."""
    words = (_WORDS[(number * 7 + n * n * (number % 5 + 1)) % len(_WORDS)] for n in range(12))
    return Observation(f"{' '.join(words)} {number:08d}.", {"topic": f"wire/{number % 40}"})


async def main() -> None:
    """Answer rounds until standard input ends."""
    with bench_server() as server:
        dsn = server.dsn()
        with psycopg.connect(dsn, autocommit=True) as watching:
            async with Idetic.open(home=server.home, embedder=Drawn()) as db:
                calls = await _calls(db, watching)
                print(json.dumps(sorted(calls)), flush=True)
                async for line in anyio.wrap_file(sys.stdin):
                    name, count = line.split()
                    print(json.dumps(await _timed(watching, calls[name], int(count))), flush=True)


async def _calls(db: Idetic, watching: psycopg.Connection[Any]) -> dict[str, Call]:
    agent, org = await db.agent("world_agent"), uuid4()
    written, asked = [await _memory(db, agent, org, name) for name in ("written", "asked")]
    turn = await (await written.session().open()).interaction().open()
    bulk = await written.session().open()
    spec = yaml.safe_load(build({"agent": "bench_new", "anchor.keys": "org_id:uuid"}))
    new = (await db.agent(spec)).bind(org_id=org, principal=Principal.agent("bench"))
    for memory in (asked, new):
        full = await memory.session().open()
        await full.observe_many([note(number) for number in range(ENTRIES)])
        await memory.embed()
    watching.execute("VACUUM (ANALYZE)")

    async def observe(number: int) -> object:
        seen = note(number)
        return await turn.observe(seen.text, envelope=seen.envelope)

    async def observe_many(number: int) -> object:
        return await bulk.observe_many([note(number * MANY + n) for n in range(MANY)])

    async def recall(number: int) -> object:
        return await asked.recall(f"What about {note(number).text}", limit=10)

    async def recall_new(number: int) -> object:
        """With the recipe that `spec new` writes in this tree."""
        return await new.recall(f"What about {note(number).text}", limit=10)

    return {
        "observe": observe,
        "observe_many": observe_many,
        "recall": recall,
        "recall_new": recall_new,
    }


async def _memory(db: Idetic, agent: Agent, org: UUID, name: str) -> Memory:
    """An anchor with rules, so that the guard has something to compare with."""
    domain, worlds = uuid4(), _worlds(db)
    world = await worlds.register(org, domain, name)
    for number in range(RULES):
        await worlds.put_rule(
            org,
            world,
            f"Rule {number} of {name}: a payment of kind {number * 7 % 31} above {number * 950} is "
            f"held until desk {number % 11} has compared it with list {number % 5} and noted it.",
        )
    return agent.bind(org_id=org, domain_id=domain, principal=Principal.agent("bench"))


async def _timed(watching: psycopg.Connection[Any], call: Call, count: int) -> dict[str, Any]:
    taken = []
    client, server = time.process_time(), _server_seconds(watching)
    for number in islice(_NUMBERS, count):
        start = time.perf_counter()
        await call(number)
        taken.append((time.perf_counter() - start) * 1000)
    client, server = time.process_time() - client, _server_seconds(watching) - server
    return {"ms": taken, "client": client * 1000 / count, "server": server * 1000 / count}


def _server_seconds(watching: psycopg.Connection[Any]) -> float:
    """Processor time of the sessions of this database other than the one that asks."""
    rows = watching.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    read = (Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii") for (pid,) in rows)
    return sum(int(text.split()[0]) for text in read) / 1e9


def _worlds(db: Idetic) -> Any:
    """The worlds of a tree: a tree from before decision 0033 keeps them in a file of their own."""
    place = import_module("idetic.context")
    if not hasattr(place, "Worlds"):
        place = import_module("idetic.context.worlds")
    return place.Worlds(db)


if __name__ == "__main__":
    sys.exit(anyio.run(main))
