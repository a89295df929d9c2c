"""Whatever the text, a gate answers, and a second pass finds nothing that the first has left."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stdnum import luhn

from idetic.gates.gate import Gates, Pipeline
from idetic.gates.person_numbers import has_luhn
from idetic.gates.redaction import PLACEHOLDER, folded
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary, Gate, GateKind
from tests.unit import gates_corpus as corpus

_SPEC = load("world_agent")


def _pipeline(*kinds: GateKind) -> Pipeline:
    gate = Gate(boundary=Boundary.INGEST, apply=kinds, because="A test looks at it.")
    return Gates(_SPEC.model_copy(update={"gates": (gate,)})).at(Boundary.INGEST)


PIPELINES = (
    _pipeline(GateKind.SECRETS, GateKind.PII),
    _pipeline(GateKind.STRIP_IDENTIFIERS),
    _pipeline(GateKind.SECRETS, GateKind.PII, GateKind.STRIP_IDENTIFIERS),
)

CASES = (*corpus.SECRETS, *corpus.PII, *corpus.IDENTIFIERS)
# What gates care about, broken up and put together anew.
PIECES = st.sampled_from(
    [
        *(case.removed for case in CASES),
        *(case.text[:25] for case in CASES),
        *("password = ", "tel: ", "+", "SSN ", "[", "]", " removed]", "[secret removed]", "@"),
        *("\u200b", "\u00ad", "\n", " ", "-", ".", "://", "0", "\uff11", "é", "\U0001f600", "名"),
    ]
)
TEXTS = (
    st.text(max_size=120)
    | st.text(alphabet="0123456789 .-/()+:abcDEF@_#=\u200b", max_size=80)
    | st.lists(PIECES | st.text(max_size=6), max_size=10).map("".join)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
thorough = settings(max_examples=250, deadline=None)


@thorough
@given(TEXTS, st.sampled_from(PIPELINES))
def test_twice_is_once(text: str, pipeline: Pipeline) -> None:
    once = pipeline.apply(text)
    twice = pipeline.apply(once.text)
    assert twice.text == once.text
    assert twice.changes == ()
    assert twice.refused == once.refused


@thorough
@given(TEXTS, st.sampled_from(PIPELINES))
def test_nothing_found_means_nothing_touched(text: str, pipeline: Pipeline) -> None:
    passed = pipeline.apply(text)
    if not passed.changes:
        assert passed.text is text
    else:
        placed = len(PLACEHOLDER.findall(passed.text)) - len(PLACEHOLDER.findall(text))
        assert placed == sum(change.count for change in passed.changes)


@thorough
@given(st.dictionaries(st.text(max_size=8) | st.just("claim"), VALUES, max_size=4))
def test_an_envelope_twice_is_once(envelope: dict[str, Any]) -> None:
    for pipeline in PIPELINES:
        once, changes, refused = pipeline.apply_envelope(envelope)
        assert list(once) == list(envelope)
        if refused is None:
            again, more, _ = pipeline.apply_envelope(once)
            assert more == ()
            assert again is once
        if not changes:
            assert once is envelope


@thorough
@given(TEXTS, st.lists(st.text(max_size=10), max_size=3))
def test_names_twice_are_names_once(text: str, names: list[str]) -> None:
    once = PIPELINES[1].apply(text, names)
    assert PIPELINES[1].apply(once.text, names).text == once.text


@given(
    st.sampled_from([case for case in CASES if case.kind in ("card", "iban", "national_id")]),
    st.lists(st.sampled_from("\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e"), max_size=5),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_what_is_hidden_between_digits_hides_nothing(
    case: corpus.Case, hidden: list[str], data: st.DataObject
) -> None:
    start = case.text.index(case.removed)
    text = case.text
    for character in hidden:
        at = data.draw(st.integers(start + 1, start + len(case.removed) - 1))
        text = text[:at] + character + text[at:]
    assert folded(text).text == folded(case.text).text
    assert [c.kind for c in PIPELINES[0].apply(text).changes] == [case.kind]


@pytest.mark.parametrize(
    "piece",
    [
        "1 ",
        "12 ",
        "4111 ",
        "a@",
        "a.",
        "password: '",
        "://a:",
        "address 1 ",
        "x7Gh2k",
        ":",
        "[",
        "-a1",
    ],
)
def test_a_text_made_to_be_slow_is_not(piece: str) -> None:
    """2,000 characters is what a note may have; the bound is far above what was measured."""
    text = (piece * 2000)[:2000]
    for pipeline in PIPELINES:
        start = time.process_time()
        pipeline.apply(text)
        assert time.process_time() - start < 2


@given(st.text("0123456789", min_size=12, max_size=19))
def test_the_check_digit_by_tables_is_the_library_s(number: str) -> None:
    assert has_luhn(number.encode()) == luhn.is_valid(number)
    right = number[:-1] + luhn.calc_check_digit(number[:-1])
    assert has_luhn(right.encode())
