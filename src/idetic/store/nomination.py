"""What an anchor nominates for a question: the best of every signal, and its statistics.

Words come from the word index and from the entries that it does not hold, and are added up here;
vectors are compared in the database. What is nominated is then scored by one statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np

from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Signal
from idetic.store.driver import Rows
from idetic.store.family import cell_number
from idetic.store.fusion import Candidates
from idetic.store.members import Array, KeptAnchor, Members, id_array
from idetic.store.nomination_statements import SAMPLED, NotIndexed, SparseWalk
from idetic.store.recall_grounds import QuestionGrounds
from idetic.store.recall_query import RecallQuery
from idetic.store.recall_statement import MOST_TAIL, OF_THE_ROW, POOL
from idetic.store.vector_sample import VectorSample
from idetic.store.word_scores import Postings, WordScores

# What is nearest is at least so much nearer than what is near by chance; more among a handful of
# entries, which say little about chance.
_APART, _FEW, _FEW_APART = 0.1, 20, 0.3
_TIERS = [tier.value for tier in Tier]


@dataclass(frozen=True, slots=True)
class Nomination:
    """The candidates of one question, with what their scores depend on beside themselves.

    `at` are their places among the members; `median` says how far an entry of this anchor is by
    chance, which is at least `apart` behind the nearest. `dated`: the question names a time.
    """

    at: Array
    members: Members
    words: WordScores
    distances: Array
    measured: bool
    median: float | None
    apart: float
    considered: int
    embedded: int
    active_profile: UUID | None
    grounds: QuestionGrounds
    dated: bool

    def values(self) -> dict[str, Any]:
        """The candidates as a statement reads them: ids, and those whose distance is missing."""
        ids = self.members.ids[self.at]
        missing = ~np.isfinite(self.distances[self.at]) & (not self.measured)
        return {"ids": id_array(ids), "unmeasured": id_array(ids[missing])}

    def candidates(self, rows: Rows) -> Candidates:
        """The candidates that are visible, with what a statement read off them."""
        ids, *packed = (column or b"" for column in rows[0])
        at = self.members.find_packed(ids)
        # `>f8` as it travels is slow to reckon with.
        tiers, late, asks, *read = (np.frombuffer(p, ">f8").astype(np.float64) for p in packed)
        known = self.distances[at]
        late[np.isnan(late)] = np.inf
        distances = np.where(np.isfinite(known), known, late)
        # By the best that is visible: what was archived since is still among the members.
        shares = self.words.scores[at] / (self.words.scores[at].max(initial=0.0) or 1.0)
        values = dict(zip(OF_THE_ROW, read, strict=True))
        # By its square: what shares a common word or two with the question says little by that. A
        # vector knows most of what a long entry says: there words count less.
        by_words = shares**2 * (0.2 + 0.8 * self.words.brevity if self.words.rarity else np.nan)
        # Where entries are long, how long one is says nothing, nor that it names some time.
        values[Signal.STATEMENT] = 1 - self.words.brevity * (1 - values[Signal.STATEMENT])
        if not self.dated:
            values[Signal.TIME] *= self.words.brevity
        values |= {Signal.SEMANTIC: self._nearness(distances), Signal.LEXICAL: by_words}
        return Candidates(
            self.members.ids[at],
            [_TIERS[int(tier)] for tier in tiers],
            distances,
            values,
            self.words.covered[at],
            shares,
            self.members.places[at],
            at,
            asks > 0,
            self.words.brevity,
        )

    def _nearness(self, distances: Array) -> Array:
        """From 0 for what is as near as half of this anchor to 1 for the nearest.

        Fixed bounds do not carry over: unrelated texts have a cosine of 0.4 in one anchor and of
        0.6 in another.
        """
        best = distances.min(initial=np.inf)
        if self.median is None or not np.isfinite(best):
            return np.full(len(distances), np.nan)
        middle = max(self.median, best + self.apart)
        scaled = np.maximum(0.0, (middle - distances) / (middle - best))
        return np.where(np.isfinite(distances), scaled, np.nan)


def nominate(
    spec: MemorySpec, query: RecallQuery, found: Mapping[str, Rows], kept: KeptAnchor | None
) -> Nomination:
    """What the statements of a reading found, as one nomination.

    `kept` is the word index that they were asked beside; without it they read everything.
    """
    block, told, gone = _block(found["block"])
    firsts: dict[UUID, int] = {}
    indexed = None
    if kept is not None:
        if told > MOST_TAIL:
            raise NotIndexed
        if _is_sparse(query, found, kept):
            raise SparseWalk
        starts = np.cumsum([0, *map(len, kept.segments.values())]).tolist()
        firsts = dict(zip(kept.segments, starts, strict=False))
        indexed = kept.whole
    sample = None if kept is None else _sample(query, found, kept)
    ground = _Ground(query, found, _members(query, indexed, block, gone, found), sample)
    ground.count_words(spec, _postings(found, firsts, len(indexed) if indexed else 0))
    ground.compare()
    return ground.nomination()


def _is_sparse(query: RecallQuery, found: Mapping[str, Rows], kept: KeptAnchor) -> bool:
    """Whether a walk met too few of this anchor's vectors, though their profile is in use."""
    walks = [rows[0][0] or b"" for name, rows in found.items() if name.startswith("walked")]
    few = len(kept.whole) > 2 * POOL and any(len(ids) < 16 * POOL for ids in walks)
    return few and found["facts"][0][2] == query.profile_id


