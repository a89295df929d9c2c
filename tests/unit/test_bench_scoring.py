"""The figures of `bench.quality`: metrics, intervals and floors, on rankings made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench.arms import units
from bench.baselines import BASELINES, BM25
from bench.floors import DEFAULT, RRF, alone, below, floors_of, gains, judged
from bench.processes import progress
from bench.quality import Selection
from bench.rankings import OVERLAP, pieces
from bench.scoring import UPDATE, interval, intervals, mean, scores, update_first
from bench.sets import Conversation, Message, Question
from bench.specs import NEW, NEW_RERANKED, measured, single

from idetic.pieces import pieces as embedded_pieces


def asked(*evidence: int, original: int | None = None, updated: int | None = None) -> Question:
    sides = [frozenset() if place is None else frozenset({place}) for place in (original, updated)]
    return Question("?", "any", frozenset(evidence), "", *sides)


def test_the_share_of_the_evidence_among_the_first_is_counted() -> None:
    told = scores([7, 1, 9, 9, 9, 2], asked(1, 2))
    assert (told["R@5"], told["R@10"], told["R@50"]) == (50, 100, 100)
    assert (told["recall_any@5"], told["recall_all@5"]) == (100, 0)
    assert (told["any@10"], told["all@10"]) == (100, 100)
    ideal = 1 + 1 / math.log2(3)
    gain = 1 / math.log2(3) + 1 / math.log2(7)
    assert told["nDCG@10"] == pytest.approx(100 * gain / ideal)


def test_nothing_found_is_worth_nothing() -> None:
    assert set(scores([], asked(1)).values()) == {0}


def test_what_lies_beyond_ten_counts_only_later() -> None:
    told = scores([*range(100, 120), 1], asked(1))
    assert (told["R@10"], told["R@25"], told["nDCG@10"], told["any@10"]) == (0, 100, 0, 0)


@pytest.mark.parametrize(
    ("ranking", "first"),
    [([5, 3], True), ([3, 5], False), ([8, 5], True), ([8, 3], False), ([8], False), ([], False)],
)
def test_an_update_stands_above_its_original(ranking: list[int], first: bool) -> None:
    question = asked(3, 5, original=3, updated=5)
    assert update_first(ranking, question) is first
    assert scores(ranking, question)[UPDATE] == 100 * first


def test_other_questions_have_no_word_on_updates() -> None:
    told = [scores([1], asked(1)), scores([5, 3], asked(3, original=3, updated=5))]
    assert UPDATE not in told[0]
    assert mean(told, ["R@10", UPDATE]) == {"R@10": 100, UPDATE: 100}


def test_intervals_are_repeatable_and_hold_the_mean() -> None:
    values = np.array([0.0, 100.0] * 50)
    low, high = interval(values)
    assert (low, high) == interval(values)
    # Two standard errors of a fair coin thrown a hundred times are ten points.
    assert low == pytest.approx(40, abs=2)
    assert high == pytest.approx(60, abs=2)
    assert interval(np.full(20, 70.0)) == (70, 70)
    assert intervals([{"R@10": 50.0}], ["R@10", "nDCG@10"]) == {"R@10": (50, 50)}


def test_floors_are_judged_by_the_recipe() -> None:
    specs = measured()
    assert floors_of(NEW, specs[NEW]) == DEFAULT
    rrf = specs["world_agent"] | {"retrieval": {"fusion": {"method": "rrf"}}}
    weighted = specs["world_agent"] | {"retrieval": {"fusion": {"method": "weighted_score"}}}
    assert (floors_of("world_agent", rrf), floors_of("world_agent", weighted)) == (RRF, DEFAULT)
    means = {"locomo": {"world_agent": {"R@10": 75.0, "nDCG@10": 54.9}}}
    lines, hold = judged({"world_agent": rrf}, means)
    assert not hold
    assert lines == [
        "holds: world_agent, locomo R@10 is 75, the floor is 75",
        "MISSED: world_agent, locomo nDCG@10 is 54.9, the floor is 55",
    ]


def test_a_spec_below_plain_words_or_its_own_signals_is_named() -> None:
    arms = {
        "s": {"R@10": 50.0, "nDCG@10": 40.0},
        BM25: {"R@10": 50.9, "nDCG@10": 39.0},
        alone("s", "semantic"): {"R@10": 40.0, "nDCG@10": 41.1},
    }
    assert below({"s": {}}, {"beam": arms}) == [
        "BELOW: s, beam nDCG@10 is 40, s, semantic alone has 41.1"
    ]


def test_a_single_signal_is_the_same_agent_with_other_weights() -> None:
    spec = measured()[NEW]
    weights = single(spec, "semantic")["retrieval"]["signals"]
    assert {name for name, weight in weights.items() if weight} == {"semantic"}
    assert single(spec, "semantic")["backend"] == spec["backend"]


def test_each_agent_is_a_unit_and_what_ranks_alike_is_asked_once() -> None:
    brief = [Conversation("c", (Message("x", 1),), (asked(0), asked(0)))]
    long = [Conversation("d", (Message("x" * 5_000, 1),), (asked(0),))]
    made = units({"brief": brief, "long": long}, measured())
    assert [unit.questions for unit in made] == sorted((u.questions for u in made), reverse=True)
    # World and operator agents cut what `spec new` keeps whole.
    assert {
        (unit.set, unit.arms[0].spec["agent"]): [len(arm.names) for arm in unit.arms]
        for unit in made
        if unit.arms[0].spec["agent"] in (NEW, "world_agent", "operator_agent")
    } == {
        ("brief", NEW): [1, 5, 5, 1],
        ("brief", "operator_agent"): [1],
        ("brief", "world_agent"): [1],
        ("long", NEW): [1, 2, 2, 1],
        ("long", "operator_agent"): [1],
        ("long", "world_agent"): [1],
    }


def test_a_run_says_how_far_it_is() -> None:
    assert progress(0, 300, 9.0) == "9 s: 0 of 300 questions"
    assert progress(100, 300, 600.0) == "600 s: 100 of 300 questions, 20 min left"


def test_long_messages_are_cut_and_nothing_of_them_is_lost() -> None:
    text = "".join(f"{number:05}" for number in range(1_000))
    parts = pieces(text, 3_000)
    assert max(map(len, parts)) == 3_000
    assert parts[0] + "".join(part[OVERLAP:] for part in parts[1:]) == text
    assert pieces("short", 3_000) == ["short"]
    assert pieces("x" * 3_000 + " " * 3_000, 3_000) == ["x" * 3_000, "x" * OVERLAP + " " * 2_800]


def test_short_entries_hold_the_pieces_that_a_long_one_has_vectors_of() -> None:
    text = "".join(f"{number:05}" for number in range(1_000))
    assert pieces(text, 1_800) == embedded_pieces(text)
    # A text that the model reads whole, and that this entry has no room for.
    assert [len(part) for part in pieces("x" * 1_900, 1_800)] == [1_800, 300]


def test_a_reranker_has_to_gain_on_one_set_and_to_harm_none() -> None:
    before, after = {"R@10": 50.0, "nDCG@10": 40.0}, {"R@10": 51.5, "nDCG@10": 41.5}
    lines, hold = gains({"locomo": {NEW: [before] * 2, NEW_RERANKED: [after] * 2}})
    assert not hold
    assert lines == [
        "holds: reranker, locomo R@10: +1.5 (+1.5 to +1.5), the floor is +1",
        "MISSED: reranker, locomo nDCG@10: +1.5 (+1.5 to +1.5), the floor is +2",
    ]
    _, hold = gains({"beam": {NEW: [before], NEW_RERANKED: [after]}})
    assert hold
    assert gains({"beam": {NEW: [before]}}) == ([], True)


def test_baselines_find_by_words() -> None:
    texts = ["The garage is behind the station.", "Dogs ride along.", "A station, a garage, a dog."]
    for index in BASELINES.values():
        assert index(texts).search("Where is the garage?", 10) == [0, 2]
        assert index(texts).search("zebra", 10) == []


def test_a_run_can_be_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        Conversation(f"c{n}", (Message("x", 1),), (asked(0), asked(0), asked(0))) for n in range(4)
    ]
    monkeypatch.setattr("bench.quality.SETS", {"locomo": lambda: made})
    found = Selection(["locomo"], [], range(2, 4), 4).read()["locomo"]
    assert [(c.name, len(c.questions)) for c in found] == [("c1", 2), ("c2", 2)]
    assert not Selection(["locomo"], [], None, 4).whole
    assert Selection(["locomo"], []).whole
