"""`bench.quality` on a made-up conversation, with the real database and the real model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bench import common, quality
from bench.arms import arms_of
from bench.baselines import BM25
from bench.floors import alone
from bench.quality import Selection
from bench.rankings import refused, run
from bench.sets import SETS, Conversation, Message, Question
from bench.specs import NEW, NEW_RERANKED, NEW_RRF, SINGLE, measured, selectable, single
from bench.vectors import CachedEmbedder, Vectors

from idetic import Idetic
from idetic.embed import BgeSmall, EmbeddingModel
from tests.conftest import TestDatabase

pytestmark = pytest.mark.anyio
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
FILLER = "The committee went through the minutes of the last meeting without any remark. "

DEEDS = (
    "sold the old boat to a neighbour",
    "painted the garden gate blue in May",
    "was late for the boat to the island",
    "dreams of an old garden by the sea",
)


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


def brief() -> Conversation:
    """Many short messages with words in common; a long one is cut where a spec says."""
    said_of = [f"{who} {what}." for who in ("Ann", "Bob", "Cleo") for what in DEEDS]
    messages = tuple(
        Message(text, n // 4, ("user", "assistant")[n % 2], None, MAY + timedelta(hours=n))
        for n, text in enumerate(said_of)
    )
    asked = ("Who sold the old boat?", "What did Cleo paint in May?", "Where is the blue garden?")
    return Conversation("brief", messages, tuple(Question(q, "any", frozenset({0})) for q in asked))


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


async def test_a_signal_alone_ranks_the_same_for_all_specs_that_share_its_measurement(
    opened: Idetic,
) -> None:
    """What `bench.quality` measures once stands for each of these specs."""
    specs, conversation = selectable(), brief()
    shared = [arm.names for arm in arms_of([conversation], specs) if len(arm.names) > 1]
    assert {name for names in shared for name in names} == {
        alone(name, signal)
        for name in (NEW, NEW_RRF, NEW_RERANKED, "world_agent", "operator_agent", "framework_agent")
        for signal in SINGLE
    }
    for names in shared:
        asked = [name.partition(", ") for name in names]
        found = [
            await run(opened, single(specs[name], signal.removesuffix(" alone")), [conversation])
            for name, _, signal in asked
        ]
        assert all(rankings == found[0] for rankings in found), names


def test_specs_whose_gates_change_a_message_share_no_measurement() -> None:
    told = Message("Write to ada.lovelace@example.com about the boat.", 9)
    written = replace(brief(), messages=(*brief().messages, told))
    shared = {name for arm in arms_of([written], selectable()) for name in arm.names[1:]}
    assert alone("world_agent", "lexical") in shared
    assert alone("framework_agent", "lexical") not in shared


def test_a_limit_draws_the_same_questions_from_the_whole_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = [replace(brief(), name=f"brief-{number}") for number in range(20)]
    monkeypatch.setitem(SETS, "locomo", lambda: every)
    read = Selection(["locomo"], [NEW], limit=10).read()["locomo"]
    assert read == Selection(["locomo"], [NEW], limit=10).read()["locomo"]
    assert sum(len(c.questions) for c in read) == 10
    assert len(read) > 5
    assert Selection(["locomo"], [NEW], limit=100).read()["locomo"] == every
    assert Selection(["locomo"], [NEW], range(2, 4)).read()["locomo"] == every[1:3]


def test_the_run_reports_every_arm_and_keeps_every_question(
    embedder: BgeSmall, model_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    monkeypatch.setattr(common, "OUT", tmp_path)
    monkeypatch.setattr(quality, "CachedEmbedder", lambda: CachedEmbedder(embedder, tmp_path))
    monkeypatch.setitem(SETS, "locomo", lambda: [said()])
    assert quality.main(Selection(["locomo"], [NEW, NEW_RRF], range(1, 2))) == 0
    singles = [alone(NEW, signal) for signal in SINGLE]
    arms = {BM25, "grep: shared words", NEW, NEW_RRF, *singles}
    arms |= {alone(NEW_RRF, signal) for signal in SINGLE}
    written = json.loads((tmp_path / "quality.json").read_text(encoding="utf-8"))
    assert {row["arm"]: row["R@10"] for row in written["rows"]}[NEW] == 100
    assert {row["arm"] for row in written["rows"]} == arms
    once = [f"locomo: {NEW}, {s} alone = {NEW_RRF}, {s} alone" for s in SINGLE]
    assert written["meta"]["one measurement"] == once
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
