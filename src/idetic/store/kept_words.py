"""The words of an anchor's index that this process keeps, once a question has asked for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idetic.store.word_scores import Postings, Reach

if TYPE_CHECKING:
    from idetic.store.members import Members

# About so many bytes are kept of one anchor's words.
KEPT = 48_000_000
_WORD = re.compile(r"\w+")
# A word and what the database makes of it begin alike.
_HEAD = 3


@dataclass(frozen=True, slots=True)
class KeptWord:
    """Who has a word in the segments of one anchor, and how far it reaches among them."""

    postings: Postings
    _reaches: dict[tuple[int, int], Reach] = field(default_factory=dict)

    def reach(self, members: Members, before: int, after: int) -> Reach:
        """How far it reaches among the members of the segments."""
        found = self._reaches.get((before, after))
        if found is None:
            windows = members.windows(before, after)
            found = self._reaches[before, after] = Reach.of(self.postings, windows)
        return found

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, once it was asked for."""
        return 5 * self.postings.nbytes


@dataclass(slots=True)
class KeptWords:
    """The words of one anchor that were asked for."""

    _by_head: dict[str, dict[str, KeptWord]] = field(default_factory=dict)
    nbytes: int = 0

    def of(self, text: str) -> dict[str, KeptWord]:
        """Those that may be in a question, whose postings need not travel."""
        found: dict[str, KeptWord] = {}
        for head in {word[:_HEAD] for word in _WORD.findall(text.lower())}:
            found |= self._by_head.get(head, {})
        return found

    def take(
        self,
        terms: Sequence[str],
        known: Mapping[str, KeptWord],
        blocks: Mapping[str, Sequence[tuple[int, bytes]]],
    ) -> dict[str, KeptWord]:
        """The words of a question: those that were known, and those that came, in blocks."""
        return {
            term: known[term] if term in known else self._keep(term, blocks.get(term, ()))
            for term in terms
        }

    def _keep(self, lexeme: str, blocks: Iterable[tuple[int, bytes]]) -> KeptWord:
        """Keep a word; with too many, those before it go."""
        if self.nbytes > KEPT:
            self._by_head, self.nbytes = {}, 0
        word = KeptWord(Postings.read(list(blocks)))
        self._by_head.setdefault(lexeme[:_HEAD], {})[lexeme] = word
        self.nbytes += word.nbytes
        return word
