"""The short-term score equals the document's formula, computed a second time and differently."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal, getcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idetic.persona.compactor import normalised
from idetic.persona.events import EventKind, Persona, StmEntry, Visibility
from idetic.persona.identity import default_heuristics
from idetic.persona.retrieval import rank, score
from idetic.spec.primitives import FuzzyHeuristics
from tests.support.persona_nouns import NOW, stm

getcontext().prec = 40

WORDS = st.sampled_from(
    "fuji height mountain Mount 3776 tall error tool Größe très 山 हिन्दी ok the of a".split()
)
TEXT = st.lists(WORDS, max_size=7).map(" ".join)
BOOST = st.floats(0, 10, allow_nan=False)
WEIGHT = st.floats(0.01, 5)
HEURISTICS = st.builds(
    lambda threshold, top_k, half_life, similarity, recency, kinds, seen: (
        FuzzyHeuristics.model_validate(
            {
                "window": 20,
                "threshold": threshold,
                "top_k": top_k,
                "recency_half_life_seconds": half_life,
                "weights": {"similarity": similarity, "recency": recency},
                "kind_boosts": kinds,
                "visibility_boosts": seen,
            }
        )
    ),
    st.floats(0, 100),
    st.integers(1, 50),
    st.floats(1, 1e7),
    WEIGHT,
    WEIGHT,
    st.dictionaries(st.sampled_from(EventKind), BOOST),
    st.dictionaries(st.sampled_from(Visibility), BOOST),
)
EVENTS = st.lists(
    st.tuples(st.sampled_from(EventKind), st.sampled_from(Visibility)), min_size=1, max_size=8
)
ENTRY = st.builds(
    lambda text, age, events: stm(text, age, [k for k, _ in events], [v for _, v in events]),
    TEXT,
    st.floats(-1e6, 1e7),
    EVENTS,
)


def reference_words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    marked = "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in folded)
    return re.split(r"\s+", marked.strip()) if marked.strip() else []


def reference_ratio(a: str, b: str) -> float:
    """token_set_ratio as its definition has it: from sets and the insertion-deletion distance."""
    left, right = set(reference_words(a)), set(reference_words(b))
    if not left or not right:
        return 0.0
    both = sorted(left & right)
    if both and (left <= right or right <= left):
        return 100.0
    common = " ".join(both)
    ends = [" ".join(sorted(left - right)), " ".join(sorted(right - left))]
    whole = [" ".join(part for part in (common, end) if part) for end in ends]
    found = [_ratio(whole[0], whole[1])]
    if common:
        found += [_ratio(common, whole[0]), _ratio(common, whole[1])]
    return max(found)


def _ratio(a: str, b: str) -> float:
    total = len(a) + len(b)
    return 100.0 * (1.0 - (total - 2 * _common(a, b)) / total) if total else 100.0


def _common(a: str, b: str) -> int:
    """The length of the longest common subsequence, as textbooks compute it."""
    row = [0] * (len(b) + 1)
    for left in a:
        above = row
        row = [0]
        for i, right in enumerate(b):
            row.append(above[i] + 1 if left == right else max(above[i + 1], row[i]))
    return row[-1]


def reference_score(query: str, entry: StmEntry, heuristics: FuzzyHeuristics) -> Decimal | None:
    """The document's formula, in decimals of 40 digits."""
    ratio = Decimal(reference_ratio(query, entry.summary))
    age = max(Decimal(0), Decimal((NOW - entry.ts).total_seconds()))
    half_life = Decimal(heuristics.recency_half_life_seconds)
    recency = Decimal(2) ** (-age / half_life)
    boosts = [
        Decimal(heuristics.kind_boosts.get(kind, 1.0))
        * Decimal(heuristics.visibility_boosts.get(seen, 1.0))
        for kind, seen in zip(entry.kinds, entry.visibilities, strict=True)
    ]
    weighed = Decimal(heuristics.weights.similarity) * ratio / 100
    return (weighed + Decimal(heuristics.weights.recency) * recency) * max(boosts)


