"""T5, recall: one question within one anchor, without the time an embedding model takes.

Every system holds the same texts and vectors on the same machine and answers the same questions
in turn, so that a slow moment falls on all of them. What is loaded by COPY is said below.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import numpy as np
import psycopg

from bench.bulk import (
    Corpus,
    RawPgvector,
    Vectors,
    as_text,
    bulk_load,
    copy_langgraph,
    copy_mem0,
)
from bench.common import report, versions
from bench.peer_stores import ChromaStore, Embed, LangGraphStore, Mem0Store, PeerStore
from bench.place import bench_server, percentile
from bench.specs import single, spec_new
from idetic import Idetic, Observation, Principal
from idetic.embed.port import EmbeddingModel
from idetic.ids import uuid7
from idetic.library.handles import Agent, Memory
from idetic.spec.memory_spec import MemorySpec
from idetic.store.scope import anchor_id

LIMIT = 10
OURS = "Idetic recall, semantic only"
Search = Callable[[int], Awaitable[Sequence[int]]]


class Lookup:
    """An embedder that takes no time: the corpus holds every question's vector."""

    profile = EmbeddingModel("bge-small-en-v1.5", 384, 512, "none", "bench", "bench")

    def __init__(self, corpus: Corpus):
        self._corpus = corpus

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """The stored vectors of questions."""
        assert query, "entries get their vectors by COPY"
        return np.array([self._corpus.vector_of(text) for text in texts], np.float32)


# How much of a vector is common to all, its cluster's, and its own. `model`: cosines like the
# pinned model's, about 0.45 between unrelated notes and 0.7 within a cluster. `wide`: about 0
# and 0.35, as a model gives whose vectors fill their space.
SPREADS = {"model": (0.67, 0.5, 0.55), "wide": (0.0, 0.6, 0.8)}


