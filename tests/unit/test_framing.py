"""A question loses what only says that something is asked, and nothing else."""

from __future__ import annotations

import pytest

from idetic.recall.framing import unframed

FRAMED = [
    ("Can you remind me what the recommended ratio is?", "what the recommended ratio is?"),
    ("I wanted to follow up on our previous chat about dark circles.", "dark circles"),
    ("I was wondering if you could tell me where Ada works?", "tell me where Ada works?"),
    ("Where did I say I met Laura yesterday?", "Where I met Laura yesterday?"),
    ("Could you give me a short summary of how my website has grown?", "my website has grown?"),
    ("How did I do this over our conversations?", "How did I do this?"),
    ("The order in which I brought up different aspects of triangle geometry", "triangle geometry"),
]
PLAIN = [
    "What must she not eat?",
    "When did Caroline go to the support group?",
    "Who told Melanie about the conference last May?",
    "Kannst du mir sagen, wo Ada wohnt?",
    "  Which  musicians does Melanie enjoy? ",
]


@pytest.mark.parametrize(("question", "left"), FRAMED)
def test_the_framing_of_a_question_goes(question: str, left: str) -> None:
    assert unframed(question) == left


@pytest.mark.parametrize("question", PLAIN)
def test_a_plain_question_stands_as_it_is(question: str) -> None:
    assert unframed(question) == question


def test_a_question_of_nothing_but_framing_stands_as_it_is() -> None:
    asked = "Do you remember what I told you?"
    assert unframed(asked) == asked


def test_a_long_text_takes_no_more_than_its_length() -> None:
    assert unframed("I was " * 20_000 + "here?").startswith("I was I was")
