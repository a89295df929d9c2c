"""Taking spans out of a text, until nothing is left to take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from idetic.gates.spans import Recogniser, Span, merged
from idetic.gates.view import view

IDENTIFIER = "[identifier]"

# Any kind a recogniser may name, so that an adapter's placeholders are known as well.
PLACEHOLDER = re.compile(r"\[(?:identifier|[a-z]+(?: [a-z]+){0,3} removed)\]")


def placeholder(span: Span) -> str:
    """What stands in the place of a span from now on."""
    return IDENTIFIER if span.identifier else f"[{span.kind.replace('_', ' ')} removed]"


def redact(text: str, recognisers: Sequence[Recogniser]) -> tuple[str, Counter[str]]:
    """The text without what the recognisers find, and how much of each kind that was.

    What is left beside a placeholder is looked at again, alone: that is how the next reader
    would see it. So a second pass finds nothing, whatever the recognisers do at their edges.
    The text itself is returned when nothing was found.
    """
    counts: Counter[str] = Counter()
    done: list[str] = []
    waiting = _cut(text, [found.span() for found in PLACEHOLDER.finditer(text)])
    while waiting:
        piece, settled = waiting.pop()
        spans = [] if settled else _find(piece, recognisers)
        if not spans:
            done.append(piece)
            continue
        counts.update(span.kind for span in spans)
        waiting += _cut(piece, [span[:2] for span in spans], [placeholder(span) for span in spans])
    return ("".join(done), counts) if counts else (text, counts)


def _cut(
    text: str, holes: Sequence[tuple[int, int]], fillings: Sequence[str] | None = None
) -> list[tuple[str, bool]]:
    """The text in pieces, last first; what fills a hole is settled and not looked at again."""
    pieces: list[tuple[str, bool]] = []
    here = 0
    for at, (start, end) in enumerate(holes):
        pieces += [(text[here:start], False), (fillings[at] if fillings else text[start:end], True)]
        here = end
    pieces.append((text[here:], False))
    return pieces[::-1]


def _find(piece: str, recognisers: Sequence[Recogniser]) -> list[Span]:
    if not piece:
        return []
    seen = view(piece)
    found = [span for recognise in recognisers for span in recognise(seen.text)]
    return merged(map(seen.original, found)) if found else []
