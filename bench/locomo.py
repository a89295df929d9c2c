"""T1, LoCoMo: which turns answer a question, each conversation an anchor of its own.

Everything goes through the public API: `observe_many`, `embed`, `recall`. The arms are versions
of one spec that differ in weights only, so that they read the same rows and the same vectors.
Beside them, in the same run, a plain BM25 in Python and a count of shared words.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

import anyio

from bench.common import OUT, report, table
from bench.locomo_spec import (
    CATEGORIES,
    TUNED_ON,
    Conversation,
    Question,
    WordCount,
    WordIndex,
    arms,
    conversations,
)
from bench.place import bench_server
from idetic import Idetic, Observation, Principal, Tier
from idetic.library.handles import Memory

LIMIT = 50
FLOORS = {
    "lexical": {"R@10": 60.1, "nDCG@10": 46.1},
    "semantic": {"R@10": 54.5},
    "fused, weighted score": {"R@10": 72.0, "nDCG@10": 54.0},
}
# What was found for one question: the places of the turns, best first.
Ranking = list[int]
Scores = dict[str, float]


async def main(only: str | None) -> int:
    """Measure and report; not 0 if a floor does not hold."""
    data = conversations()
    found: dict[str, list[Ranking]] = {}
    times: dict[str, float] = {}
    for name, index in (("BM25 in Python", WordIndex), ("grep: shared words", WordCount)):
        found[name] = _baseline(data, index)
    chosen = {name: spec for name, spec in arms().items() if only is None or only in name}
    with bench_server() as server:
        async with Idetic.open(home=server.home) as db:
            start = time.perf_counter()
            places = await _fill(db, data, next(iter(arms().values())))
            print(f"{len(places):,} turns observed and embedded, {_since(start)}", flush=True)
            for name, spec in chosen.items():
                start = time.perf_counter()
                found[name] = await _ask(db, data, spec, places)
                times[name] = (time.perf_counter() - start) * 1000 / len(found[name])
                print(f"{name}: {len(found[name]):,} questions, {_since(start)}", flush=True)
    return _tell(data, found, times)


def _since(start: float) -> str:
    return f"{time.perf_counter() - start:.0f} s"


def _baseline(data: list[Conversation], index: Callable[[Sequence[str]], Any]) -> list[Ranking]:
    found = []
    for conversation in data:
        words = index(conversation.turns)
        found += [words.search(question.text, LIMIT) for question in conversation.questions]
    return found


async def _fill(db: Idetic, data: list[Conversation], spec: dict[str, Any]) -> dict[UUID, int]:
    """Observe every turn in order and embed it; where each entry stands in its conversation."""
    agent = await db.agent(spec)
    places: dict[UUID, int] = {}
    for conversation in data:
        memory = agent.bind(**_whose(conversation))
        place = 0
        # The sessions stay open: what closing one does to its entries is not measured here.
        for turns in conversation.sessions:
            session = await memory.session().open()
            for receipt in await session.observe_many([Observation(turn) for turn in turns]):
                if receipt.entry_id is not None:
                    places[receipt.entry_id] = place
                place += 1
        await memory.embed()
    return places


def _whose(conversation: Conversation) -> dict[str, Any]:
    name = f"conversation-{conversation.number}"
    return {"conversation_id": name, "principal": Principal.agent("listener")}


async def _ask(
    db: Idetic, data: list[Conversation], spec: dict[str, Any], places: dict[UUID, int]
) -> list[Ranking]:
    agent = await db.agent(spec, apply=True)
    found = []
    for conversation in data:
        memory: Memory = agent.bind(**_whose(conversation))
        for question in conversation.questions:
            hits = await memory.recall(question.text, limit=LIMIT, tiers=[Tier.SESSION])
            found.append([places[hit.entry.id] for hit in hits])
    return found


def scores(ranking: Ranking, evidence: frozenset[int]) -> Scores:
    """The share of the evidence among the first k, binary nDCG@10, any and all at 10."""
    ranks = [rank for rank, place in enumerate(ranking) if place in evidence]
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank < 10)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(evidence))))
    at = {k: sum(rank < k for rank in ranks) for k in (5, 10, 25, 50)}
    told = {f"R@{k}": at[k] / len(evidence) for k in at} | {"nDCG@10": gain / ideal}
    told |= {"any@10": float(at[10] > 0), "all@10": float(at[10] == len(evidence))}
    return {name: 100 * value for name, value in told.items()}


def _tell(
    data: list[Conversation], found: dict[str, list[Ranking]], times: dict[str, float]
) -> int:
    questions = [(c.number, question) for c in data for question in c.questions]
    told = {
        arm: [scores(r, q.evidence) for r, (_, q) in zip(rankings, questions, strict=True)]
        for arm, rankings in found.items()
    }
    _keep(questions, found, told)
    halves: list[tuple[str, Callable[[int, Question], bool]]] = [
        (f"tuned on, 1-{TUNED_ON}", lambda number, _: number <= TUNED_ON),
        (f"held out, {TUNED_ON + 1}-10", lambda number, _: number > TUNED_ON),
        ("all", lambda *_: True),
    ]
    rows: list[dict[str, Any]] = [
        {
            "arm": arm,
            "conversations": half,
            **_mean(s for s, q in zip(per, questions, strict=True) if is_in(*q)),
        }
        for half, is_in in halves
        for arm, per in told.items()
    ]
    kinds = _categories(questions, told)
    report(
        "locomo",
        rows,
        {
            "unit": "turns; percent, mean over questions",
            "questions": len(questions),
            "scope": "each question within its own conversation",
            "ms per question with its embedding": {k: round(v, 2) for k, v in times.items()},
            "categories": kinds,
            "tuned": "the fused arm's shape was chosen on LoCoMo itself, see docs/benchmarks.md",
        },
    )
    print(table(kinds))
    missed = _missed({row["arm"]: row for row in rows if row["conversations"] == "all"})
    missed += _worse_than_single(kinds)
    print("\n".join(missed) or "every floor holds")
    return int(bool(missed))


def _keep(
    questions: list[tuple[int, Question]],
    found: dict[str, list[Ranking]],
    told: dict[str, list[Scores]],
) -> None:
    """One line per question: what every arm found, and what it was worth."""
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / "locomo_questions.jsonl").open("w", encoding="utf-8") as file:
        for at, (number, question) in enumerate(questions):
            line: dict[str, Any] = {
                "conversation": number,
                "question": question.number,
                "category": CATEGORIES[question.category],
                "evidence": sorted(question.evidence),
                "arms": {
                    arm: {"top10": found[arm][at][:10], **_rounded(told[arm][at])} for arm in found
                },
            }
            file.write(json.dumps(line) + "\n")


def _categories(
    questions: list[tuple[int, Question]], told: dict[str, list[Scores]]
) -> list[dict[str, Any]]:
    rows = []
    for number, category in CATEGORIES.items():
        for arm, per in told.items():
            members = [s for s, (_, q) in zip(per, questions, strict=True) if q.category == number]
            means = _mean(members)
            rows.append({"category": category, "questions": len(members), "arm": arm, **means})
    return rows


def _mean(members: Iterable[Scores]) -> Scores:
    sums: dict[str, list[float]] = defaultdict(list)
    for member in members:
        for name, value in member.items():
            sums[name].append(value)
    return _rounded({name: sum(values) / len(values) for name, values in sums.items()})


def _rounded(values: Scores) -> Scores:
    return {name: round(value, 1) for name, value in values.items()}


def _missed(rows: dict[str, dict[str, Any]]) -> list[str]:
    return [
        f"MISSED: {arm} {metric} is {rows[arm][metric]}, the floor is {floor}"
        for arm, floors in FLOORS.items()
        for metric, floor in floors.items()
        if arm in rows and rows[arm][metric] < floor
    ]


def _worse_than_single(kinds: list[dict[str, Any]]) -> list[str]:
    """The fused arm must beat both of its single arms in every category, or the report says so."""
    at = {(row["category"], row["arm"]): row["R@10"] for row in kinds}
    fused = next(iter(FLOORS.keys() - {"lexical", "semantic"}))
    return [
        f"WORSE: {fused} {at[category, fused]} < {arm} {at[category, arm]} on {category}, R@10"
        for category in CATEGORIES.values()
        for arm in ("lexical", "semantic")
        if (category, fused) in at and at.get((category, arm), 0) > at[category, fused]
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.locomo")
    parser.add_argument("--only", help="ask only the arms whose name holds this")
    sys.exit(anyio.run(main, parser.parse_args().only))
