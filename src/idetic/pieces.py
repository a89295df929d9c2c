"""Overlapping pieces of a long text: what the model reads one by one, and what a prompt quotes."""

from __future__ import annotations

import re
from collections import Counter

# The pinned model reads 512 tokens, some 2,000 characters of English. What is longer is cut, and
# neighbouring pieces share some text so that no sentence is lost at a cut.
WHOLE = 2000
PIECE = 1600
OVERLAP = 200


def pieces(text: str) -> list[str]:
    """The text itself, or its overlapping pieces in order, cut between words if there are any."""
    if len(text) <= WHOLE:
        return [text]
    found, start = [], 0
    while True:
        end = _cut(text, start)
        found.append(text[start:end])
        if end == len(text):
            return found
        start = max(end - OVERLAP, start + 1)


def met_piece(text: str, asked: str, nearest: int | None) -> int | None:
    """The piece that holds most of what is asked; of equal ones, the nearest by meaning.

    A word counts by how few pieces hold it. Meaning alone misses one sentence among others: a code
    in 50,000 characters of filler was quoted by a piece without it.
    """
    if len(text) <= WHOLE:
        return nearest
    wanted = _words(asked)
    held = [wanted & _words(piece) for piece in pieces(text)]
    often = Counter(word for some in held for word in some)
    scores = [sum(1 / often[word] for word in some) for some in held]
    best = max(scores)
    if nearest is not None and nearest < len(scores) and scores[nearest] == best:
        return nearest
    return scores.index(best) if best else nearest


def _words(text: str) -> set[str]:
    """The words of a text, whatever their case."""
    return set(re.findall(r"\w+", text.casefold()))


def excerpt(text: str, piece: int | None) -> str:
    """The piece that a question met, marked where text is left out; a short text as it is."""
    found = pieces(text)
    number = min(piece or 0, len(found) - 1)
    before = "… " if number > 0 else ""
    after = " …" if number < len(found) - 1 else ""
    return f"{before}{found[number].strip()}{after}"


def _cut(text: str, start: int) -> int:
    """Where the piece that begins at `start` ends."""
    if len(text) - start <= PIECE:
        return len(text)
    # Not before half of the piece: a text without spaces is cut all the same.
    space = text.rfind(" ", start + PIECE // 2, start + PIECE)
    return space if space > 0 else start + PIECE
