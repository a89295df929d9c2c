"""What an anchor nominates for a question: the best of every signal, and its statistics.

Words come from the word index and from the entries that it does not hold, and are added up here;
vectors are compared in the database. What is nominated is then scored by one statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from idetic.dates import asks_when
from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Signal
from idetic.store.driver import Rows
from idetic.store.family import CELLS, cell_number
from idetic.store.fusion import Candidates
from idetic.store.kept_anchors import KeptAnchor
from idetic.store.kept_vectors import COMPARED, KeptVectors
from idetic.store.members import Members, id_array, ids_of
from idetic.store.nomination_statements import (
    SAMPLED,
    NotIndexed,
    Outdated,
    Reading,
    SparseWalk,
)
from idetic.store.recall_grounds import QuestionGrounds
from idetic.store.recall_query import RecallQuery
from idetic.store.recall_statement import MOST_TAIL, POOL
from idetic.store.traits import Array, Traits
from idetic.store.word_scores import Postings, Reach, WordScores

# What is nearest is at least so much nearer than what is near by chance; more among a handful of
# entries, which say little about chance.
_APART, _FEW, _FEW_APART = 0.1, 20, 0.3
_TIERS = [tier.value for tier, _ in CELLS]


@dataclass(slots=True)
class Nomination:
    """The candidates of one question, with what their scores depend on beside themselves.

    `at` are their places among the members; `median` says how far an entry of this anchor is by
    chance, which is at least `apart` behind the nearest. `matched` is how much of the question's
    envelope each member has. `dated`: the question names a time.
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
    matched: Array | None

    def unmeasured(self) -> str:
        """The candidates whose distance is missing, as a statement reads them; none is empty."""
        missing = ~np.isfinite(self.distances[self.at]) & (not self.measured)
        return id_array(self.members.at(self.at[missing]).ids) if missing.any() else ""

    def measure(self, rows: Rows) -> None:
        """Take over the distances of what was missing: of an entry in pieces, the nearest one's."""
        _measure(self.members, rows, self.distances)

    def candidates(self, spec: MemorySpec, query: RecallQuery) -> Candidates:
        """The candidates with the values of every signal."""
        at, brevity = self.at, self.words.brevity
        members, distances = self.members.at(at), self.distances[at]
        traits = members.traits
        shares = self.words.scores[at] / (self.words.scores[at].max(initial=0.0) or 1.0)
        # By its square: what shares a common word or two with the question says little by that. A
        # vector knows most of what a long entry says: there words count less.
        by_words = shares**2 * (0.2 + 0.8 * brevity if self.words.rarity else np.nan)
        values = {
            Signal.DECAY: traits.freshness(spec, query.moment),
            # Where entries are long, how long one is says nothing, nor that it names some time.
            Signal.STATEMENT: 1 - brevity * (1 - traits.statement()),
            Signal.VOICE: traits.voice(spec),
            Signal.SPEAKER: traits.named(query.names),
            Signal.TIME: _timely(traits, query, brevity),
            Signal.ENVELOPE: np.zeros(len(at)) if self.matched is None else self.matched[at],
            Signal.SEMANTIC: self._nearness(distances),
            Signal.LEXICAL: by_words,
        }
        return Candidates(
            members.ids,
            [_TIERS[cell] for cell in traits.cells.tolist()],
            distances,
            values,
            self.words.covered[at],
            shares,
            members.homes,
            at,
            traits.asks,
            brevity,
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
    spec: MemorySpec,
    query: RecallQuery,
    found: Mapping[str, Rows],
    kept: KeptAnchor | None,
    reading: Reading,
    *,
    again: bool = False,
) -> Nomination:
    """What the statements of a reading found, as one nomination.

    `kept` is the word index that they were asked beside; without it they read everything. `again`:
    what had changed of it was read once more for this question, and is not read a third time.
    """
    block, told = _block(found["block"])
    if kept is not None:
        kept.waiting = len(told)
        if len(told) > MOST_TAIL:
            raise NotIndexed
        if not again and kept.outdated(told):
            raise Outdated
        if _is_sparse(query, found, kept):
            raise SparseWalk
    indexed = None if kept is None else kept.whole
    asked = _members(query, indexed, block, told[block.find(told) < 0], found)
    ground = _Ground(query, found, asked, _words(spec, query, asked, found, kept, reading))
    ground.compare(kept, held=reading.held)
    return ground.nomination()


def _timely(traits: Traits, query: RecallQuery, brevity: float) -> Array:
    """How well the time of each fits the dates in a question, or tells the time it asks for."""
    fits = traits.within(query.windows) if query.windows else np.zeros(len(traits.asks))
    if asks_when(query.text):
        fits = np.maximum(fits, traits.telling())
    return fits if query.windows else fits * brevity


