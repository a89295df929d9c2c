"""The word index of an anchor: segments of its chain, made behind the writes.

What no segment covers is read from the entries, so every state in between is right: a build that
is killed, or a segment that an erasure took away, costs time and no hit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from idetic.model import Scope
from idetic.store.database import Database
from idetic.store.driver import Rows
from idetic.store.family import Family

# An anchor whose chain is shorter is read as a whole. Chosen, and not measured yet (bench.anchor).
INDEXED_FROM = 300
# How many links a segment covers, and how many may wait until it is worth making one.
SEGMENT = 2_000
WAITING = 200
_FILE = "words"
INDEX_WORDS = "index_words"


@dataclass(frozen=True, slots=True)
class Indexed:
    """How many segments of an anchor's word index were made."""

    segments: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the chain, after one position and through another; `stale` if it has changed."""

    after: int
    through: int
    stale: bool = False


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Makes and checks the word index of one family's anchors."""

    database: Database
    family: Family

    async def update(self, scope: Scope, position: int, reached: int, *, anew: bool = False) -> int:
        """Index what the chain says up to a position; says how many segments were made.

        `reached` is the position that the last update marked: what was told of indexed entries
        after it makes their segment stale. `anew` makes all of them.
        """
        found = [] if anew else await self._segments(scope, reached)
        made = 0
        for segment in planned(found, position):
            await self._rows(
                scope, "index", after=segment.after, through=segment.through, position=position
            )
            made += 1
        return made

    async def check(self, scope: Scope) -> tuple[UUID, ...]:
        """The segments that say something else than their entries do."""
        return tuple(row[0] for row in await self._rows(scope, "check"))

    async def _segments(self, scope: Scope, reached: int) -> list[Segment]:
        """The segments in the order of the chain."""
        rows = await self._rows(scope, "segments", reached=reached)
        return [Segment(*row) for row in rows]

    async def _rows(self, scope: Scope, query: str, **values: Any) -> Rows:
        call = self.family.call(_FILE, query, scope, {}, **values)
        return await self.database.run_all(scope, [call])


def planned(
    found: list[Segment], position: int, *, start: int = 0, waiting: int | None = None
) -> list[Segment]:
    """The segments to make, the stale ones first: only then may a later one cover the links that
    tell of their change.

    A gap behind the `start` is filled as it is. The end of the chain is indexed once enough waits
    there, together with the last segment if that one is not full.
    """
    waiting = WAITING if waiting is None else waiting
    stale = [segment for segment in found if segment.stale]
    gaps, end = [], start
    for segment in found:
        if segment.after > end:
            gaps += _cut(end, segment.after)
        end = segment.through
    if position - end < (waiting if found else 1):
        return stale + gaps
    last = found[-1] if found else None
    if last is not None and last.through - last.after < SEGMENT:
        stale = [segment for segment in stale if segment != last]
        end = last.after
    return stale + gaps + _cut(end, position)


def _cut(after: int, through: int) -> list[Segment]:
    """A stretch of the chain in segments of full length, and a rest."""
    ends = [*range(after + SEGMENT, through, SEGMENT), through]
    return [Segment(a, b) for a, b in zip([after, *ends[:-1]], ends, strict=True)]
