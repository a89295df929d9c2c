"""Answers of a size that a model can read: pieces up to a bound, and where to go on."""

from __future__ import annotations

from collections.abc import Sequence

from idetic.errors import InputError
from idetic.recall.tokens import ConservativeCounter

# What the note about more may cost; it may hold a UUID.
_NOTE = 120
LEAST_BOUND, DEFAULT_BOUND, MOST_BOUND = 1_000, 5_000, 20_000
_LAST = 1_000_000

_counter = ConservativeCounter()
count = _counter.count


def check_bound(bound: object) -> int:
    """How many tokens an answer may have."""
    if type(bound) is not int or not LEAST_BOUND <= bound <= MOST_BOUND:
        raise InputError(
            f"The bound of an answer is a whole number from {LEAST_BOUND:,} to {MOST_BOUND:,}."
        )
    return bound


def start_of(cursor: str | None) -> int:
    """The piece that a cursor names."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 7 or int(cursor) > _LAST:
        raise InputError(
            "That is no cursor.", remedy="Give the one that the last answer named, or none."
        )
    return int(cursor)


def paged(
    pieces: Sequence[str], bound: int, *, start: int = 0, head: str = "", foot: str = "", on: str
) -> str:
    """As many pieces as fit, from `start` on; `on` says how to ask for the rest, with {cursor}.

    A piece that would not fit alone is cut, and says so: nothing may exceed the bound.
    """
    room = bound - count(head) - count(foot) - _NOTE
    shown: list[str] = []
    for piece in pieces[start:]:
        cost = count(piece)
        if cost > room and shown:
            break
        shown.append(piece if cost <= room else cut(piece, room))
        room -= min(cost, room)
    following = start + len(shown)
    left = len(pieces) - following
    note = f"{left} more: {on.format(cursor=following)}" if left > 0 else ""
    around = [head] if head else [], [each for each in (foot, note) if each]
    return "\n".join([*around[0], *shown, *around[1]])


def cut(text: str, room: int) -> str:
    """The longest beginning that fits, marked. Counting never falls as a text grows."""
    mark = "\n(cut here: it is longer than an answer may be)"
    fits, beyond = 0, len(text)
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if count(text[:middle] + mark) <= room:
            fits = middle
        else:
            beyond = middle
    return text[:fits] + mark
