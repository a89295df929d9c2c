"""YAML that cannot be read, or would be read wrongly in silence, is refused with its line."""

from __future__ import annotations

import time

import pytest

from idetic.spec.loader import parse, shipped_text
from idetic.spec.plain import MAX_BYTES
from idetic.spec.problems import SpecInvalid, SpecProblem


def problems_of(text: str) -> tuple[SpecProblem, ...]:
    with pytest.raises(SpecInvalid) as raised:
        parse(text)
    return raised.value.problems


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        pytest.param("", 1, "empty", "idetic spec new", id="empty"),
        pytest.param("# only a comment\n", 1, "empty", "idetic spec new", id="comments"),
        pytest.param("- a\n- b\n", 1, "not a mapping", "agent: my_agent", id="list"),
        pytest.param("just text", 1, "not a mapping", "agent: my_agent", id="text"),
        pytest.param("!!set {a, b}", 1, "not a mapping", "agent: my_agent", id="set"),
        pytest.param("agent: a\ntitle: b: c\n", 2, "column 9", "missing colon", id="syntax"),
        pytest.param("agent: [a\n", 2, "not well formed", "bracket", id="open bracket"),
        pytest.param("anchor:\n\tkeys: []\n", 2, "tab", "spaces", id="tab"),
        pytest.param("agent: \x07\n", 1, "does not allow", "control character", id="bell"),
        pytest.param("a: &x [1]\nb: *x\n", 2, "alias", "Write the value out", id="alias"),
        pytest.param("a: &a [*a]\n", 1, "alias", "Write the value out", id="recursive alias"),
        pytest.param("a: 1\n---\nb: 2\n", 2, "another document", "line above", id="two documents"),
        pytest.param("[" * 60_000, 1, "nested", "brackets", id="deep"),
        pytest.param('a: "\\UFFFFFFFF"', None, "out of range", "character itself", id="escape"),
        pytest.param("a: b\n" * MAX_BYTES, None, "larger", "256 KB", id="size"),
    ],
)
def test_unreadable_yaml(text: str, line: int | None, message: str, remedy: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.primitive, problem.path, problem.line) == ("The spec", "", line)
    assert message in problem.message
    assert remedy in problem.remedy or "one above" in problem.remedy


def test_a_billion_laughs_cost_nothing() -> None:
    laughs = "a: &a [x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
    )
    started = time.perf_counter()
    problems_of(laughs)
    assert time.perf_counter() - started < 1


def test_a_key_given_twice_is_refused_and_hides_nothing() -> None:
    text = shipped_text("world_agent").replace(
        "  provenance: [world_model_version]", "  keys: []\n  provenance: [trust]"
    )
    twice, hidden = problems_of(text)
    assert twice.path == "anchor.keys"
    assert "given twice, in lines" in twice.message
    assert twice.remedy == "Keep one of them, delete the other."
    assert hidden.path == "anchor.provenance[0]"


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['true']",
        "!!python/name:os.system ''",
        "!mine x",
        "!!binary aGVsbG8=",
        "!!int abc",
        "!!int ''",
        "!!bool maybe",
        "9" * 5000,
    ],
)
def test_tags_are_refused_where_they_stand(value: str) -> None:
    text = shipped_text("world_agent").replace("title: World Agent", f"title: {value}")
    (problem,) = problems_of(text)
    assert (problem.path, problem.line) == ("title", 3)
    assert "cannot be read as" in problem.message
    assert "plain text" in problem.remedy


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1.0e+999"])
def test_weights_are_finite(value: str) -> None:
    text = shipped_text("world_agent").replace("    decay: 1.0", f"    decay: {value}")
    (problem,) = problems_of(text)
    assert problem.path == "retrieval.signals.decay"
    assert "finite number" in problem.remedy


def test_a_date_is_the_text_that_was_written() -> None:
    text = shipped_text("world_agent").replace("title: World Agent", "title: 2024-13-45")
    assert parse(text).title == "2024-13-45"


def test_a_key_that_is_no_text_is_refused() -> None:
    problems = problems_of(shipped_text("world_agent") + "\n? [a, b]\n: c\n")
    assert "no text as its key" in problems[0].message


def test_a_byte_order_mark_is_no_mistake() -> None:
    assert parse("\ufeff" + shipped_text("world_agent")).agent == "world_agent"