def corpus(entries: int, anchors: int, questions: int, spread: str = "model") -> Corpus:
    """Notes of 8 to 20 content words, some frequent and most rare; vectors in 30 clusters."""
    chance = np.random.default_rng(7)
    parts = "ba ce di fo gu la me ni po ru sta tre vi wo".split()
    words = [a + b + c for a in parts for b in parts for c in parts]
    frequency = 1 / np.arange(20, len(words) + 20)
    frequency /= frequency.sum()
    drawn = chance.choice(len(words), (entries, 20), p=frequency)
    lengths = chance.integers(8, 21, entries)
    texts = [
        " ".join(words[w] for w in row[:length]) + "."
        for row, length in zip(drawn.tolist(), lengths.tolist(), strict=True)
    ]
    common = _unit(chance.standard_normal((1, 384), np.float32))
    centres = _unit(chance.standard_normal((30, 384), np.float32))
    shared, cluster, own = SPREADS[spread]
    vectors = shared * common + cluster * centres[chance.integers(0, 30, entries)]
    vectors += own * _unit(chance.standard_normal((entries, 384), np.float32))
    about = chance.integers(0, entries, questions)
    asked = vectors[about] + 0.5 * _unit(chance.standard_normal((questions, 384), np.float32))
    told = [
        f"What about {' '.join(texts[place].rstrip('.').split()[:5])} {number}"
        for number, place in enumerate(about.tolist())
    ]
    each = entries // anchors
    whose = [place // each for place in about.tolist()]
    return Corpus(anchors, texts, _unit(vectors), told, _unit(asked), whose)


def _unit(vectors: Vectors) -> Vectors:
    made: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return made


async def fill(db: Idetic, agent: Agent, held: Corpus) -> dict[UUID, int]:
    """Observe everything through the gateway, in sessions of twenty; vectors follow by COPY."""
    places: dict[UUID, int] = {}
    for anchor in range(held.anchors):
        memory = bound(agent, anchor)
        first = anchor * held.each
        for start in range(first, first + held.each, 20 if held.each < 10_000 else 1000):
            stop = min(start + (20 if held.each < 10_000 else 1000), first + held.each)
            session = await memory.session().open()
            seen = [Observation(text) for text in held.texts[start:stop]]
            for place, receipt in enumerate(await session.observe_many(seen), start=start):
                assert receipt.entry_id is not None
                places[receipt.entry_id] = place
    return places


def bound(agent: Agent, anchor: int) -> Memory:
    """The memory of one anchor."""
    return agent.bind(conversation_id=f"anchor-{anchor}", principal=Principal.agent("bench"))


def memory_table(spec: MemorySpec) -> str:
    """The table that holds an agent's entries."""
    return f"{spec.backend.schema_}.{spec.backend.family}_memory"


async def embed(admin: str, agent: Agent, held: Corpus, places: dict[UUID, int]) -> None:
    """The vectors by COPY, and the profile switched on by the official way."""
    profile = (await bound(agent, held.anchors).embed()).profile_id
    memory = memory_table(agent.spec)
    table = f"{memory}_embeddings"
    with bulk_load(admin, table) as load, load.cursor() as cursor:
        columns = "conversation_id, anchor_id, embedding_id, memory_id, profile_id, tier, typology"
        into = f"COPY {table} ({columns}, embedding, embedded_at) FROM STDIN"
        with cursor.copy(into) as copy:
            for memory_id, place in places.items():
                whose, vector = f"anchor-{place // held.each}", as_text(held.vectors[place])
                key = (whose, anchor_id([whose]), uuid7(), memory_id, profile)
                copy.write_row((*key, "session", "episodic", vector, "now"))
    with psycopg.connect(admin, autocommit=True) as connection:
        for part in ("", "_anchors"):
            connection.execute(f"VACUUM (ANALYZE) {memory}{part}")
    for anchor in range(held.anchors):
        done = await bound(agent, anchor).embed()
        assert done.embedded == 0


def ours(agent: Agent, held: Corpus, places: dict[UUID, int]) -> Search:
    """A question through the public API."""

    async def search(question: int) -> list[int]:
        memory = bound(agent, held.whose[question])
        found = await memory.recall(held.questions[question], limit=LIMIT)
        return [places[hit.entry.id] for hit in found]

    return search


def theirs(peer: PeerStore, held: Corpus) -> Search:
    """A question to a peer, which has a space for each anchor."""

    async def search(question: int) -> list[int]:
        found = peer.search(str(held.whose[question]), held.questions[question], LIMIT)
        return [int(key) for key in found]

    return search


def raw(control: RawPgvector) -> Search:
    """A question to pgvector without anything around it."""

    async def search(question: int) -> list[int]:
        return control.search(question, LIMIT)

    return search


async def measure(
    searches: dict[str, Search], held: Corpus, warm: int = 20
) -> list[dict[str, Any]]:
    """Every question to every system, one system after the other."""
    taken: dict[str, list[float]] = {name: [] for name in searches}
    right: dict[str, float] = dict.fromkeys(searches, 0.0)
    count = len(held.questions)
    for number in range(count):
        exact = held.exact(number, LIMIT)
        for name, search in searches.items():
            start = time.perf_counter()
            found = await search(number)
            if number >= warm:
                taken[name].append((time.perf_counter() - start) * 1000)
            right[name] += len(exact & set(found)) / len(exact) / count
    base = percentile(taken[OURS], 0.5)
    return [
        {
            "system": name,
            **{f"p{p} ms": round(percentile(times, p / 100), 2) for p in (50, 95, 99)},
            "recall@10 of exact": round(right[name], 3),
            f"p50 / {OURS}": round(percentile(times, 0.5) / base, 2),
        }
        for name, times in taken.items()
    ]


async def main(entries: int, anchors: int, questions: int, peers: bool, spread: str) -> None:
    """Measure and report."""
    held = corpus(entries, anchors, questions, spread)
    spec = spec_new()
    with bench_server() as server, tempfile.TemporaryDirectory() as scratch:
        dsn = server.dsn()
        async with Idetic.open(home=server.home, embedder=Lookup(held)) as db:
            fused = await db.agent(spec)
            start = time.perf_counter()
            places = await fill(db, fused, held)
            print(f"{entries:,} observed, {time.perf_counter() - start:.0f} s", flush=True)
            await embed(dsn, fused, held, places)
            print(f"vectors loaded, {time.perf_counter() - start:.0f} s", flush=True)
            semantic = await db.agent(single(spec, "semantic"), apply=True)
            searches = {
                "Idetic recall, all signals": ours(fused, held, places),
                OURS: ours(semantic, held, places),
            }
            for name, make in _peers(dsn, Path(scratch), held) if peers else ():
                try:
                    searches[name] = make()
                except ModuleNotFoundError as missing:
                    print(f"{name} left out, {missing}: run make bench T=recall", flush=True)
                    continue
                print(f"{name} loaded, {time.perf_counter() - start:.0f} s", flush=True)
            rows = await measure(searches, held)
    name = "recall" if (entries, anchors) == (100_000, 100) else f"recall_{entries}_{anchors}"
    report(
        name if spread == "model" else f"{name}_{spread}",
        rows,
        {
            "entries": entries,
            "anchors": anchors,
            "questions": questions,
            "spread": spread,
            "loaded": "texts by observe_many; vectors by COPY, HNSW after that; VACUUM ANALYZE",
            "peers": versions("chromadb", "langgraph-checkpoint-postgres", "mem0ai"),
        },
    )


def _peers(dsn: str, scratch: Path, held: Corpus) -> list[tuple[str, Callable[[], Search]]]:
    embed = known(held)

    def langgraph() -> Search:
        store = LangGraphStore(dsn, embed)
        copy_langgraph(dsn, held)
        return theirs(store, held)

    def mem0() -> Search:
        store = Mem0Store(dsn, scratch / "mem0", embed)
        copy_mem0(dsn, held)
        return theirs(store, held)

    def chroma(name: str, *, filtered: bool) -> Search:
        store = ChromaStore(scratch / name, embed, filtered=filtered)
        step = min(held.each, 1000)
        for first in range(0, len(held.texts), step):
            places = range(first, min(first + step, len(held.texts)))
            store.write(str(first // held.each), held.messages(places))
        return theirs(store, held)

    return [
        ("raw pgvector, exact", lambda: raw(RawPgvector(dsn, held, indexed=False))),
        ("raw pgvector, HNSW", lambda: raw(RawPgvector(dsn, held, indexed=True))),
        ("LangGraph PostgresStore.search", langgraph),
        ("Mem0 Memory.search, pgvector", mem0),
        ("Chroma query, collection per anchor", lambda: chroma("chroma", filtered=False)),
        ("Chroma query, where", lambda: chroma("filtered", filtered=True)),
    ]


def known(held: Corpus) -> Embed:
    """What a peer is given for an embedder: the vectors of the corpus."""
    rows = dict(zip(held.texts, held.vectors, strict=True))
    rows |= dict(zip(held.questions, held.asked, strict=True))
    return lambda texts: [rows[text].tolist() for text in texts]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.recall")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--anchors", type=int, default=100)
    parser.add_argument("--questions", type=int, default=320)
    parser.add_argument("--no-peers", action="store_true", help="only Idetic")
    parser.add_argument("--spread", choices=SPREADS, default="model", help="how cosines lie")
    told = parser.parse_args()
    sys.exit(
        anyio.run(main, told.entries, told.anchors, told.questions, not told.no_peers, told.spread)
    )