def _measure(members: Members, rows: Rows, distances: Array) -> Array:
    """Take over distances by their entries, of one in several pieces its nearest; of which."""
    ((ids, packed),) = rows
    at, near = members.find_packed(ids), np.frombuffer(packed or b"", ">f8")
    np.minimum.at(distances, at[at >= 0], near[at >= 0])
    return np.unique(at[at >= 0])


def _is_sparse(query: RecallQuery, found: Mapping[str, Rows], kept: KeptAnchor) -> bool:
    """Whether a walk met too few of this anchor's vectors, though their profile is in use."""
    walks = [rows[0][0] or b"" for name, rows in found.items() if name.startswith("walked")]
    few = len(kept.whole) > 2 * POOL and any(len(ids) < 16 * POOL for ids in walks)
    return few and found["facts"][0][2] == query.profile_id


def _sample(query: RecallQuery, found: Mapping[str, Rows], kept: KeptAnchor) -> KeptVectors | None:
    """The vectors drawn by chance: read, or kept from an earlier question.

    While most of them are not made yet, they are read again.
    """
    for ids, packed in found.get("sample", []):
        if not ids:
            return None
        sample = KeptVectors.read(ids, packed, None)
        sample = sample.placed(kept.whole.find(sample.ids))
        if 2 * sample.entries < min(SAMPLED, len(kept.whole)):
            return sample
        kept.samples[query.profile_id] = sample
    return kept.samples.get(query.profile_id)


def _block(rows: Rows) -> tuple[Members, Array]:
    """The entries that no segment holds, and the ids of those that the chain told of."""
    ids, members, told, *more = next(row[1:] for row in rows if row[0] is None)
    return Members.read(ids, members, *more), ids_of(told)


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
        wanted &= whole.among(found["allowed"][0][0])
    # An entry that a segment holds stands in the block only beside its neighbours.
    counted = np.concatenate([np.ones(len(indexed), bool), indexed.find(block.ids) < 0])
    if wanted.all():
        return _Asked(whole, wanted, counted)
    return _Asked(whole.at(wanted), wanted, counted[wanted])


def _words(
    spec: MemorySpec,
    query: RecallQuery,
    asked: _Asked,
    found: Mapping[str, Rows],
    kept: KeptAnchor | None,
    reading: Reading,
) -> WordScores:
    """Every member's score by the words of the question."""
    window = spec.retrieval.neighbours
    scores = WordScores(asked.members, window.before, window.after, asked.counted)
    late = {lexeme: [(0, row)] for lexeme, row, *_ in found["block"] if lexeme is not None}
    if kept is None or not query.weights.get(Signal.LEXICAL):
        return scores.add_all({word: scores.reach(Postings.read(late[word])) for word in late})
    terms = found["facts"][0][0]
    words = kept.words_of(terms, reading.words, found.get("words", []))
    first = len(kept.whole)
    behind = {term: Postings.read(late.get(term, ())) for term in terms}
    if not asked.wanted.all():
        joined = {term: words[term].postings.followed(behind[term], first) for term in terms}
        return scores.add_all(
            {term: scores.reach(each.only(asked.wanted)) for term, each in joined.items()}
        )
    early = {term: words[term].reach(kept.whole, window.before, window.after) for term in terms}
    if len(asked.members) == first:
        return scores.add_all({term: [reach] for term, reach in early.items()})
    block = asked.members.parts[-1].windows(window.before, window.after)
    counted = asked.counted[first:]
    return scores.add_all(
        {
            term: [reach, Reach.of(behind[term], block).after(first, counted)]
            for term, reach in early.items()
        }
    )


