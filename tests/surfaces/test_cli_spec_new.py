"""`idetic spec new`: the interview at the terminal, and its answers given in advance."""

from __future__ import annotations

from pathlib import Path

from idetic.spec.interview import questions
from idetic.spec.loader import load
from idetic.spec.problems import PRIMITIVES
from tests.surfaces.cli_runner import called, process

LEAST = ("--set", "agent=tutor", "--set", "anchor.keys=school_id:uuid")


def test_new_from_options_writes_a_valid_file_once(tmp_path: Path) -> None:
    out = tmp_path / "tutor.yaml"
    ran = called("spec", "new", *LEAST, "--out", str(out))
    assert ran.code == 0
    assert load(out).agent == "tutor"
    again = called("spec", "new", *LEAST, "--out", str(out))
    assert again.code == 2
    assert "exists already" in again.err
    data = called("spec", "new", *LEAST, "--json").json()
    assert data["yaml"] == called("spec", "new", *LEAST).out == out.read_text("utf-8")


def test_new_from_a_file_of_answers_and_options_win(tmp_path: Path) -> None:
    answers = tmp_path / "answers.yaml"
    answers.write_text(
        "agent: tutor\ntitle: The Tutor\nanchor:\n  keys: school_id, class_id:bigint\n"
        "injection.ceiling: 4000\nreferences: {corroborations: yes}\npurpose:\n",
        "utf-8",
    )
    made = called("spec", "new", "--answers", str(answers), "--set", "agent=coach")
    assert made.code == 0
    (tmp_path / "made.yaml").write_text(made.out, "utf-8")
    spec = load(tmp_path / "made.yaml")
    assert (spec.agent, spec.title) == ("coach", "The Tutor")
    assert [key.name for key in spec.anchor.keys] == ["school_id", "class_id"]
    assert spec.references.corroborations


def test_new_says_what_is_missing_and_what_was_not_asked() -> None:
    ran = called("spec", "new", "--set", "agent=tutor", "--set", "anchor.kes=a")
    assert (ran.code, ran.out) == (5, "")
    assert "Did you mean `anchor.keys`" in ran.err


def test_new_asks_in_the_documents_order_and_asks_again_for_what_cannot_be(tmp_path: Path) -> None:
    asked = questions({"agent": "tutor", "anchor.keys": "school_id"})
    lines = {"agent": "Not A Name\ntutor", "anchor.keys": "\nschool_id", "retrieval.fusion": "sum"}
    typed = "".join(f"{lines.get(question.key, '')}\n" for question in asked) + "\n"
    ran = process("spec", "new", "--out", str(tmp_path / "made.yaml"), stdin=typed)
    assert ran.code == 0
    assert load(tmp_path / "made.yaml").agent == "tutor"
    assert "`Not A Name` cannot be a name." in ran.err
    assert "This has no default" in ran.err
    assert "'sum' is not a choice" in ran.err
    places = [ran.err.index(f"\n{name}\n") for name in list(PRIMITIVES.values())[:15]]
    assert places == sorted(places)


def test_new_whose_input_ends_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "made.yaml"
    ran = called("spec", "new", "--out", str(out), stdin="tutor\n\n")
    assert ran.code == 2
    assert "The input ended" in ran.err
    assert not out.exists()
