"""What a recogniser says: from here to there stands something of this kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol


class Span(NamedTuple):
    """A stretch of text to remove. An identifier is stripped without saying which kind it was."""

    start: int
    end: int
    kind: str
    identifier: bool = False


class Recogniser(Protocol):
    """Finds what must not pass. Every detector is one, and so is the Presidio adapter."""

    def __call__(self, text: str, /) -> Iterable[Span]:
        """The stretches of this text that must not pass, in any order."""
        ...


SECRET = "secret"  # noqa: S105 - the name of a kind


def merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans as one, so that nothing of any of them is left standing.

    The union is called a secret if any part is one, and otherwise after its longest part: an
    account number inside an IBAN is an IBAN. A typed kind goes before a bare identifier.
    """
    result: list[Span] = []
    group: list[Span] = []
    end = -1
    for span in sorted(spans):
        if group and span.start >= end:
            result.append(_union(group))
            group = []
        group.append(span)
        end = max(end, span.end)
    if group:
        result.append(_union(group))
    return result


def _union(group: list[Span]) -> Span:
    best = max(group, key=lambda s: (s.kind == SECRET, s.end - s.start, not s.identifier))
    return Span(group[0].start, max(s.end for s in group), best.kind, best.identifier)


def when(pieces: tuple[str, ...], recogniser: Recogniser) -> Recogniser:
    """A recogniser that is only asked when one of these pieces is in the text, as written here.

    A look for a piece costs less than 1 us in 300 characters, a regular expression 2 to 40.
    """

    def asked(text: str) -> Iterable[Span]:
        # A plain loop: `any` with a generator takes twice as long.
        for piece in pieces:
            if piece in text:
                return recogniser(text)
        return ()

    return asked


def each(pattern: re.Pattern[str], kind: str, group: int | str = 0) -> Recogniser:
    """A recogniser of whatever matches an expression, or one of its groups."""

    def find(text: str) -> Iterator[Span]:
        for found in pattern.finditer(text):
            yield Span(*found.span(group), kind)

    return find