@dataclass(slots=True)
class _Ground:
    """The members of a question with their scores and distances, from which candidates come.

    `met` are the places whose distance is known.
    """

    query: RecallQuery
    found: Mapping[str, Rows]
    asked: _Asked
    words: WordScores
    distances: Array = field(init=False)
    met: Array = field(init=False)
    vectors: KeptVectors | None = None
    nearest: float | None = None
    median: float | None = None
    apart: float = _APART
    measured: bool = False
    # How many have a vector that this process does not keep.
    late: int = 0

    def compare(self, kept: KeptAnchor | None, *, held: bool) -> None:
        """Take over the distances, and how near an entry of this anchor is by chance."""
        members, counted = self.asked.members, self.asked.counted
        self.distances = np.full(len(members), np.inf)
        told = [
            _measure(members, rows, self.distances)
            for name, rows in self.found.items()
            if name.startswith(("compared", "rest", "walked"))
        ]
        self.met = np.unique(np.concatenate(told)) if told else np.empty(0, np.int64)
        # What was walked knows the nearest alone; else every entry was compared.
        self.measured = not any(name.startswith("walked") for name in self.found)
        by_chance = self._by_chance(kept, held=held) if kept is not None else None
        self.met = self.met[counted[self.met]]
        if not len(self.met):
            return
        near = self.distances[self.met] if by_chance is None else by_chance
        self.apart = _FEW_APART if len(near) < _FEW else _APART
        some = near if len(near) else self.distances[self.met].min(keepdims=True)
        self.median = float(np.median(some))

    def _by_chance(self, kept: KeptAnchor, *, held: bool) -> Array | None:
        """How near some entries are by chance; None where all are compared.

        The vectors that this process holds are compared first.
        """
        profile, asked = self.query.profile_id, self.query.vector or ()
        if not self.measured:
            sample = _sample(self.query, self.found, kept)
            return None if sample is None else sample.by_chance(asked)
        if not held or profile is None or self.found["facts"][0][2] != profile:
            return None
        self.vectors = _vectors_among(kept.vectors[profile].vectors, self.asked)
        if self.vectors is None:
            return None
        at, distances = self.vectors.nearest(asked, self.asked.counted)
        self.distances[at] = np.minimum(self.distances[at], distances)
        self.late = int(
            np.count_nonzero(self.asked.counted[self.met] & ~self.vectors.have(self.met))
        )
        self.met = np.unique(np.concatenate([self.met, at])) if len(self.met) else at
        return self.vectors.by_chance(asked) if len(self.vectors) > COMPARED else None

    def nomination(self) -> Nomination:
        """The candidates, and what the anchor says about the question as a whole."""
        considered = int(np.count_nonzero(self.asked.counted))
        at = self._candidates()
        self._complete(at)
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
            at,
            self.asked.members,
            self.words,
            self.distances,
            self.measured,
            self.median,
            self.apart,
            considered,
            self._embedded() if self.measured else considered,
            profile,
            grounds,
            self._matched(),
        )

    def _complete(self, at: Array) -> None:
        """Compare the candidates closely, those of other signals for the first time."""
        if self.vectors is not None:
            where, distances = self.vectors.near(self.query.vector or (), at)
            self.distances[where] = distances
        known = self.distances[at][np.isfinite(self.distances[at])]
        self.nearest = float(known.min()) if len(known) else None

    def _embedded(self) -> int:
        """How many entries have a vector."""
        return len(self.met) if self.vectors is None else self.vectors.entries + self.late

    def _matched(self) -> Array | None:
        """How much of the question's envelope each member has."""
        if "enveloped" not in self.found:
            return None
        found = np.zeros(len(self.asked.members))
        ((ids, shares),) = self.found["enveloped"]
        at = self.asked.members.find_packed(ids)
        found[at[at >= 0]] = np.frombuffer(shares or b"", ">f8")[at >= 0]
        return found

    def _candidates(self) -> Array:
        """The best of every signal, each once: what one of them ranks among its best is scored."""
        weights, counted = self.query.weights, self.asked.counted
        chosen = []
        if weights.get(Signal.SEMANTIC):
            chosen.append(_lowest(self.distances, self.met))
        if weights.get(Signal.LEXICAL):
            chosen.append(_lowest(-self.words.scores, self.words.best(POOL)))
        if weights.get(Signal.DECAY):
            chosen.append(self.asked.members.newest(POOL))
        if weights.get(Signal.TIME):
            chosen.append(self._dated())
        if (matched := self._matched()) is not None:
            chosen.append(_lowest(-matched, np.flatnonzero(matched)))
        if not chosen:
            return np.empty(0, np.int64)
        found: Array = np.unique(np.concatenate(chosen))
        return found[counted[found]]

    def _dated(self) -> Array:
        """What lies within the dates that are sure; more than a pool do not say which is meant."""
        windows = [window for window in self.query.windows if window.sure >= 1]
        inside = np.zeros(len(self.asked.members), bool)
        for window in windows:
            valid = self.asked.members.valid
            inside |= (valid >= window.since.timestamp()) & (valid < window.until.timestamp())
        found = np.flatnonzero(inside)
        return found if len(found) <= POOL else found[:0]


def _vectors_among(vectors: KeptVectors | None, asked: _Asked) -> KeptVectors | None:
    """The vectors by the places of the members that a question is asked of."""
    if vectors is None or asked.wanted.all():
        return vectors
    places = np.where(asked.wanted, np.cumsum(asked.wanted) - 1, -1)
    return vectors.placed(places[vectors.at])


def _lowest(values: Array, at: Array) -> Array:
    """Where the lowest of some values stand, as many as a pool, and all that equal the last."""
    some = values[at]
    return at[some <= np.partition(some, POOL - 1)[POOL - 1]] if len(at) > POOL else at
