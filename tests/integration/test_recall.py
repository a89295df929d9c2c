"""Recall as a user meets it: signals, filters, explanation, and what it does without."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from idetic import Claim, Idetic, MemorySpec, Origin, Principal, Tier, Typology, errors
from idetic.embed import BgeSmall
from idetic.recall.hits import Recall, as_data, explain
from idetic.spec.loader import load
from idetic.spec.primitives import Signal, SourceStrength
from tests.conftest import TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.fake_embedder import FakeEmbedder

pytestmark = pytest.mark.anyio
SHARED = True

QUESTION = "Was money sent out prior to the sanctions check being finished?"


@pytest.fixture
async def asking(db: Idetic, embedder: BgeSmall) -> AsyncIterator[World]:
    """A world whose Idetic has the real model."""
    opened = view_of(db, embedder=embedder)
    async with opened as here:
        yield await make_world(here, await here.agent("world_agent"))


async def tell(world: World) -> None:
    # Left open: what a session holds goes, or goes up, when it closes.
    session = await world.memory.session().open()
    turn = await session.interaction().open()
    await turn.observe(
        "Friday wires were released before the screening had ended.",
        envelope={"topic": "payments/wire", "tags": ["friday", "screening"]},
        refs=[world.rule],
    )
    await turn.observe(
        "Refunds go back to the card that was charged.", envelope={"topic": "payments/refund"}
    )
    await session.observe("The canteen serves soup on Mondays.")
    await world.operator.prefer("Answer in one sentence.", claim=Claim("answer", "length", "one"))


def bodies(recall: Recall) -> list[str]:
    return [entry.body_text for entry in recall.entries]


async def test_meaning_finds_what_no_word_of_the_question_names(asking: World) -> None:
    await tell(asking)
    done = await asking.memory.embed()
    assert done.embedded == 4
    recall = await asking.memory.recall("What food can one eat at the start of the week?")
    (nearest,) = [h for h in recall.hits if h.signals[Signal.SEMANTIC].rank == 1]
    assert nearest.entry.body_text == "The canteen serves soup on Mondays."
    assert nearest.signals[Signal.LEXICAL].value == 0, "no word of the question is in it"
    assert recall.pending == 0


async def test_every_hit_says_how_it_came_to_be(asking: World) -> None:
    await tell(asking)
    await asking.memory.embed()
    recall = await asking.memory.recall(QUESTION, envelope={"topic": "payments"})
    (best,) = [h for h in recall.hits if h.entry.refs]
    assert best.strength is SourceStrength.CURATED, "resolved from the rule it refers to"
    assert best.score == pytest.approx(sum(s.contribution for s in best.signals.values()))
    text, data = explain(recall), as_data(recall)
    assert str(asking.rule.id) in text
    assert "agent:explorer" in text
    assert data["hits"][0]["signals"]["semantic"]["rank"] >= 1
    assert data["profile_id"] is not None
    assert data["considered"] == 4


async def test_without_a_model_the_other_signals_answer_and_recall_says_so(world: World) -> None:
    await tell(world)
    recall = await world.memory.recall("screening of Friday wires", limit=2)
    assert bodies(recall)[0].startswith("Friday wires")
    assert recall.hits[0].signals[Signal.LEXICAL].rank == 1
    assert recall.profile_id is None
    (missing,) = [n for n in recall.not_used if n.what == "semantic"]
    assert "idetic model install" in missing.remedy
    with pytest.raises(errors.IdeticError, match="idetic model install"):
        await world.memory.embed()


async def test_an_entry_without_a_vector_is_still_found_and_counted(asking: World) -> None:
    await tell(asking)
    await asking.memory.embed()
    session = await asking.memory.session().open()
    await session.observe("A wire to Lisbon was returned by the correspondent.")
    recall = await asking.memory.recall("Lisbon wire returned")
    assert "A wire to Lisbon was returned by the correspondent." in bodies(recall)
    assert recall.pending == 1
    assert any("1 entries have no vector" in n.why for n in recall.not_used)


async def test_the_envelope_matches_exactly_by_overlap_and_by_hierarchy(world: World) -> None:
    await tell(world)

    async def matching(envelope: dict[str, object]) -> set[str]:
        recall = await world.memory.recall("anything at all", envelope=envelope)
        return {
            hit.entry.envelope["topic"] for hit in recall.hits if hit.signals[Signal.ENVELOPE].value
        }

    assert await matching({"topic": "payments"}) == {"payments/wire", "payments/refund"}
    assert await matching({"topic": "payments/wire"}) == {"payments/wire"}
    assert await matching({"topic": "pay"}) == set(), "segments match whole, never as prefixes"
    assert await matching({"tags": ["screening", "other"]}) == {"payments/wire"}
    share = await world.memory.recall("x", envelope={"topic": "payments/wire", "tags": ["none"]})
    values = [h.signals[Signal.ENVELOPE].value for h in share.hits]
    assert max(v for v in values if v) == pytest.approx(2 / 3), "weights 2 and 1"


async def test_filters_narrow_what_is_considered(world: World) -> None:
    await tell(world)
    memory = world.memory

    async def count(**filters: object) -> int:
        return (await memory.recall("wires refunds soup sentence", **filters)).considered  # type: ignore[arg-type]

    assert await count() == 4
    assert await count(tiers=[Tier.PERSISTENT]) == 1
    assert await count(typologies=[Typology.EPISODIC]) == 3
    assert await count(origins=[Origin.OPERATOR]) == 1
    assert await count(min_trust=80) == 1
    (preference,) = await memory.list(tier=Tier.PERSISTENT)
    await world.operator.archive(preference.id, reason="no longer")
    assert await count() == 3
    assert await count(include_archived=True) == 4
    assert await count(as_of=datetime.now(UTC)) == 3
    assert await count(as_of=datetime.now(UTC) - timedelta(days=1)) == 0


async def test_another_tenants_memory_is_never_recalled(asking: World) -> None:
    await tell(asking)
    await asking.memory.embed()
    stranger = asking.agent.bind(
        org_id=asking.domain_id, domain_id=asking.org_id, principal=Principal.agent("stranger")
    )
    recall = await stranger.recall(QUESTION)
    assert (recall.hits, recall.considered) == ((), 0)


async def test_ties_are_stable_and_the_newest_comes_first(world: World) -> None:
    session = await world.memory.session().open()
    for number in range(6):
        await session.observe(f"Same words every time, number {number}.")
    first = await world.memory.recall("same words every time")
    again = await world.memory.recall("same words every time")
    assert first.entries == again.entries
    assert len(first) == 6


@pytest.mark.parametrize(
    "bad",
    [
        {"query": ""},
        {"query": "nul\x00"},
        {"query": "lone \ud800"},
        {"query": "x" * 20_000},
        {"query": 7},
        {"limit": 0},
        {"limit": 10_000},
        {"limit": True},
        {"min_trust": 101},
        {"tiers": ["eternal"]},
        {"origins": 3},
        {"envelope": {"unknown": 1}},
        {"envelope": {"topic": object()}},
        {"envelope": []},
        {"as_of": datetime(2026, 1, 1)},  # noqa: DTZ001 - naive on purpose
    ],
)
async def test_bad_questions_get_a_named_error(world: World, bad: dict[str, object]) -> None:
    with pytest.raises(errors.InputError) as caught:
        await world.memory.recall(**{"query": "fine", **bad})  # type: ignore[arg-type]
    assert caught.value.remedy


@pytest.mark.parametrize("query", ["'; DROP", "a & | ! b", "<->", "🙂🙂", "日本語の文", "%s {} \\"])
async def test_any_text_may_be_asked(world: World, query: str) -> None:
    await tell(world)
    recall = await world.memory.recall(query)
    assert recall.considered == 4


async def test_a_candidate_is_recalled_only_when_asked_for(
    world: World, database: TestDatabase
) -> None:
    await tell(world)
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(
            "UPDATE worlds.world_agent_memory SET candidate = true WHERE body_text LIKE 'Refunds%'"
        )
    plain = await world.memory.recall("refunds to the card")
    asked = await world.memory.recall("refunds to the card", include_candidates=True)
    assert (plain.considered, asked.considered) == (3, 4)
    assert not any(entry.candidate for entry in plain.entries)
    assert [entry.candidate for entry in asked.entries].count(True) == 1


@pytest.mark.alone
async def test_what_is_overdue_ranks_the_other_way(database: TestDatabase) -> None:
    data = load("world_agent").as_data()
    data["typology"]["persistent"].append("episodic")
    data["promotion"]["deviations"] = []
    data["writes"]["deviations"] = [
        {
            "cell": "episodic_persistent",
            "set": {"mode": "automatic"},
            "justification": "This test writes persistent episodes itself.",
        }
    ]
    clock = SettableClock(datetime(2026, 1, 1, tzinfo=UTC))
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock)
    async with opened as db:
        world = await make_world(db, await db.agent(MemorySpec.model_validate(data), apply=True))
        for note in ("Oldest.", "Middle.", "Newest."):
            await world.memory.observe(note)
            clock.moment += timedelta(days=7)
        exempt = await world.memory.observe("Exempt.")
        await world.operator.exempt(exempt.entry_id, reason="a standing fact")  # type: ignore[arg-type]
        await world.operator.prefer("Preferences do not decay.")
        overdue = await world.memory.overdue()
        recall = await world.memory.recall("anything", limit=5, tiers=[Tier.PERSISTENT])
    assert [o.entry.body_text for o in overdue] == ["Oldest.", "Middle.", "Newest."]
    assert [o.pressure for o in overdue] == pytest.approx([0.875, 0.75, 0.5])
    fresh = [body for body in bodies(recall) if body in ("Oldest.", "Middle.", "Newest.")]
    assert fresh == ["Newest.", "Middle.", "Oldest."]


@pytest.mark.alone
@pytest.mark.parametrize("method", ["rrf", "weighted_score"])
async def test_whoever_asks_for_k_gets_k_where_k_exist(database: TestDatabase, method: str) -> None:
    """Even where no vector is near and no word is shared: a far neighbour is still the nearest."""
    data = load("world_agent").as_data()
    data["retrieval"]["fusion"] = {"method": method}
    data["retrieval"]["signals"] = {"semantic": 1.0, "decay": 0.0}
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        world = await make_world(db, await db.agent(MemorySpec.model_validate(data), apply=True))
        async with world.memory.session() as session:
            for number in range(30):
                await session.observe(f"Note {number}.")
            await world.memory.embed()
            recall = await world.memory.recall("zebra", limit=20, tiers=[Tier.SESSION])
    assert len(recall.hits) == 20
    assert max(hit.similarity or 0 for hit in recall.hits) < 0.4, "all are far off"
    ranks = [h.signals[Signal.SEMANTIC].rank for h in recall.hits]
    assert ranks == list(range(1, 21)), "and among those the nearest come first"
