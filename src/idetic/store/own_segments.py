"""Segments that a process reads for itself: what the word index does not cover yet, or ever.

Without a worker nobody makes the index; with one, the last links wait for it. To read 1,000
entries for every question took 12.8 ms of processor time, with segments of one's own 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from idetic.store.driver import Rows
from idetic.store.members import Members
from idetic.store.word_index import Segment

# From so many entries that no segment covers on, a process makes segments of them.
OWN_FROM = 50
# More links than these are for the job: to read 20,000 entries with all their words takes a second.
MOST_OWN = 20_000


@dataclass(frozen=True)
class OwnSegment:
    """A stretch of the chain that this process has read, with the postings of all its words."""

    after: int
    through: int
    members: Members
    words: Mapping[str, bytes]

    @classmethod
    def read(cls, stretch: Segment, rows: Rows) -> OwnSegment:
        """What a block of the stretch's entries says, with all of their words."""
        words = {lexeme: postings for lexeme, postings, *_ in rows if lexeme is not None}
        ids, members, _, *more = next(row[1:] for row in rows if row[0] is None)
        return cls(stretch.after, stretch.through, Members.read(ids, members, *more), words)

    @cached_property
    def nbytes(self) -> int:
        """About how many bytes its words take."""
        return sum(len(word) + len(postings) + 150 for word, postings in self.words.items())
