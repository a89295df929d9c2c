"""Similarity proposes, words confirm, and only claims contradict."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from idetic.embed import BgeSmall
from idetic.errors import InputError
from idetic.folding import trigram_similarity, trigrams
from idetic.lifecycle import duplicates
from idetic.lifecycle.duplicates import (
    ComparedStatement,
    Sameness,
    compare,
    group,
)
from idetic.model import Claim
from idetic.spec.typology import PromotionPath, PromotionPolicy
from tests.conftest import TestDatabase
from tests.support.near_duplicates import COMPATIBLE, CONFLICTS, POSITIVES, Pair

POLICY = PromotionPolicy(path=PromotionPath.COMPOUNDING)
ONE = (1.0, 0.0)
SAME, DIFFERENT, CONFLICT = Sameness.SAME, Sameness.DIFFERENT, Sameness.CONFLICT


@pytest.fixture(scope="session")
def vectors(embedder: BgeSmall) -> dict[str, Any]:
    """The real model's vector of every text, embedded once."""
    texts = sorted({text for p in (*COMPATIBLE, *POSITIVES) for text in (p.left, p.right)})
    return dict(zip(texts, embedder.embed(texts), strict=True))


def told(pairs: Sequence[Pair], vectors: dict[str, Any]) -> list[tuple[Sameness, str]]:
    """The verdict on each pair, with all that a reader of a failure has to know."""
    found = []
    for pair in pairs:
        result = compare(
            ComparedStatement(pair.left, vector=vectors[pair.left]),
            ComparedStatement(pair.right, vector=vectors[pair.right]),
            POLICY,
        )
        found.append((result.verdict, f"{pair.kind}: {pair.left!r} / {pair.right!r}: {result.why}"))
    return found


def verdict(left: str, right: str) -> Sameness:
    """Of two texts whose vectors could not be nearer."""
    return compare(
        ComparedStatement(left, vector=ONE), ComparedStatement(right, vector=ONE), POLICY
    ).verdict


# --- the pairs ----------------------------------------------------------------------------------


def test_the_pairs_are_spread_evenly() -> None:
    assert Counter(p.kind for p in COMPATIBLE) == dict.fromkeys(
        "numbers negations units entities dates quantifiers conditions comparatives".split(), 25
    )
    assert set(Counter((p.kind, p.domain) for p in COMPATIBLE).values()) == {5}
    assert Counter(p.kind for p in POSITIVES) == {"copies": 40, "paraphrases": 40}
    assert set(Counter(c.domain for c in CONFLICTS).values()) == {12}
    assert len({(p.left, p.right) for p in COMPATIBLE}) == 200
    assert len({(p.left, p.right) for p in POSITIVES}) == 80
    assert len({c.texts for c in CONFLICTS}) == 60


def test_nothing_that_differs_in_a_detail_is_the_same(vectors: dict[str, Any]) -> None:
    wrong = [why for verdict, why in told(COMPATIBLE, vectors) if verdict is not DIFFERENT]
    assert not wrong, "\n".join(wrong)


def test_not_even_if_the_model_saw_no_difference_at_all() -> None:
    wrong = [pair for pair in COMPATIBLE if verdict(pair.left, pair.right) is not DIFFERENT]
    assert not wrong, wrong


def test_control_similarity_alone_would_merge_many_of_them(vectors: dict[str, Any]) -> None:
    near = [p for p in COMPATIBLE if vectors[p.left] @ vectors[p.right] >= POLICY.dedup_similarity]
    assert len(near) > 50


def test_near_copies_are_found(vectors: dict[str, Any]) -> None:
    copies = [pair for pair in POSITIVES if pair.kind == "copies"]
    missed = [why for verdict, why in told(copies, vectors) if verdict is not SAME]
    # "Floor 2" and "2nd floor", "the ward's rota" and "the rota of the ward" stay apart.
    assert len(missed) <= 3, "\n".join(missed)


def test_no_paraphrase_is_a_conflict(vectors: dict[str, Any]) -> None:
    wrong = [why for verdict, why in told(POSITIVES, vectors) if verdict is CONFLICT]
    assert not wrong, "\n".join(wrong)


# --- claims -------------------------------------------------------------------------------------


def test_another_value_under_the_same_key_is_a_conflict() -> None:
    for case in CONFLICTS:
        left, right = (
            ComparedStatement(text, Claim(case.subject, case.attribute, value))
            for text, value in zip(case.texts, case.values, strict=True)
        )
        assert compare(left, right, POLICY).verdict is CONFLICT, case
        assert compare(right, left, POLICY).verdict is CONFLICT, case
        assert group([left, right], POLICY) == [[0], [1]], case


