"""The statements that ask an anchor what it nominates, composed once per form of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idetic.model import Scope, Tier, Typology
from idetic.spec.primitives import Signal
from idetic.store import templates
from idetic.store.family import Family
from idetic.store.recall_statement import RecallStatement
from idetic.store.templates import Statement, statement

_FILE = "queries/nomination.sql"
# So many entries, drawn by chance, say what is near by chance. Chosen: the ten best stay the same
# (bench.anchor).
SAMPLED = 640
# HNSW is walked where an anchor has so many vectors in a cell; fewer are compared one by one, which
# misses none. How large the index is in all is no role's to know: catalogs may be closed.
WALKED_FROM = 10_000


class NotIndexed(Exception):
    """The word index of an anchor is gone, or covers too little of it: everything is read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How an anchor is read for a question.

    By `segments` of the word index, and where there are none by all entries. The `walked` cells
    are those whose vectors come from their index.
    """

    segments: int = 0
    walked: tuple[tuple[Tier, Typology], ...] = ()

    @property
    def indexed(self) -> bool:
        """Whether there is a word index to read."""
        return self.segments > 0

    @property
    def sampled(self) -> int:
        """How many entries of each segment stand for the anchor."""
        return -(-SAMPLED // max(self.segments, 1))

    @classmethod
    def of(cls, cells: Sequence[Mapping[str, int]]) -> Reading:
        """How an anchor is read whose segments hold so many entries of each cell."""
        walked = tuple(
            (tier, typology)
            for tier in Tier
            for typology in Typology
            if sum(held.get(f"{tier}_{typology}", 0) for held in cells) >= WALKED_FROM
        )
        return cls(len(cells), walked)


@dataclass(frozen=True, slots=True)
class NominationStatements:
    """Composes the statements for one form of question and one way to read."""

    family: Family
    scope: Scope
    recall: RecallStatement

    def sizes(self) -> Statement:
        """The statement that asks what the word index covers."""
        return self._made("sizes")

    def compose(self, reading: Reading) -> dict[str, Statement]:
        """The statements by name: only of signals that count."""
        weights, query = self.recall.query.weights, self.recall.query
        found = {"facts": self._made("facts"), "block": self._block(reading)}
        if reading.indexed:
            found["segments"] = self._made("segments")
            if query.narrowed:
                found["allowed"] = self._made("allowed")
            if weights.get(Signal.LEXICAL):
                found["words"] = self._made("words")
        if weights.get(Signal.SEMANTIC) and query.vector is not None:
            found |= self._meaning(reading)
        if weights.get(Signal.DECAY):
            found["newest"] = self._made("newest")
        if weights.get(Signal.TIME) and query.windows:
            found["dated"] = self._made("dated")
        if weights.get(Signal.ENVELOPE) and query.envelope:
            found["enveloped"] = self._made("enveloped", envelope=self.recall.envelope())
        return found

    def _block(self, reading: Reading) -> Statement:
        """The entries that no segment holds; where no words count, without them."""
        spoken = bool(self.recall.query.weights.get(Signal.LEXICAL))
        words = self._part("words_of" if spoken else "no_words")
        parts = {"tail": "", "of_tail": "", "told": "0", "gone": "NULL::bytea", "words": words}
        if reading.indexed:
            tail = {name: self._part(name) for name in ("tail", "of_tail", "gone")}
            parts |= tail | {"told": "(SELECT count(*) FROM told)"}
        return self._made("block", **parts)

    def _meaning(self, reading: Reading) -> dict[str, Statement]:
        """The distances of all vectors, or of the nearest of large cells and all of small ones."""
        if not reading.walked:
            return {"compared": self._made("compared")}
        found = {"sample": self._made("sample")}
        asked = [
            cell
            for cell in self.family.spec.typology.cells()
            if cell[0] in self.recall.query.filters.tiers
        ]
        # What is narrowed may be a few among many, which a walk would not meet.
        walked = [] if self.recall.query.narrowed else [c for c in asked if c in reading.walked]
        for tier, typology in walked:
            cell = {"tier": tier.value, "typology": typology.value}
            found[f"walked {tier} {typology}"] = self._made("walked", **cell)
        small = [cell for cell in asked if cell not in walked]
        if small:
            cells = (f"m.tier = '{t.value}' AND m.typology = '{y.value}'" for t, y in small)
            found["rest"] = self._made("rest", cells=" OR ".join(cells))
        return found

    def _made(self, name: str, **more: str) -> Statement:
        return statement(self._part(name, **more), prepared=True)

    def _part(self, name: str, **more: str) -> str:
        return self.recall.part(templates.query(_FILE, name), **more)
