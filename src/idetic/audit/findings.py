"""What a verification found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from idetic.audit.head import ChainHead
from idetic.errors import ChainBroken

# Beyond this many the rest is counted and not listed: a rewritten chain has a problem per link.
KEPT = 1_000


class ProblemKind(StrEnum):
    """What was done to a chain or to what it witnesses, as far as its rows tell."""

    ALTERED = "altered"
    MISSING = "missing"
    REORDERED = "reordered"
    INSERTED = "inserted"
    CUT = "cut"
    FORKED = "forked"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: its kind, the position it is at where it has one, and what it is about."""

    kind: ProblemKind
    position: int | None
    what: str
    why: str
    entry_id: UUID | None = None

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": self.kind.value,
            "position": self.position,
            "what": self.what,
            "why": self.why,
            "entry_id": None if self.entry_id is None else str(self.entry_id),
        }


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked and what is wrong with it; `more` problems are counted and not listed."""

    agent: str
    anchor: Mapping[str, Any]
    links: int
    entries: int
    head: ChainHead
    compared: ChainHead | None
    problems: tuple[Problem, ...]
    more: int = 0

    @property
    def intact(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def raise_if_broken(self) -> None:
        """Raise ChainBroken unless all is as it was written."""
        if not self.intact:
            first, count = self.problems[0], len(self.problems) + self.more
            place = "" if first.position is None else f" at position {first.position}"
            raise ChainBroken(
                f"{count} problem(s) found; the first{place}: {first.kind}, {first.why}.",
                found=[problem.as_data() for problem in self.problems],
            )

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON, always with the same keys."""
        return {
            "intact": self.intact,
            "links": self.links,
            "entries": self.entries,
            "head": self.head.as_data(),
            "compared": None if self.compared is None else self.compared.as_data(),
            "problems": [problem.as_data() for problem in self.problems],
            "more": self.more,
        }


class Findings:
    """The problems of one run, bounded: the first thousand by name, the rest as a number."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.more = 0

    def add(
        self, kind: ProblemKind, position: int | None, what: str, why: str,
        entry_id: UUID | None = None,
    ) -> None:  # fmt: skip
        """Note one problem."""
        if len(self.problems) >= KEPT:
            self.more += 1
        else:
            self.problems.append(Problem(kind, position, what, why, entry_id))

    def take_back(self, position: int, *kinds: ProblemKind) -> bool:
        """Drop what was said about a link that a later one explains better."""
        for at, known in enumerate(self.problems):
            if known.what == "link" and known.position == position and known.kind in kinds:
                del self.problems[at]
                return True
        return False