@settings(max_examples=400, deadline=None)
@given(TEXT, ENTRY, HEURISTICS)
def test_a_score_is_the_documents_formula(
    query: str, entry: StmEntry, heuristics: FuzzyHeuristics
) -> None:
    ratio = reference_ratio(query, entry.summary)
    found = score(query, entry, heuristics, NOW)
    if abs(ratio - heuristics.threshold) < 1e-9:
        return  # the last digit decides, and both sides of it are right
    assert (found is None) == (ratio < heuristics.threshold)
    if found is not None:
        wanted = reference_score(query, entry, heuristics)
        assert wanted is not None
        assert math.isclose(found.score, float(wanted), rel_tol=1e-9, abs_tol=1e-9)


@settings(max_examples=100, deadline=None)
@given(TEXT, st.lists(ENTRY, max_size=12), HEURISTICS)
def test_the_best_come_first_and_ties_stand_by_time_and_id(
    query: str, entries: list[StmEntry], heuristics: FuzzyHeuristics
) -> None:
    found = rank(query, entries, heuristics, NOW)
    keys = [(-one.score, one.entry.ts, one.entry.loop_id) for one in found]
    assert keys == sorted(keys)
    assert len(found) <= heuristics.top_k
    passed = [e for e in entries if score(query, e, heuristics, NOW) is not None]
    assert len(found) == min(len(passed), heuristics.top_k)
    assert rank(query, list(reversed(entries)), heuristics, NOW) == found


def test_the_threshold_comes_before_recency_and_boosts() -> None:
    strict = default_heuristics(Persona.ACTOR).model_copy(
        update={"threshold": 90.0, "kind_boosts": {EventKind.ERROR: 100.0}}
    )
    fresh = stm("completely different words", kinds=[EventKind.ERROR])
    old = stm("mount fuji height", age=1e7)
    assert [one.entry for one in rank("mount fuji height", [fresh, old], strict, NOW)] == [old]


def test_a_boost_is_the_largest_product_of_one_event() -> None:
    heuristics = default_heuristics(Persona.ACTOR)
    entry = stm(
        "x",
        kinds=[EventKind.ERROR, EventKind.TOOL_CALL],
        visibilities=[Visibility.INTERNAL, Visibility.EXTERNAL],
    )
    found = score("x", entry, heuristics, NOW)
    assert found is not None
    # 1.2 * 0.4 and 0.6 * 1.0; the error's kind and the call's visibility are never mixed.
    assert found.boost == pytest.approx(0.6)


def test_a_loop_without_events_and_an_unlisted_kind_count_one() -> None:
    heuristics = default_heuristics(Persona.ACTOR)
    for entry in (stm("x", kinds=[]), stm("x", kinds=[EventKind.FEEDBACK])):
        found = score("x", entry, heuristics, NOW)
        assert found is not None
        assert found.boost == 1.0


def test_an_age_below_zero_counts_as_none() -> None:
    heuristics = default_heuristics(Persona.ACTOR)
    ahead, now = (
        score("x", stm("x", age=-3600), heuristics, NOW),
        score("x", stm("x"), heuristics, NOW),
    )
    assert ahead is not None
    assert now is not None
    assert ahead.score == now.score == 2.0


def test_ties_stand_by_time_and_then_by_id() -> None:
    flat = default_heuristics(Persona.ACTOR).model_copy(
        update={
            "weights": default_heuristics(Persona.ACTOR).weights.model_copy(update={"recency": 0.0})
        }
    )
    older, first, second = stm("fuji", age=50), stm("fuji"), stm("fuji")
    found = rank("fuji", [second, first, older], flat, NOW)
    assert [one.entry for one in found] == [older, first, second]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Mount FUJI!", "mount   fuji"),
        ("ｆｕｊｉ", "fuji"),  # noqa: RUF001 - full width is the point
        ("tool_call", "tool call"),
        ("STRASSE", "straße"),
        ("हिन्दी।", "हिन्दी"),
    ],
)
def test_width_case_and_punctuation_make_no_difference(a: str, b: str) -> None:
    assert normalised(a) == normalised(b)
    for query, summary in ((a, b), (b, a)):
        found = score(query, stm(summary), default_heuristics(Persona.ACTOR), NOW)
        assert found is not None
        assert found.similarity == 1.0
