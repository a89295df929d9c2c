"""What the indexes of a large anchor nominate for a question: the best of every signal.

Words come as posting blocks from the word index and are added up here: in the database the same
sum took the sketch four times as long. What is nominated is then scored by one statement, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from idetic.model import Scope
from idetic.spec.primitives import Signal
from idetic.store import templates
from idetic.store.driver import Rows
from idetic.store.family import Family
from idetic.store.scope import quoted
from idetic.store.templates import Fillers, Statement, filled, statement

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from idetic.store.recall_query import RecallQuery

_FILE = "queries/nomination.sql"
_RECALL = "queries/recall.sql"
# Of each signal so many are candidates (`POOL` in recall_statement.py). Words nominate some more:
# their index rounds an entry's length, and knows no neighbour beyond its segment.
NOMINATED = 100
WORDED = 150
# A longer tail is read with everything else, as if nothing were indexed.
MOST_TAIL = 4_000
# So many entries, drawn by chance, say what is near by chance. Chosen: the ten best stay the same
# (bench.anchor).
SAMPLED = 640
# HNSW is walked where an anchor has so many vectors in a cell; fewer are compared one by one, which
# misses none. How large the index is in all is no role's to know: catalogs may be closed.
WALKED_FROM = 10_000


@dataclass(frozen=True, slots=True)
class Nomination:
    """The candidates of one question, and what their scores depend on beside themselves.

    `ids` are entries that an index named, `tail` those that no segment covers. What words nominate
    are `places` in `segments`; `frequencies` says in how many entries each of the `lexemes` stands.
    """

    ids: Sequence[UUID]
    tail: Sequence[UUID]
    segments: Sequence[UUID]
    places: Sequence[int]
    lexemes: Sequence[str]
    frequencies: Sequence[int]
    entries: int
    own: int
    length: int
    sampled: int

    def values(self) -> dict[str, Any]:
        """The values of the statement that scores it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class NominationStatements:
    """The statements of one form of question, in the order in which they are sent."""

    family: Family
    scope: Scope
    query: RecallQuery
    vector_schema: str
    visible: str

    def compose(self) -> dict[str, Statement]:
        """The statements by name: only of signals that count."""
        weights, found = self.query.weights, {}
        found["segments"], found["tail"] = self._made("segments"), self._made("tail")
        if weights.get(Signal.LEXICAL):
            found["words"] = self._made("words")
        if weights.get(Signal.SEMANTIC) and self.query.vector is not None:
            found["meaning"] = self._meaning()
        if weights.get(Signal.DECAY):
            found["newest"] = self._made("newest")
        if weights.get(Signal.TIME) and self.query.windows:
            found["dated"] = self._made("dated")
        return found

    def _meaning(self) -> Statement:
        """The nearest of every cell: from its index, or compared one by one."""
        branches, counts = [], []
        for tier, typology in self.family.spec.typology.cells():
            cell = {
                "cell": f"{tier.value}_{typology.value}",
                "tier": tier.value,
                "typology": typology.value,
            }
            counts.append(self._part("of_cell", **cell))
            walked = self._part("walked", **cell)
            compared = self._part("compared", walked=walked, **cell)
            branches.append(self._part("nearest_walked", walked=walked, **cell))
            branches.append(self._part("nearest_compared", compared=compared, **cell))
        active = "active" if not self.family.log_table else "at_hand"
        profile = filled(templates.query(_RECALL, active), self._names())
        cells = " UNION ALL ".join(branches)
        return self._made("meaning", active=profile, counts=", ".join(counts), cells=cells)

    def _made(self, name: str, **more: str) -> Statement:
        return statement(self._part(name, **more), prepared=True)

    def _part(self, name: str, **more: str) -> str:
        return filled(templates.query(_FILE, name), {**self._names(), **more})

    def _names(self) -> Fillers:
        """What the file may name."""
        return {
            **self.family.names(),
            **self.family.scope_names(self.scope),
            "vector": quoted(self.vector_schema),
            "terms": templates.query(_RECALL, "terms"),
            "visible": self.visible,
            "pool": str(NOMINATED),
            "most_tail": str(MOST_TAIL),
            "walked_from": str(WALKED_FROM),
        }


def nominated(found: Mapping[str, Rows]) -> Nomination | None:
    """What the statements found, as one nomination; None where all entries have to be read."""
    segments, tail = found["segments"], found["tail"]
    if not segments or len(tail) > MOST_TAIL:
        return None
    lexemes, frequencies, picked = _best_words(segments, found.get("words", []))
    named = {row[0] for name in ("meaning", "newest", "dated") for row in found.get(name, [])}
    return Nomination(
        ids=list(named),
        tail=[row[0] for row in tail],
        segments=[segment for segment, _ in picked],
        places=[place for _, place in picked],
        lexemes=lexemes,
        frequencies=frequencies,
        entries=sum(row[1] for row in segments),
        own=sum(row[2] for row in segments),
        length=sum(row[3] for row in segments),
        sampled=-(-SAMPLED // len(segments)),
    )


def _best_words(segments: Rows, words: Rows) -> tuple[list[str], list[int], list[tuple[UUID, int]]]:
    """BM25 over every posting of the question's words: how frequent each is, and the best."""
    import numpy as np  # noqa: PLC0415 - importing idetic stays light

    blocks: dict[str, list[tuple[UUID, bytes]]] = {}
    for segment_id, lexeme, postings in words:
        blocks.setdefault(lexeme, []).append((segment_id, postings))
    sizes = [row[1] for row in segments]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first = {row[0]: start for row, start in zip(segments, starts.tolist(), strict=False)}
    entries, length = int(starts[-1]), sum(row[3] for row in segments)
    impacts = _impacts(round(length / max(entries, 1), 1))
    scores = np.zeros(entries, np.float32)
    frequencies = []
    for held in blocks.values():
        posted = np.frombuffer(b"".join(postings for _, postings in held), ">u4").astype(np.uint32)
        counts = [len(postings) // 4 for _, postings in held]
        offsets = np.repeat([first[segment_id] for segment_id, _ in held], counts)
        frequencies.append(len(posted))
        rarity = np.log(1 + (entries - len(posted) + 0.5) / (len(posted) + 0.5))
        # An entry has a word at most once among its postings, so none is added over.
        scores[(posted >> 16) + offsets] += rarity * impacts[posted & 0xFFFF]
    best = np.argpartition(-scores, WORDED)[:WORDED] if entries > WORDED else np.arange(entries)
    best = best[scores[best] > 0]
    which = np.searchsorted(starts, best, side="right") - 1
    places = (best - starts[which]).tolist()
    ids = [segments[at][0] for at in which.tolist()]
    return list(blocks), frequencies, list(zip(ids, places, strict=True))


@lru_cache(maxsize=64)
def _impacts(average: float) -> npt.NDArray[np.float32]:
    """What a posting adds to its entry's score, by its lower two bytes: how often, how long."""
    import numpy as np  # noqa: PLC0415

    often, long = np.divmod(np.arange(1 << 16, dtype=np.float32), 256)
    # As `postings_v1` in sql/family/words.sql keeps it.
    length = np.exp(long / 24) - 1
    found = often * 2.2 / (often + 0.3 + length * 0.9 / max(average, 1))
    return found.astype(np.float32)
