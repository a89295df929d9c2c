"""Problems of a spec, worded so that its author can put them right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from idetic.errors import SpecError

Steps: TypeAlias = tuple[str | int, ...]

WHOLE = "The spec"

# Keyed by the spec's top-level keys, in the documents' order; the names are the documents'.
PRIMITIVES: Mapping[str, str] = MappingProxyType(
    {
        "anchor": "1 Anchor entity",
        "typology": "2 Memory typology",
        "tiers": "3 Tier model",
        "backend": "4 Persistence backend",
        "retrieval": "5 Retrieval model",
        "lifecycle": "6 Lifecycle / retention",
        "decay": "7 Time decay model",
        "writes": "8 Write policy",
        "promotion": "9 Promotion semantics",
        "conflict": "10 Conflict resolution",
        "consolidation": "11 Consolidation / summarization",
        "injection": "12 Injection semantics + token budget",
        "references": "13 Reference-only invariants",
        "gates": "14 Sanitization gates",
        "visibility": "15 Visibility / access scope",
        "audit": "Audit posture",
        "leak_defence": "Leak-defence calibration",
    }
)

_BEFORE_PRIMITIVES = ("agent", "title", "purpose")
_ORDER = {key: i for i, key in enumerate((*_BEFORE_PRIMITIVES, *PRIMITIVES), start=1)}
# `problems` has them all; a message of thousands of lines would help nobody.
_SPELT_OUT = 50
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def primitive_of(steps: Steps) -> str:
    """The primitive that a path belongs to, in the documents' words with its number."""
    return PRIMITIVES.get(str(steps[0]), WHOLE) if steps else WHOLE


def path_of(steps: Steps) -> str:
    """A path as an author reads it: `anchor.keys[1].type`. The whole spec is the empty path."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.match(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step[:40]!r}]"
    return text


class ProblemLevel(StrEnum):
    """How much a problem matters: an error is refused, a warning is not, a note only tells."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem at a path of the data, before its line in a file is known."""

    steps: Steps
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SpecProblem:
    """One thing wrong with a spec: which primitive, where, what, and how to fix it."""

    primitive: str
    path: str
    message: str
    remedy: str
    line: int | None = None
    level: ProblemLevel = ProblemLevel.ERROR

    @classmethod
    def of(
        cls,
        finding: Finding,
        line: int | None = None,
        level: ProblemLevel = ProblemLevel.ERROR,
    ) -> SpecProblem:
        """The problem that a finding is, once its line is known."""
        steps, told = finding.steps, (finding.message, finding.remedy)
        return cls(primitive_of(steps), path_of(steps), *told, line, level)

    def __str__(self) -> str:
        where = f"`{self.path}`" if self.path else "whole file"
        line = f", line {self.line}" if self.line is not None else ""
        return f"{self.primitive}, {where}{line}: {self.message} {self.remedy}"


class SpecInvalid(SpecError):
    """The memory spec has problems."""

    code = "spec_invalid"
    remedy = "Correct what is listed; nothing was applied."

    def __init__(self, problems: Sequence[SpecProblem], *, source: str | None = None):
        self.problems = tuple(problems)
        count = len(self.problems)
        head = f"{source or 'The memory spec'} has {count} problem{'' if count == 1 else 's'}:"
        lines = [head, *(f"  - {problem}" for problem in self.problems[:_SPELT_OUT])]
        if count > _SPELT_OUT:
            lines.append(f"  and {count - _SPELT_OUT} more.")
        super().__init__(
            "\n".join(lines) + "\n", problems=[asdict(problem) for problem in self.problems]
        )

    def __reduce__(self) -> tuple[type[SpecInvalid], tuple[tuple[SpecProblem, ...]]]:
        # The default rebuilds an exception from its message, which is not what made this one.
        return type(self), (self.problems,)


def rank(steps: Steps) -> int:
    """Where a path stands in the order in which the documents work the primitives."""
    return _ORDER.get(str(steps[0]), 0) if steps else 0


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Each finding once, in the documents' order."""
    return sorted(dict.fromkeys(findings), key=lambda finding: rank(finding.steps))
