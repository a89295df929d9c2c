"""LoCoMo replayed as loops: each session a loop, each turn an event, all through the public API.

`rag_query` is asked which turns answer a question, as in `bench.locomo`; `fuzzy_query` is asked
which sessions do, by their summaries, beside a plain BM25 over the same summaries.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

from bench.common import report
from bench.locomo import FLOORS, LIMIT, Ranking, Scores, scores
from bench.locomo_spec import Conversation, WordIndex, conversations
from bench.place import bench_server
from idetic import Identity, Idetic
from idetic.persona.events import REDACTED, EventDraft, EventKind, Persona
from idetic.persona.identity import default_heuristics
from idetic.persona.persona_memory import PersonaMemory
from idetic.spec.primitives import FuzzyHeuristics

START = datetime(2026, 1, 1, tzinfo=UTC)
FUSED = "fused, weighted score"


async def main(first: int) -> int:
    """Measure and report; not 0 if `rag_query` misses the floors of the recall benchmark."""
    turns: dict[str, list[Scores]] = {"rag_query": [], "BM25 in Python": []}
    sessions: dict[str, list[Scores]] = {}
    removed, asked, seconds = 0, 0, 0.0
    with bench_server() as server:
        async with Idetic.open(home=server.home) as db:
            for conversation in conversations()[:first]:
                memory, places, redacted = await _replay(db, conversation)
                removed += redacted
                start = time.perf_counter()
                found = [await _rag(memory, places, q.text) for q in conversation.questions]
                seconds += time.perf_counter() - start
                asked += len(found)
                words = WordIndex(conversation.turns)
                plain = [words.search(q.text, LIMIT) for q in conversation.questions]
                for name, rankings in (("rag_query", found), ("BM25 in Python", plain)):
                    pairs = zip(rankings, conversation.questions, strict=True)
                    turns[name] += [scores(ranking, q.evidence) for ranking, q in pairs]
                for name, told in (await _sessions(memory, conversation)).items():
                    sessions.setdefault(name, []).extend(told)
                print(
                    f"conversation {conversation.number}: {_mean(turns['rag_query'])}", flush=True
                )
    rows: list[dict[str, Any]] = [
        {"unit": "turns", "arm": name, **_mean(told)} for name, told in turns.items()
    ]
    rows += [{"unit": "sessions", "arm": name, **_mean(told)} for name, told in sessions.items()]
    report("persona_locomo", rows, {
        "questions": asked,
        "ms per rag_query with its embedding": round(1000 * seconds / asked, 2),
        "turns in which the ingest gate removed something": removed,
    })  # fmt: skip
    missed = [
        f"MISSED: rag_query {metric} is {rows[0][metric]}, the floor is {floor}"
        for metric, floor in FLOORS[FUSED].items()
        if rows[0][metric] < floor
    ]
    print("\n".join(missed) or "every floor holds")
    return int(bool(missed))


async def _replay(
    db: Idetic, conversation: Conversation
) -> tuple[PersonaMemory, dict[Any, int], int]:
    """Each session a loop a week after the last; where each event stands in the conversation."""
    identity = Identity(agent_id=f"conversation-{conversation.number}")
    memory = await db.persona(identity, tenant="locomo")
    places: dict[Any, int] = {}
    redacted = 0
    for week, turns in enumerate(conversation.sessions):
        at = START + timedelta(weeks=week)
        async with memory.loop() as loop:
            drafts = [EventDraft(EventKind.USER_INPUT, turn, ts=at) for turn in turns]
            for event in await loop.append_many(drafts):
                places[event.id] = len(places)
                redacted += REDACTED in event.metadata
    return memory, places, redacted


async def _rag(memory: PersonaMemory, places: dict[Any, int], question: str) -> Ranking:
    return [
        places[hit.entry.event_id] for hit in await memory.actor.rag_query(question, limit=LIMIT)
    ]


async def _sessions(memory: PersonaMemory, conversation: Conversation) -> dict[str, list[Scores]]:
    """Which sessions hold the evidence: by likeness of summaries, and by BM25 over them."""
    bounds = [n for n, turns in enumerate(conversation.sessions) for _ in turns]
    wanted = [frozenset(bounds[turn] for turn in q.evidence) for q in conversation.questions]
    window = await memory.actor.window(1_000)
    order = {entry.loop_id: n for n, entry in enumerate(reversed(window))}
    summaries = [entry.summary for entry in reversed(window)]
    every = {"window": len(window), "top_k": 50, "threshold": 0}
    shipped = default_heuristics(Persona.ACTOR).model_copy(update=every)

    async def fuzzy(heuristics: FuzzyHeuristics) -> list[Ranking]:
        return [
            [order[one.entry.loop_id] for one in await memory.actor.fuzzy_query(q.text, heuristics)]
            for q in conversation.questions
        ]

    def bm25(texts: Sequence[str]) -> list[Ranking]:
        search: Callable[[str, int], list[int]] = WordIndex(texts).search
        return [search(q.text, LIMIT) for q in conversation.questions]

    found = {
        # Sessions are a week apart and the half-life is a day, so recency counts for nothing.
        "fuzzy_query, shipped weights": await fuzzy(shipped),
        "BM25 over the same summaries": bm25(summaries),
        "BM25 over whole sessions": bm25([" ".join(turns) for turns in conversation.sessions]),
    }
    return {
        name: [scores(r, evidence) for r, evidence in zip(rankings, wanted, strict=True)]
        for name, rankings in found.items()
    }


def _mean(told: Sequence[Scores]) -> Scores:
    names = ("R@5", "R@10", "nDCG@10", "any@10")
    return {name: round(sum(one[name] for one in told) / len(told), 1) for name in names}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.persona_locomo")
    parser.add_argument("--first", type=int, default=10, help="only so many conversations")
    sys.exit(anyio.run(main, parser.parse_args().first))