def test_without_claims_the_same_texts_contradict_nothing() -> None:
    for case in CONFLICTS:
        assert verdict(*case.texts) is DIFFERENT, case


HOME = Claim("user", "home city", "Lisbon")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (
            ComparedStatement("I live in Lisbon", HOME),
            ComparedStatement("Lisbon is home", HOME),
            SAME,
        ),
        (
            ComparedStatement("a", HOME),
            ComparedStatement("b", Claim(" USER", "Home\u00a0 City", "\uff2cisbon")),
            SAME,
        ),
        (
            ComparedStatement("a", HOME),
            ComparedStatement("a", Claim("user", "home city", "Porto")),
            CONFLICT,
        ),
        (
            ComparedStatement("a", HOME),
            ComparedStatement("a", Claim("user", "birth place", "Lisbon")),
            DIFFERENT,
        ),
        (
            ComparedStatement("a", HOME),
            ComparedStatement("a", Claim("guest", "home city", "Porto")),
            DIFFERENT,
        ),
        (ComparedStatement("I live here.", HOME), ComparedStatement("i  live here."), SAME),
        (
            ComparedStatement("I live here.", HOME, ONE),
            ComparedStatement("I live here", None, ONE),
            SAME,
        ),
        (
            ComparedStatement("I live here.", HOME, ONE),
            ComparedStatement("I lived here", None, ONE),
            DIFFERENT,
        ),
    ],
)
def test_claims_decide_first(
    left: ComparedStatement, right: ComparedStatement, expected: Sameness
) -> None:
    assert compare(left, right, POLICY).verdict is expected
    assert compare(right, left, POLICY).verdict is expected


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("No, refunds are paid.", "No refunds are paid."),
        ("Only I eat fish in summer", "I eat fish in summer only"),
        ("In summer only I eat fish", "I eat fish in summer only"),
        ("All must not sign", "Not all must sign"),
        ("Tom owes Jane money", "Jane owes Tom money"),
        ("From Lyon to Turin", "From Turin to Lyon"),
        ("The link has 10 Mb", "The link has 10 MB"),
        ("Call us", "Call US"),
        ("Few came", "A few came"),
        ("Dose .5 mg", "Dose 5 mg"),
        ("Version 1.1", "Version 1.10"),
        ("Id 007", "Id 7"),
        ("10.000 EUR", "10,000 EUR"),
        ("The balance is -5", "The balance is 5"),
        ("The balance is -$5", "The balance is $5"),
        ("Values < 5", "Values > 5"),
        ("a = b", "a != b"),
        ("a=b", "a!=b"),
        ("Floors 5 - 8", "Floors 5, 8"),
        ("10⁵ cells", "105 cells"),
        ("A pipe of 5'", 'A pipe of 5"'),
        ("Blood group O-", "Blood group O"),
        ("Blood group A", "Blood group"),
        ("Run with --force", "Run with force"),
        ("Ada signed?", "Ada signed."),
        ("Ada's doctor called", "Ada, doctor, called"),
        ("The truck left", "The trucks left"),
        ("The truck waits", "The truck waited"),
        ("Ship on Friday", "Ship on Friday if dry"),
        ("👍", "👎"),
        ("की है", "का है"),
        ("...", "!!!"),
    ],
)
def test_one_detail_keeps_two_statements_apart(left: str, right: str) -> None:
    assert verdict(left, right) is DIFFERENT
    assert verdict(right, left) is DIFFERENT


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("It's €1,500.50.", "It is 1500.50 EUR"),
        ("Twelve parcels", "a dozen parcels"),
        ("He can't join", "he cannot join!"),
        ("5mg at 6pm", "5 mg at 6 PM"),
        ("Paid on March 3, 2025", "Paid on 3 March 2025"),
        ("Closed Tuesday", "Closed on Tuesday"),
        ("If it rains, we stay", "We stay if it rains"),
        ("98 % of the parcels", "98 percent of parcels"),
        ("The follow-up (second) visit", "The follow up 2nd visit"),
        ("The café closes at four", "the cafe closes, at 4!"),
        ("Two operators check large wires", "Large wires two operators check"),
        ("Ada’s e-mail", "Ada's email"),  # noqa: RUF001 - what a word processor writes
    ],
)
def test_writing_that_carries_no_meaning_is_levelled(left: str, right: str) -> None:
    assert verdict(left, right) is SAME
    assert verdict(right, left) is SAME


