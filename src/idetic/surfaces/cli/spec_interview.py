"""The answers of `idetic spec new`: asked at the terminal, or given in advance."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console

from idetic.errors import InputError
from idetic.spec.document import read
from idetic.spec.interview import build, next_question, objection, questions
from idetic.spec.interview_questions import InterviewQuestion
from idetic.spec.problems import SpecInvalid, SpecProblem
from idetic.surfaces.cli import failures, output
from idetic.surfaces.cli.sources import pairs, read_text

# What stands in for an answer that is yet to come and has no default.
_STAND_INS = {"agent": "agent", "anchor.keys": "tenant_id"}


def interview() -> dict[str, str]:
    """Ask every question. They go to stderr: stdout is for the spec alone."""
    console = output.console(stderr=True)
    said: dict[str, str] = {}
    primitive = None
    while (question := next_question(said)) is not None:
        if question.primitive != primitive:
            primitive = question.primitive
            console.print(output.literal(f"\n{primitive}", "bold cyan"))
        answered = {**said, question.key: _answer(console, question)}
        if wrong := [p for key, p in _problems(answered).items() if key not in _problems(said)]:
            # Told now and asked again: nobody wants to hear it sixty questions later.
            failures.print_problems(console, [asdict(wrong[0])])
        else:
            said = answered
    return said


def answers_given(path: str | None, given: Sequence[str]) -> dict[str, str]:
    """Answers from a file (`anchor.keys: …`, or `keys: …` below `anchor:`) and from options."""
    said: dict[str, str] = {}
    if path is not None:
        document = read(read_text(path), path)
        if document.findings:
            first = document.findings[0]
            raise InputError(f"{path}: {first.message}", remedy=first.remedy)
        said = dict(_flat(document.data, ""))
    return {**said, **pairs(given, "--set")}


def _problems(answers: Mapping[str, str]) -> dict[tuple[str, str], SpecProblem]:
    """What is wrong with the answers so far, if the rest were to take its defaults."""
    missing = [q.key for q in questions(answers) if q.default is None and q.key not in answers]
    stand_ins = {key: _STAND_INS.get(key, "This is yet to be said.") for key in missing}
    try:
        build({**stand_ins, **answers})
    except SpecInvalid as invalid:
        # By place and message: a line says nothing where no file is.
        return {(p.path, p.message): replace(p, line=None) for p in invalid.problems}
    return {}


def _answer(console: Console, question: InterviewQuestion) -> str:
    """One answer; an empty one takes the default."""
    console.print(output.literal(question.prompt, "bold"))
    console.print(output.literal(question.explanation, "dim"))
    if question.choices:
        how = "Any of, with commas" if question.many else "One of"
        console.print(output.literal(f"{how}: {', '.join(question.choices)}", "dim"))
    default = "" if question.default is None else f" [{question.default}]"
    while True:
        console.print(output.literal(f"{question.key}{default}: "), end="")
        line = sys.stdin.readline()
        if not line:
            raise InputError(
                f"The input ended at the question `{question.key}`; nothing was written.",
                remedy="Answer every question (an empty line takes the default), or give the "
                "answers with --answers or --set.",
            )
        answer = line.strip()
        if (wrong := objection(question, answer or question.default or "")) is None:
            return answer
        console.print(output.literal(wrong, "red"))


def _flat(data: Mapping[str, Any], above: str) -> Iterator[tuple[str, str]]:
    """The answers of a nested file by their dotted keys, each as it would be typed."""
    for key, value in data.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.")
        elif isinstance(value, list):
            raise InputError(
                f"The answer `{path}` is a list.",
                remedy="Write it as you would type it: one text, with commas or semicolons.",
            )
        elif isinstance(value, bool):
            yield path, "yes" if value else "no"
        else:
            yield path, "" if value is None else str(value)
