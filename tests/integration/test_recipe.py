"""The recipe of recall, signal by signal, with what `spec new` writes and the real model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import yaml

from idetic import Idetic, Observation, Origin, Principal
from idetic.embed import BgeSmall
from idetic.library.handles import Memory
from idetic.recall.context import assemble
from idetic.recall.hits import Hit, Recall, explain
from idetic.recall.tokens import ConservativeCounter
from idetic.spec.interview import build
from idetic.spec.primitives import Signal
from tests.conftest import TestDatabase

pytestmark = pytest.mark.anyio
FILLER = "The committee went through the minutes of the last meeting without any remark. "


@pytest.fixture
async def memory(database: TestDatabase, embedder: BgeSmall) -> AsyncIterator[Memory]:
    spec = yaml.safe_load(build({"agent": "listener", "anchor.keys": "user_id:text"}))
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opened as db:
        agent = await db.agent(spec)
        yield agent.bind(user_id="ada", principal=Principal.agent("listener"))


async def told(memory: Memory, *seen: Observation) -> None:
    """Write one session, which stays open, and give every entry its vectors."""
    session = await memory.session().open()
    await session.observe_many(list(seen))
    await memory.embed()


def of(recall: Recall, text: str) -> Hit:
    return next(hit for hit in recall if text in hit.entry.body_text)


def value(recall: Recall, text: str, signal: Signal) -> float | None:
    return of(recall, text).signals[signal].value


async def test_a_long_entry_is_one_hit_found_by_its_best_piece(memory: Memory) -> None:
    long = FILLER * 60 + "Only then did the treasurer mention the broken telescope." + FILLER * 40
    await told(memory, Observation(long), Observation("The garage is free after six."))
    recall = await memory.recall("Who spoke of the telescope that was broken?")
    assert len(recall) == 2
    best = recall.hits[0]
    assert best.entry.body_text == long
    assert best.piece == 3, "counted from 0; the pieces before it are nothing but filler"
    spec, counter = memory.agent.spec, ConservativeCounter()
    context = assemble(spec, query="Who?", transient={}, recall=recall, counter=counter)
    assert "telescope" in context.text
    assert "…" in context.text, "what stands around the piece is left out"
    assert context.tokens < 1000


async def test_the_question_names_the_speaker(memory: Memory) -> None:
    await told(
        memory,
        Observation("I would love to see Lisbon.", speaker="Caroline"),
        Observation("I would love to see Lisbon.", speaker="Melanie Brown"),
    )
    recall = await memory.recall("Which city does Melanie want to see?")
    assert recall.hits[0].entry.envelope["speaker"] == "Melanie Brown"
    assert [hit.signals[Signal.SPEAKER].value for hit in recall] == [1.0, 0.0]


async def test_a_date_in_the_question_counts_and_hides_nothing(memory: Memory) -> None:
    await told(
        memory,
        Observation("We went hiking.", valid_at=datetime(2023, 5, 9, tzinfo=UTC)),
        Observation("We went hiking again.", valid_at=datetime(2023, 8, 1, tzinfo=UTC)),
    )
    recall = await memory.recall("Where did we go hiking in August 2023?")
    assert recall.hits[0].entry.body_text == "We went hiking again."
    assert value(recall, "again", Signal.TIME) == 1.0
    assert len(recall) == 2
    assert "Dates in the question: august 2023" in explain(recall)
    without = await memory.recall("Where did we go hiking?")
    assert Signal.TIME not in without.weights
    assert of(without, "again").signals[Signal.TIME].contribution == 0.0


async def test_a_question_states_less_than_an_answer(memory: Memory) -> None:
    await told(
        memory,
        Observation("Did you find the lost keys?"),
        Observation("The lost keys were in the garden."),
    )
    recall = await memory.recall("Where were the lost keys?")
    assert recall.hits[0].entry.body_text == "The lost keys were in the garden."
    asked, stated = (value(recall, text, Signal.STATEMENT) for text in ("Did you", "garden"))
    assert 0 < (asked or 0) < (stated or 0) < 1


async def test_more_words_state_more_up_to_a_bound(memory: Memory) -> None:
    words = "tent rope map lamp knife stove pot cup spoon blanket boots coat hat soap towel radio"
    long = f"For the lake we packed {words}, and {words.replace(' ', 's ')}s for the children."
    await told(memory, Observation("We packed."), Observation(long), Observation("The car is red."))
    recall = await memory.recall("What did we pack for the lake?")
    assert value(recall, "We packed.", Signal.STATEMENT) == pytest.approx(0.2, abs=0.02)
    assert 0.7 < (value(recall, "For the lake", Signal.STATEMENT) or 0) <= 1


async def test_asked_when_an_entry_that_names_a_time_gains(memory: Memory) -> None:
    await told(
        memory,
        Observation("Painted the fence with Jon, which was fun."),
        Observation("Painted the fence with Jon last Tuesday."),
    )
    recall = await memory.recall("When did Jon paint the fence?")
    assert "Tuesday" in recall.hits[0].entry.body_text
    assert value(recall, "Tuesday", Signal.TIME) == 0.5
    assert value(recall, "fun", Signal.TIME) == 0.0
    without = await memory.recall("Who painted the fence?")
    assert Signal.TIME not in without.weights


async def test_whose_words_they_are_counts(memory: Memory) -> None:
    await told(
        memory,
        Observation("Peanuts are a common allergy."),
        Observation("Peanuts are my allergy.", heard_from=Origin.USER),
    )
    recall = await memory.recall("allergy to peanuts")
    assert value(recall, "common", Signal.VOICE) == 0.0
    assert value(recall, "my allergy", Signal.VOICE) == 1.0


async def test_what_is_said_right_after_a_hit_gains_by_it(memory: Memory) -> None:
    """The score is the sum of what the signals add, that of the neighbours included."""
    await told(
        memory,
        Observation("What should we call the new puppy?", heard_from=Origin.USER),
        Observation("Biscuit, of course.", heard_from=Origin.USER),
        Observation("The parcel from Lyon is late.", heard_from=Origin.USER),
        Observation("Trains to the coast run every hour.", heard_from=Origin.USER),
    )
    recall = await memory.recall("What is the name of the puppy?")
    answer = of(recall, "Biscuit")
    assert (answer.signals[Signal.NEARBY].value or 0) > 0
    for hit in recall:
        assert hit.score == pytest.approx(sum(s.contribution for s in hit.signals.values()))


async def test_meaning_is_scaled_by_the_question(memory: Memory) -> None:
    await told(memory, *(Observation(f"Note {n} about {n} apples.") for n in range(9)))
    recall = await memory.recall("Which note is about three apples?")
    values = [hit.signals[Signal.SEMANTIC].value or 0.0 for hit in recall]
    assert max(values) == pytest.approx(1.0)
    assert all(0.0 <= one <= 1.0 for one in values)
    best = recall.hits[0]
    assert best.signals[Signal.SEMANTIC].value == max(values)
    assert best.similarity == max(hit.similarity or 0.0 for hit in recall)