def test_the_same_words_need_no_similarity_and_moved_ones_do() -> None:
    said = ComparedStatement("Two dogs", vector=ONE)
    assert compare(said, ComparedStatement("2 dogs", vector=(0.0, 1.0)), POLICY).verdict is SAME
    left, right = "If it rains a dozen dogs stay", "12 dogs stay if it rains"
    said, far = ComparedStatement(left, vector=ONE), ComparedStatement(right, vector=(0.0, 1.0))
    assert compare(said, far, POLICY).verdict is DIFFERENT
    assert compare(said, ComparedStatement(right, vector=ONE), POLICY).verdict is SAME


def test_the_decision_explains_itself() -> None:
    left, right = (
        ComparedStatement("Pay 5 EUR to Ada", vector=ONE),
        ComparedStatement("Pay 6 EUR", vector=ONE),
    )
    result = compare(left, right, POLICY)
    assert (result.similarity, result.trigram) == (1.0, 8 / 19)
    assert "cosine 1.000 (from 0.95)" in result.why
    assert "number 5 | 6; contrast to | (nothing); name ada | (nothing)" in result.why


@pytest.mark.parametrize("vector", [(0.0, 0.0), (float("nan"), 1.0)])
def test_a_broken_vector_proposes_nothing(vector: tuple[float, ...]) -> None:
    left, right = (
        ComparedStatement("If it rains a dozen dogs stay", vector=vector),
        ComparedStatement("12 dogs stay if it rains", vector=vector),
    )
    assert compare(left, right, POLICY).verdict is DIFFERENT


def test_vectors_of_two_models_are_refused() -> None:
    with pytest.raises(InputError, match="2 and 3"):
        compare(
            ComparedStatement("a", vector=ONE),
            ComparedStatement("b", vector=(1.0, 0.0, 0.0)),
            POLICY,
        )


TEXTS = st.one_of(st.sampled_from([p.left for p in POSITIVES]), st.text(max_size=40))
CLAIMS = st.none() | st.builds(Claim, *[st.sampled_from(["a", "A ", "b"])] * 3)
STATEMENTS = st.builds(
    ComparedStatement, TEXTS, CLAIMS, st.none() | st.sampled_from([ONE, (0.6, 0.8)])
)


@settings(deadline=None)
@given(STATEMENTS)
def test_a_statement_is_the_same_as_itself(statement: ComparedStatement) -> None:
    assert compare(statement, statement, POLICY).verdict is SAME


@settings(deadline=None)
@given(STATEMENTS, STATEMENTS)
def test_comparing_is_symmetric(left: ComparedStatement, right: ComparedStatement) -> None:
    one, other = compare(left, right, POLICY), compare(right, left, POLICY)
    assert (one.verdict, one.similarity, one.trigram) == (
        other.verdict,
        other.similarity,
        other.trigram,
    )
    assert one.verdict is not CONFLICT or (left.claim is not None and right.claim is not None)


@settings(deadline=None)
@given(st.sampled_from([p.left for p in POSITIVES]), st.data())
def test_no_word_can_be_exchanged_dropped_or_negated(text: str, data: st.DataObject) -> None:
    words = text.split()
    at = data.draw(st.integers(1, len(words) - 1))
    changed = [*words[:at], data.draw(st.sampled_from(["not", "Zagreb", "43"])), *words[at:]]
    if data.draw(st.booleans()):
        del changed[at + 1]
    assume(changed != words)
    assert verdict(text, " ".join(changed)) is DIFFERENT


# --- groups -------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(STATEMENTS, max_size=12))
def test_groups_are_a_partition_in_order(statements: list[ComparedStatement]) -> None:
    groups = group(statements, POLICY)
    assert sorted(n for members in groups for n in members) == list(range(len(statements)))
    assert groups == sorted(sorted(members) for members in groups)
    for members in groups:
        inside = [statements[n] for n in members]
        pairs = [(a, b) for a in inside for b in inside]
        assert all(compare(a, b, POLICY).verdict is not CONFLICT for a, b in pairs)
        if all(statement.claim is None for statement in inside):
            assert all(compare(inside[0], b, POLICY).verdict is SAME for b in inside)


@settings(deadline=None)
@given(st.lists(STATEMENTS, max_size=8), st.lists(STATEMENTS, max_size=4))
def test_what_comes_later_regroups_nothing_without_a_claim(
    first: list[ComparedStatement], later: list[ComparedStatement]
) -> None:
    later = [ComparedStatement(s.text, None, s.vector) for s in later]
    before = group(first, POLICY)
    kept = [[n for n in g if n < len(first)] for g in group([*first, *later], POLICY)]
    assert [members for members in kept if members] == before


