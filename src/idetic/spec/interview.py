"""The interview of `spec new`: the primitives as questions, their answers as commented YAML.

Pure logic. A surface asks `next_question` until there is none, puts each answer as text under
the question's key, and hands the answers to `build`. An answer left out takes its default, so
a name and the anchor keys are enough for a valid spec. Answers are read leniently: what cannot be
read stays text, and validation says what is wrong with it in the same words as for a file.
"""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from idetic.spec.completion import Data, spec_data, walk
from idetic.spec.interview_questions import Answers, InterviewQuestion
from idetic.spec.loader import parse
from idetic.spec.problems import PRIMITIVES, WHOLE, SpecInvalid, SpecProblem
from idetic.spec.shape import meant, nearest

_NOTES = {
    "anchor": "The key tuple that owns memory; the first key is the tenant.",
    "typology": "Which kinds of memory each tier holds; behaviour follows from this.",
    "tiers": "What ends each tier, and what it holds.",
    "backend": "Where memory lives; checkpointer state stays in a schema of its own.",
    "retrieval": "How memory enters the agent's reasoning.",
    "injection": "Token budgets per tier, under one absolute ceiling.",
    "references": "What memory may only reference, never copy.",
    "gates": "What is transformed at which boundary, and why.",
    "visibility": "Who may do what, how far each origin is trusted, and how answers are hedged.",
    "leak_defence": "How the shadow guard is calibrated; its numbers are contracts.",
    "audit": "Universal: append-only. What an action rests on stays.",
}


def questions(answers: Answers | None = None) -> tuple[InterviewQuestion, ...]:
    """Every question that these answers lead to; defaults follow from what was said before.

    A default that follows from something not yet said is None.
    """
    return tuple(question for question, _ in walk(answers or {}))


def next_question(answers: Answers) -> InterviewQuestion | None:
    """The first question that has no answer yet, or None when all are answered."""
    return next((question for question, _ in walk(answers) if question.key not in answers), None)


def objection(question: InterviewQuestion, answer: str) -> str | None:
    """The fault of an answer by itself, if it has one; a surface shows it and asks again."""
    if not answer.strip() and question.default is None:
        return "This has no default; an answer is needed."
    if question.choices is None:
        return None
    parts = [part.strip() for part in answer.split(",")] if question.many else [answer.strip()]
    allowed = (*question.choices, "none", "") if question.many else question.choices
    wrong = [part for part in parts if part not in allowed]
    if not wrong:
        return None
    close = nearest(wrong[0], question.choices)
    aid = f"Did you mean {close}? " if close else ""
    return f"{wrong[0]!r} is not a choice. {aid}Choose from: {', '.join(question.choices)}."


def build(answers: Answers) -> str:
    """The spec as commented YAML, known to be valid; raises `SpecInvalid` where it is not."""
    complete = {question.key: answer for question, answer in walk(answers)}
    problems = [
        SpecProblem(question.primitive, question.key, "No answer is given.", question.explanation)
        for question, answer in walk(answers)
        if not answer and question.default is None
    ]
    for key in answers:
        if key not in complete:
            remedy = meant(key, complete).strip() or "Remove it."
            problems.append(SpecProblem(WHOLE, key, "No question asks for this.", remedy))
    if problems:
        raise SpecInvalid(problems, source="The interview")
    text = _commented_yaml(spec_data(complete))
    parse(text, "The interview")
    return text


def _commented_yaml(data: Data) -> str:
    """The data as YAML, each primitive under a comment; accepted defaults are comments too."""
    blocks = [_dump({key: data[key] for key in ("agent", "title", "purpose")})]
    for key, primitive in PRIMITIVES.items():
        note = f"{primitive}: the defaults, accepted by saying nothing."
        if key in data:
            note = _NOTES.get(key, "Deviations from the typology defaults, each with its reason.")
            note = f"{primitive}. {note}"
        comment = "".join(f"# {line}\n" for line in textwrap.wrap(note, 96))
        blocks.append(comment + (_dump({key: data[key]}) if key in data else ""))
    return "\n".join(blocks)


class _Dumper(yaml.SafeDumper):
    """Short lists on one line, everything else in indented blocks: as one would write it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent a list below its key; PyYAML would put it in the key's own column."""
        super().increase_indent(flow, False)

    def represent_sequence(
        self, tag: str, sequence: Any, flow_style: bool | None = None
    ) -> yaml.SequenceNode:
        """Put a list on one line if it holds only words, and few enough to fit."""
        words = all(isinstance(item, str) for item in sequence)
        short = words and sum(len(item) + 2 for item in sequence) < 80
        return super().represent_sequence(tag, sequence, flow_style=short)


def _dump(data: Data) -> str:
    """Data as YAML, with the keys in the order given."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=96)
