"""Whatever is done to LangGraph's own in-memory store and to ours, both answer the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from idetic.surfaces.langgraph import IdeticStore
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

LABELS = ("a", "A", "ab", "b", "b/c", "%2F", "ü")
KEYS = ("k", "K", "k1", "k 1", "key/2")


def _namespace(rng: random.Random, least: int = 1) -> tuple[str, ...]:
    return tuple(rng.choices(LABELS, k=rng.randint(least, 3)))


def _value(rng: random.Random) -> dict[str, Any]:
    return {
        "n": rng.randint(0, 5),
        "text": rng.choice(("", "tea", "x" * rng.choice((10, 1_990, 4_100)))),
        "deep": {"list": [rng.random(), None, True]},
    }


def _put(rng: random.Random) -> Op:
    value = None if rng.random() < 0.3 else _value(rng)
    return PutOp(_namespace(rng), rng.choice(KEYS), value)


def _get(rng: random.Random) -> Op:
    return GetOp(_namespace(rng), rng.choice(KEYS))


def _search(rng: random.Random) -> Op:
    asked: dict[str, Any] = rng.choice(
        ({}, {"n": 3}, {"n": {"$gte": 2, "$lt": 5}}, {"n": {"$ne": 1}}, {"text": "tea"})
    )
    # All of them: the order is each store's own.
    return SearchOp(_namespace(rng, least=0), filter=asked, limit=10_000)


def _list(rng: random.Random) -> Op:
    path = tuple(rng.choices((*LABELS, "*"), k=rng.randint(1, 2)))
    condition = MatchCondition(rng.choice(("prefix", "suffix")), path)
    return ListNamespacesOp(
        match_conditions=rng.choice(((condition,), ())),
        max_depth=rng.choice((None, 1, 2)),
        limit=rng.choice((1, 3, 100)),
        offset=rng.choice((0, 1)),
    )


KINDS: tuple[Callable[[random.Random], Op], ...] = (_put, _put, _put, _get, _search, _list)


def comparable(op: Op, result: Any) -> Any:
    if isinstance(op, SearchOp):
        found = [(item.namespace, item.key, repr(item.value)) for item in result]
        return sorted(found)
    if isinstance(op, ListNamespacesOp):
        return result
    return None if result is None else (result.namespace, result.key, result.value)


async def asked(theirs: InMemoryStore, op: Op) -> Any:
    """Their answer, without namespaces that were emptied or only asked for: it lists those too."""
    for namespace in [n for n, items in theirs._data.items() if not items]:
        del theirs._data[namespace]
    return (await theirs.abatch([op]))[0]


@pytest.mark.parametrize("seed", range(4))
async def test_both_stores_answer_alike(frameworks: Frameworks, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a repeatable walk
    ours, theirs = IdeticStore(frameworks.memory()), InMemoryStore()
    for _ in range(40):
        ops = [rng.choice(KINDS)(rng) for _ in range(rng.randint(1, 6))]
        reads = [op for op in ops if not isinstance(op, PutOp)]
        expected = [(await asked(theirs, op)) for op in reads]
        results = await ours.abatch(ops)
        await theirs.abatch([op for op in ops if isinstance(op, PutOp)])
        answers = [r for op, r in zip(ops, results, strict=True) if not isinstance(op, PutOp)]
        for op, wanted, answer in zip(reads, expected, answers, strict=True):
            assert comparable(op, answer) == comparable(op, wanted), op
