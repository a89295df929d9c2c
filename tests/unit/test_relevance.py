"""Relevance: what speaks for it raises it, what speaks against it lowers it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from idetic.model import Entry, Origin, Tier, Typology
from idetic.recall.floors import (
    GROWN,
    NOTHING_FOUND,
    NOTHING_KNOWN,
    NOTHING_RELEVANT,
    above_floors,
)
from idetic.recall.hits import AppliedFloors, Recall, as_data, explain
from idetic.recall.relevance import (
    HIT_FLOOR,
    QUESTION_FLOOR,
    Sense,
    judged,
    known,
    relevance,
    sense_of,
)
from idetic.spec.loader import load, shipped
from idetic.spec.primitives import Floors, FusionMethod, Signal
from idetic.store.recall_grounds import HitGrounds, QuestionGrounds, SignalScore
from idetic.store.recall_query import Hit

AT = datetime(2026, 5, 1, tzinfo=UTC)
WORDS = ("kayak", "lisbon", "tram")
# A question in a memory that has said two of its three words, together, and is near it.
OWN = QuestionGrounds(100, 0.74, {"kayak": 4.0, "lisbon": 3.0}, WORDS, ("lisbon",), 7.0)
FOREIGN = QuestionGrounds(100, 0.48, {}, WORDS, ("lisbon",), 0.0)


def above(floors: AppliedFloors, found: Recall) -> tuple[Recall | None, str | None]:
    return above_floors(replace(found, floors=floors))


def hit(
    similarity: float | None = 0.74,
    grounds: HitGrounds = HitGrounds(7.0, 1.0, 9),  # noqa: B008 - frozen
    meaning: float = 1.0,
) -> Hit:
    entry = Entry(
        id=UUID(int=1),
        anchor={},
        tier=Tier.PERSISTENT,
        typology=Typology.EPISODIC,
        body_text="A kayak in Lisbon.",
        envelope={},
        origin=Origin.USER,
        trust=60,
        created_at=AT,
        created_by="ada",
        spec_version=1,
        valid_at=AT,
    )
    signals = {Signal.SEMANTIC: SignalScore(1, meaning, meaning)}
    return Hit(entry, 1.0, signals, similarity=similarity, grounds=grounds)


def value(grounds: QuestionGrounds) -> float:
    found = known(grounds)
    assert found is not None
    return found


def worth(one: Hit, grounds: QuestionGrounds = OWN) -> float:
    found = relevance(one, grounds)
    assert found is not None
    return found


def recall(*hits: Hit, chance: float | None = 0.9) -> Recall:
    return Recall("kayak?", hits, FusionMethod.RRF, {}, 99, 9, AT, known=chance, grounds=OWN)


def test_a_question_of_its_own_is_known_and_a_foreign_one_is_not() -> None:
    assert value(OWN) > 0.9
    assert value(FOREIGN) < QUESTION_FLOOR


@pytest.mark.parametrize(
    "changed",
    [
        {"nearest": 0.6},
        {"covered": 3.0},
        {"named": ("tram",)},
        {"entries": 10_000},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_speaks_against_a_question_lowers_its_value(changed: dict[str, object]) -> None:
    assert value(replace(OWN, **changed)) < value(OWN)  # type: ignore[arg-type]


def test_a_question_of_one_word_is_not_refused_for_that_word() -> None:
    """One unmet word says less than three: people ask "what can she eat?" about an allergy."""
    short = QuestionGrounds(1, 0.46, {}, ("eat",))
    long = QuestionGrounds(1, 0.46, {}, ("best", "pizza", "recip"))
    assert value(short) > value(long)


def test_an_empty_memory_knows_nothing() -> None:
    assert known(QuestionGrounds(0, None, {}, WORDS)) == 0.0
    assert known(QuestionGrounds(0)) == 0.0


def test_without_vectors_words_decide_and_without_words_vectors() -> None:
    assert sense_of(OWN) is Sense.BOTH
    spoken = replace(OWN, nearest=None)
    assert sense_of(spoken) is Sense.WORDS
    assert value(spoken) > 0.5 > value(replace(FOREIGN, nearest=None))
    meant = replace(OWN, rarity=None)
    assert sense_of(meant) is Sense.MEANING
    assert value(meant) > 0.5 > value(replace(FOREIGN, rarity=None))


def test_without_either_nothing_is_claimed() -> None:
    mute = QuestionGrounds(100)
    assert known(mute) is None
    assert judged([hit()], mute)[0].relevance is None


def test_an_entry_that_waits_for_its_vector_is_judged_by_its_words() -> None:
    waiting = hit(similarity=None)
    assert sense_of(OWN, waiting) is Sense.WORDS
    assert worth(waiting) > worth(replace(waiting, grounds=HitGrounds(0.0, 0.0, 9)))


def test_the_best_hit_is_worth_most() -> None:
    best = worth(hit())
    assert best > worth(hit(similarity=0.6, meaning=0.3))
    assert best > worth(hit(grounds=HitGrounds(0.0, 0.0, 9)))
    assert best > worth(hit(grounds=HitGrounds(7.0, 1.0, 1)))
    assert best > worth(hit(), FOREIGN)


def test_what_stands_beside_a_strong_hit_is_worth_more() -> None:
    weak = hit(similarity=0.55, grounds=HitGrounds(0.0, 0.0, 9), meaning=0.2)
    beside, apart = (
        [replace(one, entry=replace(one.entry, id=UUID(int=n), session_id=UUID(int=10 + session)))]
        for one, n, session in ((weak, 2, 0), (weak, 3, 1))
    )
    strong = replace(hit(), entry=replace(hit().entry, session_id=UUID(int=10)))
    values = [one.relevance or 0.0 for one in judged([strong, *beside, *apart], OWN)]
    assert values[0] > values[1] > values[2]


def test_a_hit_that_names_a_time_is_worth_more_where_one_is_asked_of() -> None:
    plain = hit()
    timed = replace(plain, entry=replace(plain.entry, body_text="A kayak in Lisbon, last week."))
    fits = {**plain.signals, Signal.TIME: SignalScore(1, 0.5, 0.5)}
    asked = [replace(plain, entry=replace(plain.entry, id=UUID(int=9)), signals=fits)]
    values = [one.relevance or 0.0 for one in judged([plain, timed], OWN)]
    dated = [one.relevance or 0.0 for one in judged([plain, timed, *asked], OWN)]
    assert values[1] > values[0] > dated[0]
    assert dated[1] / dated[0] > values[1] / values[0]


def test_a_value_lies_between_nothing_and_certainty() -> None:
    for grounds in (OWN, FOREIGN, replace(OWN, nearest=1.0), replace(OWN, entries=10**9)):
        assert 0 < value(grounds) < 1
        assert 0 < worth(hit(), grounds) < 1
    assert 0 < HIT_FLOOR < QUESTION_FLOOR < 1


def test_no_floor_changes_nothing() -> None:
    unsure = recall(replace(hit(), relevance=0.0), chance=0.0)
    assert above(AppliedFloors(), unsure) == (unsure, None)


def test_below_the_floor_of_questions_nothing_is_told() -> None:
    left, why = above(AppliedFloors(question=0.5), recall(hit(), chance=0.4))
    assert left is not None
    assert (left.hits, why) == ((), NOTHING_KNOWN)


def test_below_the_floor_of_hits_a_hit_is_left_out() -> None:
    kept, dropped = replace(hit(), relevance=0.5), replace(hit(), relevance=0.1)
    left, why = above(AppliedFloors(hit=0.2), recall(kept, dropped))
    assert left is not None
    assert (left.hits, why) == ((kept,), None)
    assert above(AppliedFloors(hit=0.2), recall(dropped))[1] == NOTHING_RELEVANT
    assert above(AppliedFloors(hit=0.2), recall())[1] == NOTHING_FOUND


def test_what_memory_knows_keeps_its_best_hit() -> None:
    best, rest = replace(hit(), relevance=0.1), replace(hit(), relevance=0.05)
    left, why = above(AppliedFloors(question=0.5, hit=0.2), recall(rest, best))
    assert left is not None
    assert (left.hits, why) == ((best,), None)


def test_the_floor_of_questions_grows_with_a_memory() -> None:
    unsure = replace(recall(hit(), chance=0.2), considered=GROWN)
    assert above(AppliedFloors(question=0.5), unsure)[1] == NOTHING_KNOWN
    assert above(AppliedFloors(question=0.5), replace(unsure, considered=GROWN // 4))[1] is None


def test_what_could_not_be_judged_is_below_no_floor() -> None:
    unjudged = replace(recall(hit(), chance=None), floors=AppliedFloors(question=0.5, hit=0.5))
    assert above_floors(unjudged) == (unjudged, None)


def test_explain_says_both_values_and_why() -> None:
    told = explain(recall(replace(hit(), relevance=0.25)))
    assert "Known: 0.90 (best cosine 0.74" in told
    assert "never heard: tram" in told
    assert "relevance 0.250" in told
    data = as_data(recall(replace(hit(), relevance=0.25)))
    assert (data["known"], data["hits"][0]["relevance"]) == (0.9, 0.25)


def test_the_assistant_has_lower_floors_than_were_chosen_and_no_other_agent_has_any() -> None:
    floors = {name: load(name).retrieval.floors for name in shipped()}
    assert {name for name, floor in floors.items() if floor != Floors()} == {"assistant_agent"}
    assert 0 < floors["assistant_agent"].question < QUESTION_FLOOR
    assert 0 < floors["assistant_agent"].hit < HIT_FLOOR
