"""`bench.quality` on a made-up conversation, with the real database and the real model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bench import common
from bench.baselines import BM25
from bench.quality import keep, measure, scored, tell
from bench.rankings import refused, run
from bench.sets import Conversation, Message, Question
from bench.specs import NEW, measured, single
from bench.vectors import CachedEmbedder, Vectors

from idetic import Idetic
from idetic.embed import BgeSmall, EmbeddingModel
from tests.conftest import TestDatabase

pytestmark = pytest.mark.anyio
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
FILLER = "The committee went through the minutes of the last meeting without any remark. "


def said() -> Conversation:
    texts = [
        "We adopted a puppy called Biscuit last weekend.",
        "The garage behind the station is free after six.",
        FILLER * 60 + "Only then did the treasurer mention the broken telescope.",
        "I moved my dentist's appointment to Thursday.",
    ]
    roles = ["user", "assistant", "assistant", "user"]
    messages = tuple(
        Message(text, n // 2 + 1, role, None, MAY + timedelta(days=n // 2))
        for n, (text, role) in enumerate(zip(texts, roles, strict=True))
    )
    questions = (
        Question("What is the name of the puppy?", "single-hop", frozenset({0})),
        Question("Who mentioned the telescope?", "single-hop", frozenset({2})),
        Question("When is my appointment with the dentist?", "temporal", frozenset({3})),
    )
    return Conversation("tiny", messages, questions)


class Counting:
    """The real model, and how many texts it was asked for."""

    def __init__(self, model: BgeSmall):
        self._model = model
        self.profile: EmbeddingModel = model.profile
        self.asked = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """The model's own vectors."""
        self.asked += len(texts)
        return self._model.embed(texts, query=query)


@pytest.fixture
async def opened(
    database: TestDatabase, embedder: BgeSmall, tmp_path: Path
) -> AsyncIterator[Idetic]:
    kept = CachedEmbedder(embedder, tmp_path / "vectors")
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=kept) as db:
        yield db


@pytest.mark.parametrize("name", [NEW, "world_agent", "persona_agent"])
async def test_a_spec_ranks_the_messages_of_a_conversation(opened: Idetic, name: str) -> None:
    spec, conversation = measured()[name], said()
    for version in (spec, single(spec, "semantic"), single(spec, "lexical"), spec):
        (rankings,) = await run(opened, version, [conversation])
        assert [set(ranking) <= {0, 1, 2, 3} for ranking in rankings] == [True] * 3
        assert [len(ranking) for ranking in rankings] == [len(set(r)) for r in rankings]
        # With the words of neighbours, a message may stand behind the one beside it.
        assert 0 in rankings[0][:2]
        assert 3 in rankings[2][:2]
    assert refused(opened, spec, [conversation]) == 0


async def test_the_end_of_a_long_message_is_found(opened: Idetic) -> None:
    (rankings,) = await run(opened, single(measured()[NEW], "lexical"), [said()])
    assert rankings[1][0] == 2


async def test_the_run_reports_every_arm_and_keeps_every_question(
    opened: Idetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "OUT", tmp_path)
    sets = {"locomo": [said()]}
    found = await measure(opened, sets, {NEW: measured()[NEW]})
    told = scored(sets, found)
    keep(sets, found, told)
    means = tell(sets, told, {"unit": "turn"})
    arms = {BM25, "grep: shared words", NEW, f"{NEW}, semantic alone", f"{NEW}, lexical alone"}
    assert set(means["locomo"]) == arms
    assert means["locomo"][NEW]["R@10"] == 100
    written = json.loads((tmp_path / "quality.json").read_text(encoding="utf-8"))
    assert {row["arm"] for row in written["rows"]} == arms
    kinds = {row["category"] for row in written["meta"]["categories"]}
    assert kinds == {"all", "single-hop", "temporal"}
    lines = (tmp_path / "quality_questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["evidence"] for line in lines] == [[0], [2], [3]]
    assert set(json.loads(lines[0])["arms"]) == arms


def test_vectors_are_made_once_and_are_the_models_own(embedder: BgeSmall, tmp_path: Path) -> None:
    texts = ["a garage", "a puppy", "a garage"]
    counting = Counting(embedder)
    first = CachedEmbedder(counting, tmp_path).embed(texts)
    assert counting.asked == 2
    again = CachedEmbedder(counting, tmp_path)
    assert (again.embed(texts) == first).all()
    assert counting.asked == 2
    assert again.profile is embedder.profile
    assert (first[1] == embedder.embed(["a garage", "a puppy"])[1]).all()
    # A question is not the same as a text: another model may tell them apart.
    again.embed(["a puppy"], query=True)
    assert counting.asked == 3
