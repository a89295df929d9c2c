"""T11, guard: what the shadow guard costs a note, by the number of rules in its world.

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
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import psycopg

from bench.common import report, table
from bench.guard_texts import CORPORA, KINDS, Corpus, seeded
from bench.place import bench_server, percentile
from idetic import Idetic, Principal, Scope
from idetic.errors import Refused
from idetic.store import scope as scoping
from idetic.store.database import APP_ROLE
from idetic.store.embedded import EmbeddedServer

SIZES = [100, 10_000, 100_000]
AIM_MS = 10.0
WARM = 10
# The kinds that the aim is about.
AIMED = ("new text", "near-duplicate")
_SHADOW = "SELECT worlds.world_agent_rule_shadow_v1(%s, %s, %s)"
_SUSPECTS = "SELECT worlds.world_agent_rule_suspects_v1(%s, ARRAY[%s::uuid], %s::jsonb)"
_RESTATED = "SELECT worlds.world_agent_rule_restated_v1(%s, %s, %s, ARRAY[%s], now(), NULL)"


@dataclass(frozen=True)
class Place:
    """One world of a size."""

    org: UUID
    domain: UUID
    world: UUID
    corpus: Corpus
    rules: Sequence[str]

    def note(self, kind: str, number: int) -> str:
        """One note of a kind; the same for the same number."""
        rng = seeded(number)
        return KINDS[kind](rng, rng.choice(self.rules), self.corpus)


async def main(sizes: list[int], notes: int, corpora: list[str]) -> int:
    """Measure and report; a mean above the aim is a failure."""
    rows: list[dict[str, Any]] = []
    load = os.getloadavg()
    with bench_server() as server:
        async with Idetic.open(home=server.home) as db:
            agent = await db.agent("world_agent")
            for corpus, size in ((c, s) for c in CORPORA if c.name in corpora for s in sizes):
                place = fill(server, corpus, size)
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
        "aim": f"mean <= {AIM_MS:g} ms for {', '.join(AIMED)}, rules of real sentences",
    }
    report("guard", rows, meta)
    aimed = [row for row in rows if row["kind"] in AIMED and row["corpus"] == CORPORA[0].name]
    return int(any(row["mean ms"] > AIM_MS for row in aimed))


def fill(server: EmbeddedServer, corpus: Corpus, size: int) -> Place:
    """A tenant with a world of so many rules, written as their owner writes them."""
    place = Place(uuid4(), uuid4(), uuid4(), corpus, corpus.rules(size))
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
                [(place.org, uuid4(), place.world, text) for text in place.rules],
            )
        took = time.perf_counter() - started
        admin.execute("VACUUM ANALYZE worlds.rules")
    print(f"{corpus.name}: {size:,} rules in {took:.1f} s", file=sys.stderr)
    return place


def measured(server: EmbeddedServer, place: Place, kind: str, notes: int) -> dict[str, Any]:
    """The guard alone, as the application role."""
    texts = [place.note(kind, number) for number in range(notes + WARM)]
    scope = Scope(
        "world_agent", {"org_id": place.org, "domain_id": place.domain}, Principal.agent("bench")
    )
    taken: list[float] = []
    refused = 0
    with psycopg.connect(server.dsn(user=APP_ROLE)) as connection:
        for name, value in scoping.settings(scope).items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        spent = 0.0
        for number, text in enumerate(texts):
            if number == WARM:
                spent = processor_ms(connection.info.backend_pid)
            start = time.perf_counter()
            hit = asked(connection, place, text)
            if number >= WARM:
                taken.append((time.perf_counter() - start) * 1000)
                refused += hit
        spent = processor_ms(connection.info.backend_pid) - spent
    return {
        "corpus": place.corpus.name,
        "rules": len(place.rules),
        "kind": kind,
        "length": round(sum(map(len, texts)) / len(texts)),
        "mean ms": sum(taken) / len(taken),
        "p50 ms": percentile(taken, 0.5),
        "p95 ms": percentile(taken, 0.95),
        "server CPU ms": spent / len(taken) or None,
        "refused": f"{refused}/{len(taken)}",
    }


def processor_ms(pid: int) -> float:
    """What the server has computed for a connection so far; 0 where the system does not say.

    On a busy machine the time on the clock tells more about the others.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


def asked(connection: psycopg.Connection[Any], place: Place, text: str) -> bool:
    """Whether the guard refuses a note, asked as a write asks it."""

    def one(statement: str, *values: Any) -> Any:
        row = connection.execute(statement, values).fetchone()
        return row[0] if row else None

    if one(_SHADOW, place.org, place.world, text) is not None:
        return True
    items = json.dumps([{"body": text}])
    anchor = scoping.anchor_id([place.org, place.domain])
    if one(_SUSPECTS, place.org, place.world, items) is None:
        return False
    return one(_RESTATED, place.org, anchor, place.world, text) is not None


async def written(memory: Any, place: Place, kind: str, notes: int) -> dict[str, Any]:
    """The whole write of the same kind of note."""
    taken = []
    for number in range(notes // 2):
        text = place.note(kind, -1 - number)
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
    parser.add_argument("--notes", type=int, default=100, help="per kind and size")
    names = [corpus.name for corpus in CORPORA]
    parser.add_argument("--corpora", nargs="+", choices=names, default=names)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.sizes, chosen.notes, chosen.corpora))
