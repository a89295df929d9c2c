"""T6, growth: one anchor of fixed size is asked while the rest of the store grows around it.

The anchor is written and embedded as any other. The rest is other tenants' rows, copies of the
anchor's under other names and ids, made by SQL as the admin, a thousand entries to a tenant,
vectors included; the HNSW index is built anew after each step, then VACUUM ANALYZE, as autovacuum
would. Between any two recalls a control is asked, a table that never grows: where it moves, the
machine moved.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import anyio
import psycopg

from bench.bulk import Corpus, RawPgvector, bulk_load
from bench.common import report
from bench.place import bench_server, percentile
from bench.recall import Lookup, bound, corpus, embed, fill, memory_table
from bench.specs import single, spec_new
from idetic import Idetic
from idetic.library.handles import Agent
from idetic.spec.loader import load

EACH = 1000
MOST = 1.2
SPEC = spec_new()
MEMORY = memory_table(load(SPEC))
EMBEDDINGS = f"{MEMORY}_embeddings"
# Copies of the anchor's rows under other tenants' names. The ids' first half stays, so that they
# sort by time as they do in production; the other half is drawn anew.
_OTHER_ID = "(left({0}::text, 18) || right(md5({0}::text || n)::uuid::text, 18))::uuid"


async def main(sizes: list[int], questions: int) -> int:
    """Measure and report; not 0 if the anchor got slower than it may."""
    held = corpus(EACH, 1, questions)
    rows: list[dict[str, Any]] = []
    with bench_server() as server:
        dsn = server.dsn()
        async with Idetic.open(home=server.home, embedder=Lookup(held)) as db:
            fused = await db.agent(SPEC)
            await embed(dsn, fused, held, await fill(db, fused, held))
            semantic = await db.agent(single(SPEC, "semantic"), apply=True)
            control = RawPgvector(dsn, held, indexed=False)
            tenants = 0
            for size in sizes:
                start = time.perf_counter()
                grow(dsn, tenants, size // EACH - 1)
                tenants = size // EACH - 1
                print(f"{size:,} entries, {time.perf_counter() - start:.0f} s", flush=True)
                for arm, agent in (("all signals", fused), ("semantic only", semantic)):
                    times, beside = await ask(agent, held, control)
                    row = {"arm": arm, "entries": size, **_row(times)}
                    rows.append(row | {"control p50 ms": round(percentile(beside, 0.5), 2)})
    for row in rows:
        first = next(r for r in rows if r["arm"] == row["arm"])
        row["p50 / smallest"] = round(row["p50 ms"] / first["p50 ms"], 2)
    rows.sort(key=lambda row: str(row["arm"]))
    meta = {"anchor": f"{EACH:,} entries", "questions": questions, "may grow to": MOST}
    report("growth", rows, meta)
    slow = [row for row in rows if row["p50 / smallest"] > MOST]
    print(f"MISSED: {slow}" if slow else f"flat: no step is above {MOST}")
    return int(bool(slow))


def _row(times: list[float]) -> dict[str, float]:
    return {f"p{p} ms": round(percentile(times, p / 100), 2) for p in (50, 95)}


async def ask(agent: Agent, held: Corpus, control: RawPgvector) -> tuple[list[float], list[float]]:
    """Every question to the fixed anchor and to the control, after some to warm up."""
    memory = bound(agent, 0)
    times, beside = [], []
    for number in [*range(20), *range(len(held.questions))]:
        start = time.perf_counter()
        await memory.recall(held.questions[number], limit=10)
        between = time.perf_counter()
        control.search(number, 10)
        times.append((between - start) * 1000)
        beside.append((time.perf_counter() - between) * 1000)
    return times[20:], beside[20:]


def grow(dsn: str, have: int, want: int) -> None:
    """Bring the other tenants from `have` to `want`, each a copy of the anchor."""
    with bulk_load(dsn, EMBEDDINGS) as load:
        # Foreign keys and triggers were checked for the anchor that is copied.
        load.execute("SET session_replication_role = replica")
        for first in range(have, want, 50):
            last = min(first + 50, want) - 1
            for table, ids in (
                (MEMORY, ("memory_id",)),
                (EMBEDDINGS, ("memory_id", "embedding_id")),
            ):
                _copy(load, table, ids, first, last)
        load.execute("SET session_replication_role = origin")
        load.execute(f"VACUUM (ANALYZE) {MEMORY}")


def _copy(
    load: psycopg.Connection[Any], table: str, ids: tuple[str, ...], first: int, last: int
) -> None:
    found = load.execute(f"SELECT * FROM {table} LIMIT 0").description or ()  # noqa: S608
    columns = [column.name for column in found]
    made = {"conversation_id": "'other-' || n"} | {i: _OTHER_ID.format(i) for i in ids}
    made["anchor_id"] = "idetic.anchor_id_v1(ARRAY['other-' || n])"
    values = ", ".join(made.get(column, column) for column in columns)
    load.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table}, "  # noqa: S608
        f"generate_series({first}, {last}) n WHERE conversation_id = 'anchor-0'"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.growth")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--questions", type=int, default=300)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.sizes, chosen.questions))
