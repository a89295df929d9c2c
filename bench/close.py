"""Closing a session, and the promotion pass against a large persistent memory.

First, sessions of growing size are written and closed in a new anchor: half of their statements
make a claim, half do not. Then sessions of 100 such statements are closed while the persistent
memory they are compared with grows to 100,000 facts, which are put there by SQL as the admin, with
vectors; half of the statements repeat a fact. The vectors are random but for repeated texts, so no
model time is in any figure. Each closing is one transaction, decided and written under one lock.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import anyio
import numpy as np
import psycopg

from bench.bulk import bulk_load
from bench.common import report
from bench.place import bench_server, percentile
from idetic import Claim, Idetic, Observation, Principal
from idetic.context import Worlds
from idetic.embed.port import EmbeddingModel
from idetic.ids import uuid7
from idetic.library.handles import Agent, Memory
from idetic.store.scope import anchor_id

MEMORY = "worlds.world_agent_memory"
EMBEDDINGS = f"{MEMORY}_embeddings"
STATEMENTS = 100


class Hashed:
    """A vector from a hash of the text: equal texts are equal, all others unrelated."""

    profile = EmbeddingModel("hashed", 384, 512, "fp32", "hashed", "hashed")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """One unit vector for each text."""
        made = [vector(text) for text in texts]
        return np.asarray(made, dtype=np.float32)


def vector(text: str) -> Any:
    """The vector of one text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    made = np.random.default_rng(seed).normal(size=384)
    return made / np.linalg.norm(made)


def said(number: int) -> Observation:
    """A statement by its number: even ones make a claim."""
    text = f"Counterparty {number} settles on day {number % 7} through desk {number % 31}."
    claim = Claim(f"counterparty {number}", "settles on", str(number % 7))
    return Observation(text, claim=claim if number % 2 == 0 else None)


async def anchor(db: Idetic, agent: Agent) -> tuple[Memory, dict[str, UUID]]:
    """A new anchor with its world."""
    org, domain = uuid4(), uuid4()
    world = await Worlds(db).register(org, domain, "Settlement")
    memory = agent.bind(principal=Principal.agent("bench"), org_id=org, domain_id=domain)
    return memory, {"org_id": org, "domain_id": domain, "world_id": world}


async def closing(memory: Memory, statements: Sequence[Observation]) -> tuple[float, Any]:
    """Write statements in two interactions of a session, embed them, and time the close."""
    session = await memory.session().open()
    half = len(statements) // 2
    for part in (statements[:half], statements[half:]):
        turn = await session.interaction().open()
        await turn.observe_many(list(part))
    await memory.embed()
    start = time.perf_counter()
    closed = await session.close()
    return time.perf_counter() - start, closed


async def main(sizes: list[int], stores: list[int], repeats: int) -> int:
    """Measure and report."""
    rows: list[dict[str, Any]] = []
    with bench_server() as server:
        dsn = server.dsn()
        async with Idetic.open(home=server.home, embedder=Hashed()) as db:
            agent = await db.agent("world_agent")
            for size in sizes:
                rows.append(await session_row(db, agent, size, repeats))
                print(rows[-1], flush=True)
            memory, keys = await anchor(db, agent)
            await memory.embed()
            have = 0
            for store in stores:
                fill(dsn, keys, agent.version, have, store)
                have = store
                rows.append(await promotion_row(memory, store, repeats))
                print(rows[-1], flush=True)
    _compare(rows)
    report("close", rows, {"repeats": repeats, "statements against a store": STATEMENTS})
    return 0


async def session_row(db: Idetic, agent: Agent, size: int, repeats: int) -> dict[str, Any]:
    """How long a session of one size takes to close, in a new anchor each time."""
    times, closed = [], None
    for _ in range(repeats):
        memory, _ = await anchor(db, agent)
        seconds, closed = await closing(memory, [said(n) for n in range(size)])
        times.append(seconds)
    assert closed is not None
    return _row("close a session", size, 0, times, closed.count("proposed"))


