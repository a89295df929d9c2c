"""What a page shows beside what came out.

Ids, times, hashes, keys and local addresses differ from run to run and are compared as if they
were all the same. A line `…` in an output stands for any lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CHANGING = {
    "UUID": re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    "TIME": re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"),
    "DAY": re.compile(r"\b20\d\d-\d\d-\d\d(?: \d\d:\d\d(?!:))?"),
    "KEY": re.compile(r"\bidk_[\w…-]+"),
    "HASH": re.compile(r"\b[0-9a-f]{12,64}\b"),
    "ADDRESS": re.compile(r"http://127\.0\.0\.1:\d+"),
    "LINK": re.compile(r"(?<=/console/enter/)[\w…-]+"),
}
_ANYTHING = "…"


def differences(shown: str, actual: str) -> str:
    """What is shown and did not come out, in words; empty if all of it did."""
    wanted, got = settled(shown), settled(actual)
    if _ANYTHING not in (line.strip() for line in wanted):
        return "" if got == wanted else f"{wanted} is shown, and {got} came out"
    rest = got
    for piece in _pieces(wanted):
        at = next((n for n in range(len(rest)) if rest[n : n + len(piece)] == piece), None)
        if at is None:
            return f"{piece} is not in {rest}"
        rest = rest[at + len(piece) :]
    return ""


def settled(text: str) -> list[str]:
    """The lines of an output, without what changes from run to run."""
    for name, pattern in _CHANGING.items():
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _pieces(lines: list[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    for line in [*lines, _ANYTHING]:
        if line.strip() != _ANYTHING:
            piece.append(line)
        elif piece:
            yield piece
            piece = []
