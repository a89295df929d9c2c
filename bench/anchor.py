"""Anchor: one question to one anchor that grows, by every way there is.

Ours with all signals and with meaning alone, both through the word index; the same with every
entry read; and LangGraph's search over the same vectors. Each question goes to one way after the
other, so that a slow moment falls on all. The overlap is that of the ten best with those of all
entries read, for both fusions; recall@10 is that of meaning alone with the true nearest.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import psycopg

from bench.bulk import Corpus, copy_langgraph
from bench.common import commit, machine, report, table
from bench.peer_stores import LangGraphStore
from bench.place import bench_server, percentile
from bench.recall import LIMIT, Lookup, Search, bound, corpus, embed, fill, known, ours, theirs
from bench.specs import single, spec_new
from idetic import Idetic
from idetic.model import Principal
from idetic.store.recall_query import RecallQuery

SIZES = [1_000, 10_000, 100_000]
ALL, MEANING, WHOLE = "all signals", "meaning alone", "all signals, every entry read"
RRF, RRF_WHOLE = "rrf", "rrf, every entry read"
LANGGRAPH = "LangGraph search"
_UPKEEP = Principal.maintenance("bench")


async def main(sizes: list[int], questions: int) -> None:
    """Measure and report."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        found = await measure(size, questions)
        print(table([found]), flush=True)
        rows.append(found)
    report("anchor", rows, {"questions": questions, **machine(), "commit": commit()})


async def measure(size: int, questions: int) -> dict[str, Any]:
    """One anchor of one size, in a store of its own."""
    held = corpus(size, 1, questions)
    with bench_server() as server:
        async with Idetic.open(home=server.home, embedder=Lookup(held)) as db:
            agent = await db.agent(spec_new())
            places = await fill(db, agent, held)
            await embed(server.dsn(), agent, held, places)
            start = time.perf_counter()
            upkeep = agent.bind(**bound(agent, 0).scope.anchor, principal=_UPKEEP)
            indexed = await upkeep.index_words()
            seconds = time.perf_counter() - start
            with psycopg.connect(server.dsn(), autocommit=True) as admin:
                admin.execute("VACUUM ANALYZE")
            rrf = await db.agent(spec_new(fusion="rrf"), apply=True)
            meaning = await db.agent(single(spec_new(), "semantic"), apply=True)
            searches = {
                ALL: ours(agent, held, places),
                MEANING: ours(meaning, held, places),
                WHOLE: exhaustive(ours(agent, held, places)),
                RRF: ours(rrf, held, places),
                RRF_WHOLE: exhaustive(ours(rrf, held, places)),
            }
            store = LangGraphStore(server.dsn(), known(held))
            copy_langgraph(server.dsn(), held)
            searches[LANGGRAPH] = theirs(store, held)
            told = await ask(searches, held)
            store.close()
    return {"entries": size, "segments": indexed.segments, "indexed s": round(seconds, 1), **told}


def exhaustive(search: Search) -> Search:
    """The same search, with every entry read."""

    async def asked(question: int) -> Sequence[int]:
        current = RecallQuery.current
        try:
            RecallQuery.current = False  # type: ignore[assignment, method-assign]
            return await search(question)
        finally:
            RecallQuery.current = current  # type: ignore[method-assign]

    return asked


async def ask(searches: Mapping[str, Search], held: Corpus, warm: int = 10) -> dict[str, Any]:
    """Every question each way; times after some to warm up."""
    taken: dict[str, list[float]] = {way: [] for way in searches}
    shared = {ALL: 0.0, RRF: 0.0, MEANING: 0.0}
    for number in range(len(held.questions)):
        found: dict[str, set[int]] = {}
        for way, search in searches.items():
            start = time.perf_counter()
            found[way] = set(await search(number))
            if number >= warm:
                taken[way].append((time.perf_counter() - start) * 1000)
        right = {ALL: found[WHOLE], RRF: found[RRF_WHOLE], MEANING: held.exact(number, LIMIT)}
        for way, wanted in right.items():
            shared[way] += len(found[way] & wanted) / len(wanted) / len(held.questions)
    p50 = {way: percentile(times, 0.5) for way, times in taken.items()}
    return {
        **{f"{way} ms": round(p50[way], 1) for way in (ALL, MEANING, WHOLE, LANGGRAPH)},
        "all / LangGraph": round(p50[ALL] / p50[LANGGRAPH], 2),
        "meaning / LangGraph": round(p50[MEANING] / p50[LANGGRAPH], 2),
        "overlap": round(shared[ALL], 3),
        "overlap, rrf": round(shared[RRF], 3),
        "meaning recall@10": round(shared[MEANING], 3),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.anchor")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="300000 takes longest")
    parser.add_argument("--questions", type=int, default=60)
    wanted = parser.parse_args()
    sys.exit(anyio.run(main, wanted.sizes, wanted.questions))
