"""The walk of `spec new`: the primitives as questions, in the documents' order.

Pure logic. A surface asks `next_question` until there is none, puts each answer as text under
the question's key, and hands the answers to `build`. An answer left out takes its default, so
a name and the anchor keys are enough for a valid spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from idetic.spec.interview_answers import commented_yaml, spec_data
from idetic.spec.interview_questions import SECTIONS, Question
from idetic.spec.problems import Problem, SpecInvalid
from idetic.spec.shape import nearest
from idetic.spec.validation import parse

__all__ = ["Question", "build", "next_question", "objection", "questions"]


def questions(answers: Mapping[str, str] | None = None) -> tuple[Question, ...]:
    """Every question that these answers lead to; defaults follow from what was said before.

    A default that follows from something not yet said is None.
    """
    return tuple(question for question, _ in _walk(answers or {}))


def next_question(answers: Mapping[str, str]) -> Question | None:
    """The first question that has no answer yet, or None when all are answered."""
    return next((question for question, _ in _walk(answers) if question.key not in answers), None)


def objection(question: Question, answer: str) -> str | None:
    """What is wrong with an answer on its own, if anything: told before the walk goes on."""
    if not answer.strip() and question.default is None:
        return "This has no default; an answer is needed."
    if question.choices is None:
        return None
    given = [part.strip() for part in answer.split(",")] if question.many else [answer.strip()]
    allowed = (*question.choices, "none", "") if question.many else question.choices
    wrong = [part for part in given if part not in allowed]
    if not wrong:
        return None
    close = nearest(wrong[0], question.choices)
    meant = f"Did you mean {close}? " if close else ""
    return f"{wrong[0]!r} is not a choice. {meant}Choose from: {', '.join(question.choices)}."


def build(answers: Mapping[str, str]) -> str:
    """The spec as commented YAML, known to be valid; raises `SpecInvalid` where it is not."""
    said = {question.key: answer for question, answer in _walk(answers)}
    problems = [*_unanswered(answers), *_unasked(answers, said)]
    if problems:
        raise SpecInvalid(problems, source="The interview")
    text = commented_yaml(spec_data(said))
    parse(text, "The interview")
    return text


def _walk(answers: Mapping[str, str]) -> Iterator[tuple[Question, str]]:
    said: dict[str, str] = {}
    for section in SECTIONS:
        for question in section(said):
            # Set before the section goes on: its next question may follow from this answer.
            given = answers.get(question.key, "").strip()
            said[question.key] = given or question.default or ""
            yield question, said[question.key]


def _unanswered(answers: Mapping[str, str]) -> Iterator[Problem]:
    for question, answer in _walk(answers):
        if not answer and question.default is None:
            yield Problem(
                question.primitive, question.key, "No answer is given.", question.explanation
            )


def _unasked(answers: Mapping[str, str], said: Mapping[str, str]) -> Iterator[Problem]:
    for key in answers:
        if key not in said:
            close = nearest(key, said)
            remedy = f"Did you mean `{close}`?" if close else "Remove it."
            yield Problem("The spec", key, "No question asks for this.", remedy)
