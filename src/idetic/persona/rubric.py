"""Whether a changed identity is better: a rubric says so, and nothing is applied without it.

The one that ships is deterministic. It weighs how much of the feedback the instructions cover,
and refuses what is not small, not grounded in the evidence, or drops what nobody spoke of.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from idetic.persona.identity import Identity
from idetic.persona.proposal import Evidence
from idetic.persona.words import normalised

CHANGED_LINES_MAX = 3
ADDED_CHARS_MAX = 500
# The share of a new line's words that must come from the evidence.
_GROUNDED = 0.6
# The share of a dropped line's words that the feedback must speak of.
_SPOKEN_OF = 0.3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rubric says, and why; the two scores are how good it held each of them to be."""

    better: bool
    why: str
    before: float = 0.0
    after: float = 0.0


Rubric: TypeAlias = Callable[[Identity, Identity, Evidence], Verdict | Awaitable[Verdict]]


def small_and_grounded(old: Identity, new: Identity, evidence: Evidence) -> Verdict:
    """Better if more of the feedback is covered, by a small change that rests on the evidence."""
    before = coverage(old.instructions, evidence.feedback)
    after = coverage(new.instructions, evidence.feedback)
    added, removed = _changes(old.instructions, new.instructions)
    wrong = _wrong(added, removed, evidence)
    if wrong is None and after <= before:
        wrong = "The instructions cover the feedback no better than before."
    why = wrong or "The instructions cover more of the feedback, by a small change."
    return Verdict(wrong is None, why, round(before, 4), round(after, 4))


def coverage(instructions: str, feedback: str) -> float:
    """How much of the feedback the best line says, from 0 to 1."""
    wanted = _words(feedback)
    if not wanted:
        return 0.0
    return max(len(wanted & _words(line)) / len(wanted) for line in instructions.split("\n"))


def _wrong(added: list[str], removed: list[str], evidence: Evidence) -> str | None:
    if not added and not removed:
        return "Nothing would change."
    if len(added) + len(removed) > CHANGED_LINES_MAX:
        return f"More than {CHANGED_LINES_MAX} lines would change."
    if sum(map(len, added)) > ADDED_CHARS_MAX:
        return f"More than {ADDED_CHARS_MAX} characters would be added."
    feedback = _words(evidence.feedback)
    known = feedback.union(*map(_words, evidence.recalled))
    if any(_share(line, known) < _GROUNDED for line in added):
        return "What would be added does not follow from the evidence."
    if any(_share(line, feedback) < _SPOKEN_OF for line in removed):
        return "A line would go that the feedback does not speak of."
    return None


def _changes(old: str, new: str) -> tuple[list[str], list[str]]:
    """The lines that came and those that went."""
    lines = list(difflib.ndiff(old.split("\n"), new.split("\n")))
    added = [line[2:] for line in lines if line.startswith("+ ") and line[2:].strip()]
    removed = [line[2:] for line in lines if line.startswith("- ") and line[2:].strip()]
    return added, removed


def _share(line: str, known: set[str]) -> float:
    words = _words(line)
    return len(words & known) / len(words) if words else 1.0


def _words(text: str) -> set[str]:
    """Words that carry something: the longer ones, or all of them where none is long."""
    words = set(normalised(text).split())
    return {word for word in words if len(word) > 3 or word.isdigit()} or words
