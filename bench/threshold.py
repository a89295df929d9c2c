"""T9, threshold: from which size on an anchor's vectors come faster from their index.

One anchor of each size is asked for meaning alone, the same questions both ways: every vector
compared, and through HNSW. With `--others`, as many anchors of the same size share the index, as
tenants do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import anyio

from bench.bulk import Corpus
from bench.common import report, table
from bench.place import bench_server, percentile
from bench.recall import LIMIT, Lookup, Search, bound, corpus, embed, fill, ours
from bench.specs import single, spec_new
from idetic import Idetic, Principal
from idetic.store import nomination_statements
from idetic.store.nomination_statements import Reading

SIZES = [5_000, 10_000, 20_000, 40_000, 80_000]


async def main(sizes: list[int], others: int, questions: int, ef_search: list[int]) -> None:
    """Measure and report."""
    rows: list[dict[str, Any]] = []
    chosen = nomination_statements.WALKED_FROM
    for size in sizes:
        found = await measure(size, others, questions, ef_search)
        rows += found
        print(table(found), flush=True)
    meta = {"others": others, "questions": questions, "WALKED_FROM": chosen}
    report("threshold" if not others else f"threshold_{others}", rows, meta)


async def measure(
    size: int, others: int, questions: int, ef_search: list[int]
) -> list[dict[str, Any]]:
    """One size: a store of its own, every way in turn."""
    held = corpus(size * (1 + others), 1 + others, questions)
    with bench_server() as server:
        dsn = server.dsn()
        async with Idetic.open(home=server.home, embedder=Lookup(held)) as db:
            spec = single(spec_new(), "semantic")
            exact = await db.agent(spec)
            places = await fill(db, exact, held)
            await embed(dsn, exact, held, places)
            upkeep = bound(exact, 0).scope.anchor
            await exact.bind(**upkeep, principal=Principal.maintenance("bench")).index_words()
            indexed = await db.agent(spec)
            ways = {
                "exact": from_size(ours(exact, held, places), 10**9),
                "HNSW": from_size(ours(indexed, held, places), 0),
            }
            for ef in ef_search:
                ways[f"HNSW, ef_search {ef}"] = with_ef(ways["HNSW"], ef)
            return [{"entries": size, **row} for row in await ask(ways, held)]


def from_size(search: Search, size: int) -> Search:
    """The same search, which takes the index of vectors from a cell of so many on."""

    async def asked(question: int) -> Sequence[int]:
        nomination_statements.WALKED_FROM = size
        return await search(question)

    return asked


def with_ef(search: Search, ef: int) -> Search:
    """The same search with another `hnsw.ef_search` than a reading's own."""

    async def asked(question: int) -> Sequence[int]:
        kept = Reading.settings
        try:
            Reading.settings = property(lambda _: {"hnsw.ef_search": str(ef)})  # type: ignore[assignment]
            return await search(question)
        finally:
            Reading.settings = kept  # type: ignore[method-assign]

    return asked


async def ask(searches: dict[str, Search], held: Corpus, warm: int = 5) -> list[dict[str, Any]]:
    """Every question each way, after some to warm up."""
    taken: dict[str, list[float]] = {way: [] for way in searches}
    right = dict.fromkeys(searches, 0.0)
    count = len(held.questions)
    for number in range(count):
        exact = held.exact(number, LIMIT)
        for way, search in searches.items():
            start = time.perf_counter()
            found = await search(number)
            if number >= warm:
                taken[way].append((time.perf_counter() - start) * 1000)
            right[way] += len(exact & set(found)) / len(exact) / count
    return [
        {
            "way": way,
            "p50 ms": round(percentile(times, 0.5), 1),
            "p95 ms": round(percentile(times, 0.95), 1),
            "recall@10 of exact": round(right[way], 3),
        }
        for way, times in taken.items()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.threshold")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--others", type=int, default=0, help="anchors of the same size beside it")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--ef-search", type=int, nargs="*", default=[], help="further values")
    asked = parser.parse_args()
    sys.exit(anyio.run(main, asked.sizes, asked.others, asked.questions, asked.ef_search))
