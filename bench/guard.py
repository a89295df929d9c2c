"""T10, guard: what the shadow guard costs a note, by the number of rules in its world.

Asked as the application role, over the same functions in the same order as a write asks them: the
trigger's look-up, which notes deserve a closer look, and that look where they do. One statement
each, so every figure holds its round trips. The whole write stands beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import anyio
import psycopg

from bench.common import report, table
from bench.guard_texts import KINDS, rules, seeded
from bench.place import bench_server, percentile
from idetic import Idetic, Principal, Scope
from idetic.errors import Refused
from idetic.store import scope as scoping
from idetic.store.database import APP_ROLE
from idetic.store.embedded import EmbeddedServer

SIZES = [100, 10_000, 100_000]
AIM_MS = 10.0
# The kinds that the aim is about.
AIMED = ("new text", "near-duplicate")
_SHADOW = "SELECT worlds.world_agent_rule_shadow_v1(%s, %s, %s)"
_SUSPECTS = "SELECT worlds.world_agent_rule_suspects_v1(%s, %s, %s::jsonb)"
_RESTATED = "SELECT worlds.world_agent_rule_restated_v1(%s, %s, %s, %s, '', NULL, NULL)"


@dataclass(frozen=True)
class Place:
    """One world of a size."""

    org: UUID
    domain: UUID
    world: UUID
    texts: Sequence[str]


async def main(sizes: list[int], notes: int) -> int:
    """Measure and report; a mean above the aim is a failure."""
    rows: list[dict[str, Any]] = []
    load = os.getloadavg()
    with bench_server() as server:
        async with Idetic.open(server.dsn()) as db:
            agent = await db.agent("world_agent")
            server.ensure_login(APP_ROLE)
            for size in sizes:
                place = fill(server, size)
                found = [measured(server, place, kind, notes) for kind in KINDS]
                memory = agent.bind(
                    org_id=place.org, domain_id=place.domain, principal=Principal.agent("bench")
                )
                for row in found:
                    row.update(await written(memory, place, row["kind"], notes))
                print(table(found), flush=True)
                rows += found
    meta = {
        "notes per kind and size": notes,
        "load of the machine before": f"{load[0]:.1f} {load[1]:.1f} {load[2]:.1f}",
        "load of the machine after": " ".join(f"{one:.1f}" for one in os.getloadavg()),
        "role": APP_ROLE,
        "aim": f"mean <= {AIM_MS:g} ms for {', '.join(AIMED)}",
    }
    report("guard", rows, meta)
    return int(any(row["mean ms"] > AIM_MS for row in rows if row["kind"] in AIMED))


def fill(server: EmbeddedServer, size: int) -> Place:
    """A tenant with a world of so many rules, written as their owner writes them."""
    place = Place(uuid4(), uuid4(), uuid4(), rules(size))
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(
            "INSERT INTO worlds.worlds VALUES (%s, %s, %s, 'Bench', now())",
            (place.org, place.domain, place.world),
        )
        started = time.perf_counter()
        with admin.cursor() as cursor:
            cursor.executemany(
                """INSERT INTO worlds.rules (org_id, rule_id, world_id, version, body_text,
                       source_strength, changed_at) VALUES (%s, %s, %s, 1, %s, 'curated', now())""",
                [(place.org, uuid4(), place.world, text) for text in place.texts],
            )
        took = time.perf_counter() - started
        admin.execute("VACUUM ANALYZE worlds.rules")
    print(f"{size:,} rules in {took:.1f} s", file=sys.stderr)
    return place


def measured(server: EmbeddedServer, place: Place, kind: str, notes: int) -> dict[str, Any]:
    """The guard alone, as the application role."""
    texts = [KINDS[kind](seeded(number), place.texts) for number in range(notes + 10)]
    scope = Scope(
        "world_agent", {"org_id": place.org, "domain_id": place.domain}, Principal.agent("bench")
    )
    taken: list[float] = []
    refused = 0
    with psycopg.connect(server.dsn(user=APP_ROLE)) as connection:
        connection.execute(scoping.settings(scope).encode())
        for number, text in enumerate(texts):
            start = time.perf_counter()
            hit = asked(connection, place, text)
            if number >= 10:
                taken.append((time.perf_counter() - start) * 1000)
                refused += hit
    return {
        "rules": len(place.texts),
        "kind": kind,
        "length": round(sum(map(len, texts)) / len(texts)),
        "mean ms": sum(taken) / len(taken),
        "p50 ms": percentile(taken, 0.5),
        "p95 ms": percentile(taken, 0.95),
        "refused": f"{refused}/{len(taken)}",
    }


def asked(connection: psycopg.Connection[Any], place: Place, text: str) -> bool:
    """Whether the guard refuses a note, asked as a write asks it."""

    def one(statement: str, *values: Any) -> Any:
        row = connection.execute(statement, values).fetchone()
        return row[0] if row else None

    if one(_SHADOW, place.org, place.world, text) is not None:
        return True
    items = json.dumps([{"body": text}])
    if one(_SUSPECTS, place.org, place.world, items) is None:
        return False
    return one(_RESTATED, place.org, place.domain, place.world, text) is not None


async def written(memory: Any, place: Place, kind: str, notes: int) -> dict[str, Any]:
    """The whole write of the same kind of note."""
    make = KINDS[kind]
    taken = []
    for number in range(notes // 2):
        text = make(seeded(-1 - number), place.texts)
        # A session each: three refusals over one rule would change what the fourth is asked.
        session = await memory.session().open()
        start = time.perf_counter()
        with contextlib.suppress(Refused):
            await session.observe(text)
        taken.append((time.perf_counter() - start) * 1000)
        await asyncio.sleep(0)
    return {"observe mean ms": sum(taken) / len(taken), "observe p95 ms": percentile(taken, 0.95)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.guard")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--notes", type=int, default=200, help="per kind and size")
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.sizes, chosen.notes))
