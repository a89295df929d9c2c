"""The statements that ask an anchor what it nominates, composed once per form of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from idetic.model import Scope, Tier, Typology
from idetic.spec.primitives import Signal
from idetic.store import templates
from idetic.store.family import CELLS, Family
from idetic.store.recall_statement import RecallStatement
from idetic.store.templates import Statement, statement

if TYPE_CHECKING:
    from idetic.store.kept_words import KeptWord
    from idetic.store.traits import Array

_FILE = "queries/nomination.sql"
# So many entries, drawn by chance, say what is near by chance. Chosen: the ten best stay the same
# (bench.anchor).
SAMPLED = 640
# HNSW is walked where an anchor has so many vectors in a cell; fewer are compared one by one, which
# misses none. Comparing 10,000 took the server 12.4 ms, a walk 2. How large the
# index is in all is no role's to know: catalogs may be closed.
WALKED_FROM = 4_000


class NotIndexed(Exception):
    """The word index of an anchor covers too little of it: everything is read."""


class Outdated(Exception):
    """The chain has told of entries that this process has read itself: they are read again."""


class SparseWalk(Exception):
    """A walk met too few of an anchor's vectors among all others': they are compared one by one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How an anchor is read for a question.

    By segments where it is `indexed`, else by all entries; some may be `stored` in the word index.
    The `walked` cells are those whose vectors come from their index; `largest` is how many entries
    the largest has. Where vectors are `held`, this process has them. Those of the `unread` are read
    beside. Of the `words` the postings are here already.
    """

    indexed: bool = False
    stored: bool = False
    walked: tuple[tuple[Tier, Typology], ...] = ()
    largest: int = 0
    held: bool = False
    unread: Array | None = field(default=None, compare=False)
    words: Mapping[str, KeptWord] = field(default_factory=dict, compare=False)

    @property
    def reads(self) -> bool:
        """Whether vectors are read to be kept."""
        return self.unread is not None and len(self.unread) > 0

    @property
    def form(self) -> tuple[Any, ...]:
        """What the statements depend on."""
        return (self.indexed, self.stored, self.walked, self.held, self.reads)

    @property
    def settings(self) -> dict[str, str]:
        """How many candidates a walk takes per step: more among more vectors.

        Of the hundred nearest among 10,000 and 100,000, 200 found 100 and 95 %, 400 found 100 and
        99 %, and pgvector's own 40 less than nine tenths.
        """
        walks = self.walked and not self.held
        return {"hnsw.ef_search": str(min(1000, 200 + self.largest // 300))} if walks else {}

    @classmethod
    def of(cls, counts: Sequence[int], *, stored: bool) -> Reading:
        """How an anchor is read whose segments hold so many entries of each cell."""
        pairs = zip(CELLS, counts, strict=True)
        walked = tuple(cell for cell, count in pairs if count >= WALKED_FROM)
        return cls(True, stored, walked, max(counts))


@dataclass(frozen=True, slots=True)
class NominationStatements:
    """Composes the statements for one form of question and one way to read."""

    family: Family
    scope: Scope
    recall: RecallStatement

    def measured(self) -> Statement:
        """The statement that asks for the distances of what a walk did not meet."""
        return self._made("measured")

    def segments(self) -> Statement:
        """The statement that asks what the word index covers."""
        return self._made("segments")

    def compose(self, reading: Reading) -> dict[str, Statement]:
        """The statements by name: only of signals that count."""
        weights, query = self.recall.query.weights, self.recall.query
        found = {"facts": self._made("facts"), "block": self._block(reading)}
        if reading.indexed:
            found["standing"] = self._made("standing")
            if query.narrowed:
                found["allowed"] = self._made("allowed")
            if weights.get(Signal.LEXICAL) and reading.stored:
                found["words"] = self._made("words")
        if weights.get(Signal.SEMANTIC) and query.vector is not None:
            found |= self._meaning(reading)
        if weights.get(Signal.ENVELOPE) and query.envelope:
            found["enveloped"] = self._made("enveloped", envelope=self.recall.envelope())
        return found

    def own(self) -> dict[str, Statement]:
        """The statements by which a process reads stretches of the chain for itself."""
        parts = {"tail": "", "told": "NULL::bytea", "words": self._part("all_words")}
        stretch = self._made("block", of_tail=self._part("of_stretch"), **parts)
        return {"since": self._made("since"), "stretch": stretch}

    def _block(self, reading: Reading) -> Statement:
        """The entries that no segment holds; where no words count, without them."""
        spoken = bool(self.recall.query.weights.get(Signal.LEXICAL))
        words = self._part("words_of" if spoken else "no_words")
        parts = {"tail": "", "of_tail": "", "told": "NULL::bytea", "words": words}
        if reading.indexed:
            tail = f"{self._part('told')}, {self._part('beside')},"
            told = self._part("told_ids")
            parts |= {"tail": tail, "of_tail": self._part("of_tail"), "told": told}
        return self._made("block", **parts)

    def _meaning(self, reading: Reading) -> dict[str, Statement]:
        """The distances of all vectors, or of the nearest of large cells and all of small ones.

        Where vectors are held, of what no segment holds.
        """
        found = {"vectors": self._made("vectors")} if reading.reads else {}
        if reading.held:
            told = f"WITH {self._part('told')}"
            among = self._part("among_tail")
            return found | {"rest": self._made("rest", told=told, among=among)}
        return found | self._elsewhere(reading)

    def _elsewhere(self, reading: Reading) -> dict[str, Statement]:
        """The distances where the database has to be asked for all of them."""
        if not reading.walked:
            return {"compared": self._made("compared")}
        if self.recall.query.narrowed:
            # What is narrowed may be a few among many, which a walk would not meet.
            among = self._part("among_allowed")
            return {"rest": self._made("rest", told="", among=among)}
        asked = self.recall.query.filters.tiers
        found = {"sample": self._made("sample")}
        for tier, typology in reading.walked:
            if tier in asked:
                cell = {"tier": tier.value, "typology": typology.value}
                found[f"walked {tier} {typology}"] = self._made("walked", **cell)
        told = f"WITH {self._part('told')}"
        found["rest"] = self._made("rest", told=told, among=self._part("among_small"))
        return found

    def _made(self, name: str, **more: str) -> Statement:
        return statement(self._part(name, **more), prepared=True, packed=True)

    def _part(self, name: str, **more: str) -> str:
        return self.recall.part(templates.query(_FILE, name), **more)
