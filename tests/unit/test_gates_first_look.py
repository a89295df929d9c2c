"""The first look is never sure where the whole gate finds something."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

import pytest
from bench.gates_texts import clean, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from idetic.gates import first_look, redaction
from idetic.gates.credentials import SECRETS
from idetic.gates.personal_data import personal_data
from idetic.gates.redaction import Recogniser, Signed, redact
from tests.unit import gates_corpus as corpus
from tests.unit.test_gates_linear import PIECES, own_pieces

LOOKED_AT = (*SECRETS, *personal_data(("US", "GB", "DE")))
WHOLE: tuple[Recogniser, ...] = tuple(
    one.recogniser if isinstance(one, Signed) else one for one in LOOKED_AT
)
LABELS = ("", "password", "note", "date of birth", "card", "address", "kennung")
SIGNS = {
    name: value
    for name, value in vars(first_look).items()
    if isinstance(value, int) and name[0].isupper() and name != "EVERY_SIGN"
}


@cache
def labelled() -> tuple[str, ...]:
    """Every text that somebody labelled or made up, found or harmless."""
    made = [sample.text for which in ("train", "test") for sample in samples(11, 30, which)]
    harmless = [text for which in ("train", "test") for text in clean(11, 100, which)]
    cases = [case.text for case in (*corpus.SECRETS, *corpus.PII)]
    return (*made, *harmless, *cases, *corpus.BENIGN, *corpus.TAKEN_ALL_THE_SAME)


@cache
def found() -> tuple[tuple[str, Any], ...]:
    """Each of them with what the whole gate makes of it."""
    return tuple((text, redact(text, WHOLE)) for text in labelled())


def test_every_recogniser_of_the_two_gates_is_looked_at() -> None:
    assert all(isinstance(one, Signed) and one.needs in SIGNS.values() for one in LOOKED_AT)
    assert {one.needs for one in LOOKED_AT if isinstance(one, Signed)} == set(SIGNS.values())


def test_it_changes_nothing_of_what_is_found_in_labelled_texts() -> None:
    assert len(found()) > 1_000
    assert [text for text, known in found() if redact(text, LOOKED_AT) != known] == []


@pytest.mark.parametrize("sign", SIGNS)
def test_control_a_look_that_overlooks_a_sign_is_noticed(
    sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = first_look.signs
    monkeypatch.setattr(redaction, "signs", lambda text: seen(text) & ~SIGNS[sign])
    assert any(redact(text, LOOKED_AT) != known for text, known in found())


def test_most_plain_notes_show_no_sign() -> None:
    plain = "The second reviewer was late again, so the release waited for the afternoon."
    assert first_look.signs(plain) == 0
    assert first_look.signs("Überweisungen gehen mittags hinaus.") == first_look.EVERY_SIGN


# --- generated -------------------------------------------------------------------------------


def _patterns(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _patterns(one)


@cache
def expressions() -> tuple[re.Pattern[str], ...]:
    """The expressions of the recognisers, and those that they borrow."""
    found: dict[str, re.Pattern[str]] = {}
    names = [name for name in sys.modules if name.startswith("idetic.gates.")]
    names += [name for name in sys.modules if name.startswith("detect_secrets.plugins.")]
    for name in sorted(names):
        for value in vars(import_module(name)).values():
            held = getattr(value, "denylist", value) if isinstance(value, type) else value
            found |= {one.pattern: one for one in _patterns(held) if isinstance(one.pattern, str)}
    return tuple(found.values())


# Possessive repetitions are unknown to Hypothesis; as plain ones they match the same and more.
_POSSESSIVE = re.compile(r"(?<=[}*+?])\+(?!\])")


@cache
def _texts_of(expression: re.Pattern[str]) -> st.SearchStrategy[str]:
    plain = re.compile(_POSSESSIVE.sub("", expression.pattern), expression.flags)
    return st.from_regex(plain)


WORDS = st.sampled_from(
    [*PIECES, "the ", "is ", ": ", "= ", "password", "Street ", "12 ", "key ", " - ", "\n", ", "]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """What an expression matches, between pieces of what others look for."""
    parts = [
        draw(st.lists(WORDS, max_size=3)),
        [draw(st.sampled_from(expressions()).flatmap(_texts_of))],
        draw(st.lists(WORDS, max_size=3)),
    ]
    return "".join(piece for part in parts for piece in part)[:600]


@settings(max_examples=300, deadline=None)
@given(text=texts(), label=st.sampled_from(LABELS))
def test_it_changes_nothing_of_what_is_found_in_what_expressions_match(
    text: str, label: str
) -> None:
    assert redact(text, LOOKED_AT, label) == redact(text, WHOLE, label)


@settings(max_examples=200, deadline=None)
@given(
    pieces=st.lists(st.sampled_from([*PIECES, *own_pieces(), " ", "\n", "Ab", "7"]), max_size=8),
    label=st.sampled_from(LABELS),
)
def test_nor_in_pieces_put_together(pieces: list[str], label: str) -> None:
    text = "".join(pieces)[:600]
    assert redact(text, LOOKED_AT, label) == redact(text, WHOLE, label)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), label=st.sampled_from(LABELS))
def test_nor_in_labelled_texts_that_somebody_changed(seed: int, label: str) -> None:
    """Characters go, come or change places: what is still found is found after the look."""
    chance = Random(seed)  # noqa: S311 - repeatable, not secret
    text = list(chance.choice(labelled()))
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(text) + 1)
        text[at : at + chance.randrange(2)] = chance.choice(
            ["", " ", "-", ".", "\t", "x", "7", ":"]
        )
    changed = "".join(text)
    assert redact(changed, LOOKED_AT, label) == redact(changed, WHOLE, label)