def _sample(query: RecallQuery, found: Mapping[str, Rows], kept: KeptAnchor) -> VectorSample | None:
    """The vectors drawn by chance: read, or kept from an earlier question.

    While most of them are not made yet, they are read again.
    """
    for row in found.get("sample", []):
        sample = VectorSample.read(*row)
        if 2 * len(sample) < min(SAMPLED, len(kept.whole)):
            return sample
        kept.samples[query.profile_id] = sample
    return kept.samples.get(query.profile_id)


def _block(rows: Rows) -> tuple[Members, int, Array]:
    """The entries that no segment holds, how many the chain told of, and which of them are gone."""
    ids, members, told, gone = next(row[1:] for row in rows if row[0] is None)
    return Members.read(ids, members), told or 0, Members.read(gone, b"").ids


@dataclass(slots=True)
class _Asked:
    """The members that a question is asked of.

    `wanted` says which of all that were read they are, `counted` which of them are no mere
    neighbours.
    """

    members: Members
    wanted: Array
    counted: Array


def _members(
    query: RecallQuery,
    indexed: Members | None,
    block: Members,
    gone: Array,
    found: Mapping[str, Rows],
) -> _Asked:
    """Everything that was read, without what the question's filters exclude."""
    if indexed is None:
        everything = np.ones(len(block), bool)
        return _Asked(block, everything, everything)
    whole = indexed.followed(block)
    wanted = np.ones(len(whole), bool)
    at = indexed.find(gone)
    wanted[at[at >= 0]] = False
    filters = query.filters
    if set(filters.tiers) != set(Tier) or filters.typologies:
        cells = [
            cell_number(tier, typology)
            for tier in filters.tiers
            for typology in filters.typologies or Typology
        ]
        wanted &= np.isin(whole.cells, cells)
    if "allowed" in found:
        allowed = Members.read(found["allowed"][0][0], b"")
        wanted &= allowed.find(whole.ids) >= 0
    # An entry that a segment holds stands in the block only beside its neighbours.
    counted = np.concatenate([np.ones(len(indexed), bool), indexed.find(block.ids) < 0])
    if wanted.all():
        return _Asked(whole, wanted, counted)
    return _Asked(whole.only(wanted), wanted, counted[wanted])


def _postings(
    found: Mapping[str, Rows], firsts: Mapping[UUID, int], indexed: int
) -> dict[str, Postings]:
    """The postings of every word of the question, by places among all that was read."""
    blocks: dict[str, list[tuple[int, bytes]]] = {}
    for lexeme, segment_id, postings in found.get("words", []):
        blocks.setdefault(lexeme, []).append((firsts[segment_id], postings))
    for lexeme, postings, *_ in found["block"]:
        if lexeme is not None:
            blocks.setdefault(lexeme, []).append((indexed, postings))
    return {lexeme: Postings.read(held) for lexeme, held in blocks.items()}


