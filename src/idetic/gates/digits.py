"""Runs of digits, the places where numbers of persons can stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

# At least six digits, with at most three separators between two of them. A comma is none:
# it belongs to amounts and lists.
_RUN = re.compile(r"[0-9](?:[ .()\-/_\t]{0,3}[0-9]){5,}")
_OPENING = re.compile(r"[+(]{0,3}\Z")
_UUID = re.compile(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
)

_DAY = r"(?:(?:19|20)\d\d[-/._]?[01]\d[-/._]?[0-3]\d|[0-3]?\d[-/.][0-3]?\d[-/.](?:19|20)?\d\d)"
_DATES = re.compile(rf"{_DAY}(?:[ _\-/.]{{0,3}}(?:{_DAY}|\d{{1,6}}))*")
_COUNT = r"(?:0|[1-9]\d*)(?:\.\d+)?"
_AMOUNTS = re.compile(
    rf"{_COUNT}(?:[ \-/]{{1,3}}{_COUNT})?|[1-9]\d{{0,2}}(?:[. ]\d{{3}})+(?:[ \-]{{1,3}}\d+)?"
    r"|(?:\d+\.\d+[ \-/]{1,3})+\d+\.\d+"
)
_JOINED = re.compile(r"[A-Za-z0-9_/=&@#%$]")
_SEPARATED = re.compile(r"\d[^\d]+\d")
_LOOK_BACK = 40


class Run:
    """One run of digits: where it stands and how it is written."""

    def __init__(self, text: str, found: re.Match[str]) -> None:
        self.start, self.end = found.span()
        if text[self.start - 1 : self.start] in ("+", "("):
            opening = _OPENING.search(text, max(0, self.start - 3), self.start)
            self.start = opening.start() if opening else self.start
        self.text = text[self.start : self.end]

    @cached_property
    def digits(self) -> int:
        """How many digits it holds."""
        return sum(map(str.isdigit, self.text))

    @cached_property
    def is_date(self) -> bool:
        """Whether it is a date, a time after a date, or a span of dates."""
        return _DATES.fullmatch(self.text) is not None

    @cached_property
    def is_ordinary(self) -> bool:
        """Whether it reads as a date, an amount or a plain number."""
        return self.is_date or _AMOUNTS.fullmatch(self.text) is not None

    @cached_property
    def is_grouped(self) -> bool:
        """Whether anything stands between its digits."""
        return _SEPARATED.search(self.text) is not None

    def is_alone(self, text: str) -> bool:
        """Whether it is no part of a longer name, path or formula."""
        around = text[max(0, self.start - 1) : self.start] + text[self.end : self.end + 1]
        return _JOINED.search(around) is None


def runs(text: str) -> Iterator[Run]:
    """The runs of a text, but for those inside a UUID."""
    for found in _RUN.finditer(text):
        if not _in_uuid(text, found):
            yield Run(text, found)


def _in_uuid(text: str, found: re.Match[str]) -> bool:
    near = max(0, found.start() - 36), min(len(text), found.end() + 36)
    return any(
        uuid.start() < found.end() and found.start() < uuid.end()
        for uuid in _UUID.finditer(text, *near)
    )


def said_before(text: str, start: int, label: re.Pattern[str]) -> bool:
    """Whether the words right before say what comes; the label's pattern ends with `\\Z`."""
    return label.search(text, max(0, start - _LOOK_BACK), start) is not None
