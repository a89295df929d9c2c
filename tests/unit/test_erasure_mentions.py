"""Whether a text names somebody: what makes no difference, and what does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic import Subject, errors
from idetic.lifecycle.erasure import Mentions

WIDE = "".join(chr(ord(c) + 0xFEE0) if c != " " else "\u3000" for c in "Zora Quell")
NAMED = [
    ("Zora Quell", "Ask ZORA QUELL first."),
    ("Zora Quell", "zora\n   quell's figures"),
    ("Zora Quell", "(Zora Quell)"),
    ("Zora Quell", "Zora-Quell, Zora Quell-Smith"),
    ("Zora Quell", WIDE),
    ("Zora Quell", "Zo\u200bra\u00ad Qu\u2060ell"),
    ("ada@example.com", "mail Ada@Example.com."),
    ("ada@example.com", "<ada@example.com>, then"),
    ("acct-1001", "see /users/ACCT-1001/orders"),
    ("Weiß", "Herr WEISS"),
    ("Jose\u0301", "JOSÉ said"),
    ("田中", "田中さんは来た"),
    ("Ada", "Adaさん"),
    ("김철수", "김철수는"),
]
OTHERS = [
    ("Ada", "adamant, Canada, ada_lovelace"),
    ("ada@example.com", "mary.ada@example.com and ada@example.com.au and xada@example.com"),
    ("acct-1001", "acct-10011, acct-1001-7, xacct-1001"),
    ("1001", "10.1001, 2024-1001, 1001.5"),
    ("Zora Quell", "Zora and Quell"),
]


@pytest.mark.parametrize(("name", "text"), NAMED)
def test_case_width_spacing_and_hidden_characters_make_no_difference(name: str, text: str) -> None:
    assert Mentions(Subject(name)).within(text)
    assert Mentions(Subject(name)).within({"tags": ["x", {"deep": text}]}, None, True)


@pytest.mark.parametrize(("name", "text"), OTHERS)
def test_part_of_a_word_or_of_another_address_is_somebody_else(name: str, text: str) -> None:
    assert not Mentions(Subject(name)).within(text)


def test_a_number_in_an_envelope_is_an_identifier_too() -> None:
    assert Mentions(Subject(["10017", "Ada"])).within({"account": 10017})
    assert not Mentions(Subject("10017")).within({"account": 100171, "flag": True})


@pytest.mark.parametrize("given_", ["", "  ", "ab", "\u200b\u200b\u200b", "a\x00b", "x" * 201, 7])
def test_what_names_nobody_is_refused(given_: object) -> None:
    with pytest.raises(errors.IdeticError):
        Mentions(Subject([given_]))  # type: ignore[list-item]


@pytest.mark.parametrize("given_", [[], b"Ada", 7, None, [f"name {n}" for n in range(51)]])
def test_a_subject_is_a_few_texts(given_: object) -> None:
    with pytest.raises(errors.InputError):
        Subject(given_)  # type: ignore[arg-type]


def test_a_subject_that_is_printed_names_nobody() -> None:
    assert "Quell" not in f"{Subject(['Zora Quell'])!r} {Subject('Zora Quell')}"


@given(st.text(min_size=3, max_size=12), st.text(max_size=8), st.text(max_size=8))
def test_the_first_look_in_the_database_misses_nothing(name: str, left: str, right: str) -> None:
    """Whatever is found exactly is not of ASCII alone, or holds one of the runs."""
    try:
        mentions = Mentions(Subject(name))
    except errors.IdeticError:
        return
    for text in (f"{left} {name.upper()} {right}", f"{left}{name}{right}"):
        if mentions.within(text):
            coarse = re.search(r"[^\x01-\x7f]", text) is not None
            assert coarse or any(run in text.lower() for run in mentions.runs)


@pytest.mark.parametrize(
    "text",
    ["ZoraQuell", "zora_quell", "Zora-Quell", "Z\u043era Quell", "Zóra Quell", "Zo\u00adra Quell"],
)
def test_a_name_is_found_however_it_is_written_out(text: str) -> None:
    """Folded as everywhere: without its space, with look-alike letters, accents, soft hyphens."""
    assert Mentions(Subject("Zora Quell")).within(f"Somebody called {text} today.")
    assert not Mentions(Subject("Zora Quell")).within("Zora Quellenberg and Azora Quell.")