@dataclass(slots=True)
class _Ground:
    """The members of a question with their scores and distances, from which candidates come."""

    query: RecallQuery
    found: Mapping[str, Rows]
    asked: _Asked
    sample: VectorSample | None
    words: WordScores = field(init=False)
    distances: Array = field(init=False)
    nearest: float | None = None
    median: float | None = None
    apart: float = _APART
    measured: bool = False

    def count_words(self, spec: MemorySpec, postings: Mapping[str, Postings]) -> None:
        """Score every member by the question's words, where they count."""
        window = spec.retrieval.neighbours
        wanted = self.asked.wanted
        if not wanted.all():
            postings = {word: found.only(wanted) for word, found in postings.items()}
        scores = WordScores(self.asked.members, window.before, window.after, self.asked.counted)
        self.words = scores.add_all(postings)

    def compare(self) -> None:
        """Take over the distances, and how near an entry of this anchor is by chance."""
        members = self.asked.members
        self.distances = np.full(len(members), np.inf)
        for name, rows in self.found.items():
            if name.startswith(("compared", "rest", "walked")):
                # Of an entry in several pieces, the distance of its nearest.
                ((ids, distances),) = rows
                at, near = members.find_packed(ids), np.frombuffer(distances or b"", ">f8")
                np.minimum.at(self.distances, at[at >= 0], near[at >= 0])
        self.distances[~self.asked.counted] = np.inf
        known = self.distances[np.isfinite(self.distances)]
        # What was walked knows the nearest alone; else every entry was compared.
        self.measured = not any(name.startswith("walked") for name in self.found)
        if not len(known):
            return
        near = known
        if not self.measured and self.sample is not None:
            near = self.sample.distances(self.query.vector or ())
        self.nearest = float(known.min())
        self.apart = _FEW_APART if len(near) < _FEW else _APART
        self.median = float(np.median(near)) if len(near) else self.nearest

    def nomination(self) -> Nomination:
        """The candidates, and what the anchor says about the question as a whole."""
        considered = int(self.asked.counted.sum())
        known = int(np.isfinite(self.distances).sum())
        ((terms, named, profile),) = self.found["facts"]
        spoken = bool(self.query.weights.get(Signal.LEXICAL))
        grounds = QuestionGrounds(
            considered,
            None if self.nearest is None else -self.nearest,
            self.words.rarity if spoken else None,
            tuple(terms),
            tuple(named),
            float(self.words.covered.max(initial=0.0)),
        )
        return Nomination(
            self._candidates(),
            self.asked.members,
            self.words,
            self.distances,
            self.measured,
            self.median,
            self.apart,
            considered,
            known if self.measured else considered,
            profile,
            grounds,
            bool(self.query.windows),
        )

    def _candidates(self) -> Array:
        """The best of every signal, each once: what one of them ranks among its best is scored."""
        weights, counted = self.query.weights, self.asked.counted
        chosen = []
        if weights.get(Signal.SEMANTIC):
            chosen.append(_lowest(self.distances, np.isfinite(self.distances)))
        if weights.get(Signal.LEXICAL):
            chosen.append(_lowest(-self.words.scores, self.words.scores > 0))
        for name in ("newest", "dated", "enveloped"):
            for (ids,) in self.found.get(name, []):
                at = self.asked.members.find_packed(ids)
                # More dated entries than a pool say nothing about which of them is meant.
                if len(at) <= POOL:
                    chosen.append(at[at >= 0])
        if not chosen:
            return np.empty(0, np.int64)
        found: Array = np.unique(np.concatenate(chosen))
        return found[counted[found]]


def _lowest(values: Array, among: Array) -> Array:
    """Where the lowest values stand, as many as a pool, and all that equal the last of them."""
    at: Array = np.flatnonzero(among)
    if len(at) > POOL:
        bound = np.partition(values[at], POOL - 1)[POOL - 1]
        at = at[values[at] <= bound]
    return at