def test_groups_by_claim_by_text_and_by_words() -> None:
    said = [
        ComparedStatement("Home is Lisbon"),
        ComparedStatement("Two dogs", vector=ONE),
        ComparedStatement("I live in Lisbon", HOME),
        ComparedStatement("2 dogs", vector=ONE),
        ComparedStatement("HOME is Lisbon", HOME),
        ComparedStatement("I live in Porto", Claim("user", "home city", "Porto")),
    ]
    assert group(said, POLICY) == [[0, 2, 4], [1, 3], [5]]


def test_a_text_under_two_claims_corroborates_neither() -> None:
    other = Claim("user", "home city", "Porto")
    said = [
        ComparedStatement("I moved", HOME),
        ComparedStatement("I moved"),
        ComparedStatement("I moved", other),
    ]
    assert group(said, POLICY) == [[0], [1], [2]]


def test_a_thousand_statements_are_grouped_in_well_under_a_second() -> None:
    texts = [f"{p.left} Case {n}." for n in range(4) for p in (*COMPATIBLE, *POSITIVES)][:1000]
    rng = np.random.default_rng(7)
    said = [ComparedStatement(text, vector=rng.normal(size=384)) for text in texts]
    start = time.process_time()
    groups = group(said, POLICY)
    assert time.process_time() - start < 1
    assert len(groups) > 900


# --- pg_trgm ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounded", [True, False], ids=["as it is", "control"])
def test_notes_in_other_orders_of_the_same_words_are_compared_with_few(
    monkeypatch: pytest.MonkeyPatch, *, bounded: bool
) -> None:
    """Each with each, 200 notes of 200 words took 8.6 s; somebody may write thousands."""
    words = [f"word{number:02}x" for number in range(60)]
    notes = [" ".join(words[n:] + words[:n][::-1]) for n in range(2, 58)]
    compared, real = 0, duplicates._compare

    def counted(*given: Any) -> duplicates.Comparison:
        nonlocal compared
        compared += 1
        return real(*given)

    monkeypatch.setattr(duplicates, "_compare", counted)
    if not bounded:
        monkeypatch.setattr(duplicates, "MOST_COMPARED", 1_000)
    found = group([ComparedStatement(note) for note in [*notes, notes[-1]]], POLICY)
    assert [len(members) for members in found] == [1] * (len(notes) - 1) + [2]
    assert (compared <= 8 * len(notes)) is bounded


@pytest.mark.parametrize("times", [1, 400])
def test_a_beginning_that_moves_is_found_in_repeated_words(times: int) -> None:
    """One place among many that look alike, without a look from each of them."""
    same = ["ab", "cd"] * times
    found = list(duplicates._cuts([*same, "on", "friday"], ["on", "friday", *same]))
    assert found == [2 * times]
    assert list(duplicates._cuts(same, ["cd", "ab"] * times)) == list(range(1, 2 * times, 2))
    assert list(duplicates._cuts(same, [*same, "ab"])) == []


def test_trigrams_are_those_of_the_real_extension(empty_database: TestDatabase) -> None:
    pairs = [(p.left, p.right) for p in (*COMPATIBLE, *POSITIVES)]
    pairs += [("", ""), ("a", ""), ("?!", "?!"), ("a", "a"), ("snake_case x", "snake case")]
    pairs += [("Straße Ünï", "strasse üni"), ("İstanbul", "istanbul"), ("ΟΔΟΣ", "οδος")]
    pairs += [
        ("x² ½ a", "x2 1/2 a"),
        ("東京 タワー", "東京タワー"),
        ("👍 ok", "ok"),
        ("Ⅷ 二〇二四", "VIII 2024"),
    ]
    with psycopg.connect(empty_database.admin_dsn) as connection:
        connection.execute("CREATE EXTENSION pg_trgm")
        real = connection.execute(
            "SELECT similarity(l, r)::float8 FROM unnest(%s::text[], %s::text[]) AS p(l, r)",
            ([left for left, _ in pairs], [right for _, right in pairs]),
        ).fetchall()
    for (left, right), (expected,) in zip(pairs, real, strict=True):
        ours = trigram_similarity(trigrams(left), trigrams(right))
        assert ours == pytest.approx(expected, abs=1e-6), (left, right)
