"""The default counter errs on the side of too many, and behaves."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idetic.recall.tokens import ConservativeCounter, TokenCounter

COUNTER = ConservativeCounter()
count = COUNTER.count

HEADER = (
    '[a8c22ceb persistent/semantic; agent, trust 60; by "explorer"; 2026-03-01 12:00Z; '
    "rule d91956e1 v2]"
)
CODE = """def assemble(spec, *, query: str) -> Context:
    return Context(text="", tokens=0)
"""
# What the costliest of cl100k, o200k, p50k, Qwen, Tekken, Claude 2 and Mistral 32k counts.
MEASURED = [
    (12, "The quick brown fox jumps over the lazy dog."),
    (17, "Operators override the wire rule on Fridays when the desk is short of people."),
    (56, HEADER),
    (4, "corroborates"),
    (4, "Unemployment"),
    (5, "tularemia"),
    (6, "xqzjvkw"),
    (21, "2026-03-01T12:00:00Z"),
    (17, "3.14159265358979"),
    (37, "018f2c5e-7b1a-7c3d-9e4f-a1b2c3d4e5f6"),
    (22, "https://example.com/payments/wire?id=48213&page=2"),
    (27, CODE),
    (18, "Le automobili a guida autonoma spostano la responsabilità"),
    (22, "Jakarta adalah kota besar yang nyaris tidak pernah tidur."),
    (18, "Wie deutsche Startups die Technologie vorantreiben wollen"),
    (17, "Quid faciat laetas segetes, quo sidere terram"),
    (17, "東京は日本の首都です。"),
    (21, "人工智能正在改变世界"),
    (37, "안녕하세요, 만나서 반갑습니다"),
    (18, "Привет, как дела?"),
    (12, "مرحبا بالعالم"),
    (11, "שלום עולם"),
    (23, "नमस्ते दुनिया"),
    (24, "สวัสดีชาวโลก"),
    (30, "🎉👩\u200d👩\u200d👧🏽🇩🇪"),
    (16, "\ufdfa \ufb01"),
    (25, "a" * 50),
    (11, "ZWSP\u200b\u202e\U000e0041"),
    (7, " \n\t\r\n    x"),
    (17, "JSON_API_KEY=sk-Zq81LmXv0"),
    (16, "ndrewhatsawesomemgladtheybringsomuchjoy"),
    (20, "I'M STAYING MOTIVATED AND BELIEVING IN MYSELF"),
    (12, "\"(well…)\" — he said; 'no'!"),
]

TEXT = st.text(st.characters(), max_size=80) | st.text("abcdeXYZ 01.,\n\t漢🎉é", max_size=80)


@pytest.mark.parametrize(("tokens", "text"), MEASURED)
def test_no_measured_text_is_counted_too_low(tokens: int, text: str) -> None:
    assert count(text) >= tokens


def test_english_prose_is_not_counted_far_too_high() -> None:
    """Mistral 32k, the costliest, counts 91 and cl100k 89."""
    prose = (
        "I've been thinking about starting my own business for a while now, and last week I "
        "finally talked to my brother about it. He said that the first year is always hard, but "
        "it gets better if you keep going. We went through the numbers together and I think it "
        "could work. I'm going to look for a small place near the station next month, and maybe "
        "find someone who can help me with the website and the first customers."
    )
    assert 91 <= count(prose) <= 91 * 1.3


def test_nothing_costs_nothing() -> None:
    assert count("") == 0


def test_it_is_a_token_counter() -> None:
    counter: TokenCounter = COUNTER
    assert counter.name == "conservative"


@given(TEXT, TEXT)
@example("administratio", "n")
@example("a ", "b")
@example("a", "  b")
@example("\ud83c", "\udf89")
def test_appending_never_lowers_the_count(text: str, more: str) -> None:
    assert count(text) <= count(text + more)


@given(st.lists(TEXT.map(lambda text: text + "\n"), max_size=6))
def test_lines_cost_no_more_together_than_apart(lines: list[str]) -> None:
    assert count("".join(lines)) <= sum(map(count, lines))


@given(TEXT, TEXT)
@example("xq", "international")
def test_a_cut_within_a_word_saves_little(text: str, more: str) -> None:
    assert count(text + more) <= count(text) + count(more) + 12


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
def test_other_scripts_cost_their_bytes_at_least(text: str) -> None:
    foreign = "".join(character for character in text if not character.isascii())
    assert count(foreign) >= len(foreign.encode())


@given(st.text("0123456789", min_size=1))
def test_digits_cost_one_each(digits: str) -> None:
    assert count(digits) >= len(digits)


@given(TEXT)
def test_it_is_deterministic(text: str) -> None:
    assert count(text) == ConservativeCounter().count(text)
