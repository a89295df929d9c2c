"""Relevance in small memories: what people complain about, with the real model and without one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from idetic import Idetic, MemorySpec, Observation, Principal
from idetic.embed.bge import BgeSmall
from idetic.library.answers import DONT_KNOW
from idetic.library.handles import Memory
from idetic.recall.context import Eviction
from idetic.recall.floors import GROWN, FloorOverride
from idetic.recall.hits import AppliedFloors, explain
from idetic.recall.relevance import HIT_FLOOR, QUESTION_FLOOR
from idetic.spec.loader import load
from tests.conftest import TestDatabase

pytestmark = pytest.mark.anyio

ALLERGY = "I'm allergic to peanuts."
BANK = [
    "The cut-off for wires is 17:00.",
    "The customer's review is due in May.",
    "Interest on savings is 2.1 percent.",
    "The customer prefers statements on paper.",
    "The account was opened three years ago.",
]
OFF: dict[str, float] = {}
FLOORS = {"question": QUESTION_FLOOR, "hit": HIT_FLOOR}


@pytest.fixture
async def db(database: TestDatabase, embedder: BgeSmall) -> AsyncIterator[Idetic]:
    """A database with the real model."""
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder) as db:
        yield db


async def told(
    db: Idetic, texts: Sequence[str], floors: Mapping[str, float], kind: str = "agent"
) -> Memory:
    """A fresh memory that was told these texts, of an agent with these floors."""
    data: dict[str, Any] = load("framework_agent").as_data()
    data["retrieval"]["floors"] = dict(floors)
    agent = await db.agent(MemorySpec.model_validate(data), apply=True)
    writing = agent.bind(principal=Principal.agent("chat"), tenant_id="acme", space="ada")
    await writing.prefer_many([Observation(text) for text in texts])
    await writing.embed()
    asking = getattr(Principal, kind)("chat")
    memory: Memory = agent.bind(principal=asking, tenant_id="acme", space="ada")
    return memory


async def test_an_allergy_answers_what_somebody_can_eat(db: Idetic) -> None:
    memory = await told(db, [ALLERGY], FLOORS)
    made = await memory.context("what can she eat?")
    assert (made.unknown, len(made.included)) == (None, 1)
    assert ALLERGY in made.text


async def test_greetings_are_less_relevant_than_the_allergy(db: Idetic) -> None:
    memory = await told(db, ["hello", ALLERGY, "thanks!"], FLOORS)
    found = await memory.recall("what can she eat?")
    by_text = {hit.entry.body_text: hit.relevance or 0.0 for hit in found}
    assert max(by_text, key=lambda text: by_text[text]) == ALLERGY
    made = await memory.context("what can she eat?")
    assert ALLERGY in made.text
    assert {each.reason for each in made.evicted} <= {Eviction.BELOW_FLOOR}


async def test_a_recipe_does_not_fill_the_prompt_with_the_bank(db: Idetic) -> None:
    memory = await told(db, BANK, FLOORS)
    made = await memory.context("best pizza recipe")
    assert made.text.startswith("I don't know: memory holds nothing about this question.")
    assert made.included == ()
    assert {each.reason for each in made.evicted} == {Eviction.BELOW_FLOOR}
    assert (await memory.context("What is the cut-off for wires?")).unknown is None


async def test_without_floors_the_same_recipe_gets_the_bank(db: Idetic) -> None:
    """The control: floors are off where a spec does not set them, and nothing changes."""
    memory = await told(db, BANK, OFF)
    made = await memory.context("best pizza recipe")
    assert (made.unknown, len(made.included), made.evicted) == (None, len(BANK), ())


async def test_floors_of_the_process_hold_whatever_the_spec_says(
    database: TestDatabase, embedder: BgeSmall
) -> None:
    """The spec has none, and the process says that it does not know; and the other way round."""
    admin, by_process = database.admin_dsn, FloorOverride(**FLOORS)
    opened = Idetic.open(database.dsn, admin_dsn=admin, embedder=embedder, floors=by_process)
    async with opened as db:
        memory = await told(db, BANK, OFF)
        assert (await memory.context("best pizza recipe")).unknown is not None
        assert (await memory.recall("best pizza recipe")).floors == AppliedFloors(**FLOORS)
    none = FloorOverride(question=0, hit=0)
    async with Idetic.open(database.dsn, admin_dsn=admin, embedder=embedder, floors=none) as db:
        memory = await told(db, BANK, FLOORS)
        assert (await memory.context("best pizza recipe")).unknown is None


async def test_recall_shows_everything_with_both_values(db: Idetic) -> None:
    memory = await told(db, BANK, FLOORS)
    found = await memory.recall("best pizza recipe")
    assert len(found) == len(BANK)
    assert found.known is not None
    assert found.known < QUESTION_FLOOR
    assert all(hit.relevance is not None for hit in found)
    assert "never heard: best, pizza, recip" in explain(found)
    asked = await memory.recall("When is the cut-off for wires?")
    assert asked.known is not None
    assert asked.known > 0.5 > found.known
    assert asked.hits[0].relevance == max(hit.relevance or 0.0 for hit in asked)


async def test_a_context_leaves_out_what_does_not_help_and_says_so(db: Idetic) -> None:
    asked = "When is the cut-off for wires?"
    # The floor of hits counts from so many entries on.
    texts = [*BANK, *(f"Branch {number} has a new carpet." for number in range(GROWN))]
    memory = await told(db, texts, OFF)
    found = await memory.recall(asked)
    values = sorted((hit.relevance or 0.0 for hit in found), reverse=True)
    assert BANK[0] in (await memory.context(asked)).text
    strict = await told(db, [], {"hit": (values[0] + values[1]) / 2})
    made = await strict.context(asked)
    assert [each.tier for each in made.included] == ["persistent"]
    assert BANK[0] in made.text
    assert "carpet" not in made.text
    assert {each.reason for each in made.evicted} == {Eviction.BELOW_FLOOR}


async def test_whoever_asks_hears_that_memory_does_not_know(db: Idetic) -> None:
    # The words "account" and "customer" are met, which is enough for an answer without a floor.
    question = "Which pizza would the customer order on account of the football final?"
    loose = await told(db, BANK, OFF, "operator")
    assert (await loose.ask(question)).known
    strict = await told(db, [], {"question": 0.9}, "operator")
    assert (await strict.ask(question)).text == DONT_KNOW
    assert (await strict.ask("When is the cut-off for wires?")).known


async def test_without_a_model_words_decide(database: TestDatabase) -> None:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        data = load("framework_agent").as_data()
        data["retrieval"]["floors"] = FLOORS
        agent = await db.agent(MemorySpec.model_validate(data), apply=True)
        memory = agent.bind(principal=Principal.agent("chat"), tenant_id="acme", space="ada")
        await memory.prefer_many([Observation(text) for text in BANK])
        foreign = await memory.recall("best pizza recipe")
        own = await memory.recall("When is the cut-off for wires?")
        assert own.grounds is not None
        assert own.grounds.nearest is None
        assert foreign.known is not None
        assert own.known is not None
        assert own.known > 0.5 > QUESTION_FLOOR > foreign.known
        assert "I don't know" in (await memory.context("best pizza recipe")).text


async def test_an_empty_memory_knows_nothing(db: Idetic) -> None:
    found = await (await told(db, [], OFF)).recall("anything")
    assert (found.known, found.hits) == (0.0, ())