async def promotion_row(memory: Memory, store: int, repeats: int) -> dict[str, Any]:
    """How long a session of 100 statements takes against a store of this many facts."""
    times, supported = [], 0
    for repeat in range(repeats):
        known = [said(repeat * 50 + n) for n in range(50)]
        new = [said(10_000_000 + store + repeat * 50 + n) for n in range(50)]
        seconds, closed = await closing(memory, [*known, *new])
        times.append(seconds)
        supported = closed.count("corroborated")
    return _row("promotion pass", STATEMENTS, store, times, supported)


def _row(arm: str, size: int, store: int, times: list[float], made: int) -> dict[str, Any]:
    p50 = percentile(times, 0.5)
    return {
        "arm": arm,
        "statements": size,
        "facts": store,
        "p50 s": round(p50, 3),
        "worst s": round(max(times), 3),
        "us / statement": round(p50 / size * 1e6),
        "proposed or corroborated": made,
    }


def _compare(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        first = next(r for r in rows if r["arm"] == row["arm"])
        row["per statement / smallest"] = round(row["us / statement"] / first["us / statement"], 2)


def fill(dsn: str, keys: dict[str, UUID], version: int, have: int, want: int) -> None:
    """Bring the anchor's facts from `have` to `want`: rows as a promotion would have left them."""
    with bulk_load(dsn, EMBEDDINGS) as load:
        load.execute("SET session_replication_role = replica")
        profile = load.execute(
            "SELECT profile_id FROM worlds.world_agent_memory_profiles ORDER BY activation_id DESC"
        ).fetchone()
        assert profile is not None
        made = [(uuid7(), uuid7(), said(number)) for number in range(have, want)]
        _memory(load, keys, version, made)
        _vectors(load, keys, profile[0], made)
        load.execute("SET session_replication_role = origin")
        load.execute(f"VACUUM (ANALYZE) {MEMORY}")


Made = list[tuple[UUID, UUID, Observation]]


def _memory(load: psycopg.Connection[Any], keys: dict[str, UUID], version: int, made: Made) -> None:
    columns = (
        "org_id, anchor_id, world_id, memory_id, embedding_id, tier, typology, body_text, "
        "envelope, claim_subject, claim_attribute, claim_value, lexemes, origin, trust, valid_at, "
        "spec_version, content_hash, created_at, created_by"
    )
    with (
        load.cursor() as cursor,
        cursor.copy(f"COPY {MEMORY} ({columns}) FROM STDIN") as copy,
    ):
        for memory_id, embedding_id, seen in made:
            claim = seen.claim.normalised() if seen.claim else None
            envelope = "{}" if seen.claim is None else _json(seen.claim)
            copy.write_row(
                (
                    *(keys["org_id"], _anchor(keys), keys["world_id"], memory_id, embedding_id),
                    *("persistent", "semantic", seen.text, envelope),
                    *((claim.subject, claim.attribute, claim.value) if claim else (None,) * 3),
                    *("", "agent", 60, "2026-01-01", version, b"", "2026-01-01", "agent:bench"),
                )
            )


def _anchor(keys: dict[str, UUID]) -> UUID:
    return anchor_id([keys["org_id"], keys["domain_id"]])


def _json(claim: Claim) -> str:
    return json.dumps({"claim": claim.as_dict()})


def _vectors(
    load: psycopg.Connection[Any], keys: dict[str, UUID], profile: UUID, made: Made
) -> None:
    columns = (
        "org_id, anchor_id, embedding_id, memory_id, profile_id, tier, typology, embedding, "
        "embedded_at"
    )
    with (
        load.cursor() as cursor,
        cursor.copy(f"COPY {EMBEDDINGS} ({columns}) FROM STDIN") as copy,
    ):
        for memory_id, embedding_id, seen in made:
            numbers = "[" + ",".join(f"{x:.5g}" for x in vector(seen.text)) + "]"
            copy.write_row(
                (
                    *(keys["org_id"], _anchor(keys), embedding_id, memory_id, profile),
                    *("persistent", "semantic", numbers, "2026-01-01"),
                )
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.close")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--stores", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.sizes, chosen.stores, chosen.repeats))
