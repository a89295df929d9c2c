"""Recall with a reranker on top: blended, explained, off by default, and told where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from idetic import Idetic, MemorySpec
from idetic.recall.hits import Hit, Recall, explain
from idetic.recall.rerank import RERANKED, InstalledReranker, Reranker, blend
from idetic.spec.loader import load
from tests.conftest import TestDatabase, make_world

pytestmark = pytest.mark.anyio

QUESTION = "When may a wire be released?"
TEXTS = [
    "A wire may be released after the screening has ended and two people have looked at it.",
    "Released wires are reported on Fridays.",
    "The canteen serves soup on Mondays.",
    "A wire is made of copper, and a wire may be long, or a wire may be short.",
]


class Longest:
    """A reranker that prefers the longest note, which nothing else here does.

    What was said before a note stands in the lines above it.
    """

    def __init__(self) -> None:
        self.read: list[str] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [float(len(text.split("\n")[-1])) for text in texts]


class Broken:
    """A reranker that raises what is no error of ours."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        raise ZeroDivisionError


class Mute:
    """A reranker that gives no scores."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return []


def wanting() -> MemorySpec:
    data = load("world_agent").as_data()
    data["retrieval"]["reranker"] = "cross_encoder"
    return MemorySpec.model_validate(data)


async def recalled(
    database: TestDatabase,
    reranker: Reranker | None,
    *,
    spec: MemorySpec | str = "world_agent",
    texts: Sequence[str] = TEXTS,
    limit: int = 10,
) -> Recall:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, reranker=reranker)
    async with opened as db:
        world = await make_world(db, await db.agent(spec, apply=True))
        session = await world.memory.session().open()
        for text in texts:
            await session.observe(text)
        return await world.memory.recall(QUESTION, limit=limit)


def by_score(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: -hit.score)


async def test_a_given_reranker_is_blended_with_the_fused_score(database: TestDatabase) -> None:
    recall = await recalled(database, Longest(), spec=wanting())
    fused = by_score(recall.hits)
    lengths = [float(len(hit.entry.body_text)) for hit in fused]
    blended = blend([hit.score for hit in fused], lengths)
    assert [hit.reranked for hit in fused] == pytest.approx(blended)
    shown = [hit.reranked or 0.0 for hit in recall.hits]
    assert shown == sorted(blended, reverse=True)
    best = recall.hits[0]
    assert best.score == pytest.approx(sum(s.contribution for s in best.signals.values()))
    assert f"reranked  {best.reranked:.4f}, of the fused score" in explain(recall)
    assert "reranker" not in {told.what: told.why for told in recall.not_used}


async def test_a_short_note_is_read_with_the_one_before_it(database: TestDatabase) -> None:
    long = " ".join(["A wire may be released after it."] * 14)
    reranker = Longest()
    await recalled(database, reranker, spec=wanting(), texts=[TEXTS[0], TEXTS[1], long])
    assert set(reranker.read) == {TEXTS[0], f"{TEXTS[0]}\n{TEXTS[1]}", long}


async def test_the_note_before_is_one_that_the_question_may_find(database: TestDatabase) -> None:
    reranker = Longest()
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, reranker=reranker)
    async with opened as db:
        world = await make_world(db, await db.agent(wanting(), apply=True))
        for text in TEXTS[:2]:
            session = await world.memory.session().open()
            await session.observe(text)
        await world.memory.recall(QUESTION)
    assert set(reranker.read) == set(TEXTS[:2]), "a note of another session is nobody's context"


async def test_no_shipped_spec_asks_for_it(database: TestDatabase) -> None:
    recall = await recalled(database, Longest())
    assert all(hit.reranked is None for hit in recall.hits)
    assert "reranked" not in explain(recall)


async def test_what_lies_behind_the_first_twenty_keeps_its_order(database: TestDatabase) -> None:
    texts = [f"A wire may be released at {hour} hours." + " Soup." * hour for hour in range(25)]
    recall = await recalled(database, Longest(), spec=wanting(), texts=texts, limit=25)
    first, rest = recall.hits[:RERANKED], recall.hits[RERANKED:]
    assert len(rest) == 5
    assert all(hit.reranked is not None for hit in first)
    assert all(hit.reranked is None for hit in rest)
    assert [hit.score for hit in rest] == sorted((hit.score for hit in rest), reverse=True)
    assert min(hit.score for hit in first) >= rest[0].score


async def test_without_the_installed_one_recall_says_what_to_run(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IDETIC_MODEL_DIR", raising=False)
    recall = await recalled(database, None, spec=wanting())
    (told,) = [each for each in recall.not_used if each.what == "reranker"]
    assert "not installed" in told.why
    assert "idetic model install reranker" in told.remedy
    assert list(recall.hits) == by_score(recall.hits)


@pytest.mark.parametrize(("reranker", "why"), [(Broken(), "ZeroDivision"), (Mute(), "one score")])
async def test_a_reranker_that_fails_is_told_and_the_fused_order_stands(
    database: TestDatabase, reranker: Reranker, why: str
) -> None:
    recall = await recalled(database, reranker, spec=wanting())
    (told,) = [each for each in recall.not_used if each.what == "reranker"]
    assert why in told.why
    assert list(recall.hits) == by_score(recall.hits)


async def test_the_installed_one_is_used_by_the_spec_alone(
    database: TestDatabase, reranker_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(reranker_path.parent))
    recall = await recalled(database, None, spec=wanting())
    assert "reranker" not in {told.what: told.why for told in recall.not_used}
    assert all(hit.reranked is not None for hit in recall.hits)
    scores = InstalledReranker().rerank(QUESTION, TEXTS)
    assert scores.index(max(scores)) == 0, "the one that answers the question"
