"""A question to one agent's memory: its form decides the statement, its values are bound to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from idetic.dates import DateWindow, asks_when
from idetic.model import Entry, Origin, Scope, Standing, Tier, Typology, standing
from idetic.pieces import excerpt
from idetic.spec.primitives import Signal, SourceStrength
from idetic.store import scope as scoping
from idetic.store import word_index
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.entry_sql import texts
from idetic.store.family import Family
from idetic.store.nomination_statements import NominationStatements, NotIndexed, Reading
from idetic.store.recall_grounds import HitGrounds, QuestionGrounds, SignalScore
from idetic.store.recall_statement import NARROWING, RecallStatement, settings_of
from idetic.store.templates import BoundStatement, Statement

if TYPE_CHECKING:
    from idetic.store.fusion import Candidates
    from idetic.store.nomination import Nomination

DIMENSIONS = 384
# Of how many anchors it is remembered how they are read.
_REMEMBERED = 10_000
_NAME = re.compile(r"[^\W\d_]+")
# A capital within a sentence. "I" is none, and neither is what begins one.
_NAMED = re.compile(r"(?<![.!?:\"“] )(?<!^)\b(?!I\b)[A-Z][^\W\d_]+")
_NUMBERS = "[" + ",".join(["%.6g"] * DIMENSIONS) + "]"


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows a recall. The current view of every tier, unless said otherwise."""

    tiers: Sequence[Tier] = tuple(Tier)
    typologies: Sequence[Typology] = ()
    origins: Sequence[Origin] = ()
    min_trust: int = 0
    as_of: datetime | None = None
    include_archived: bool = False
    include_candidates: bool = False
    where: Mapping[str, Any] = field(default_factory=dict)
    sessions: Sequence[UUID] = ()
    since: datetime | None = None
    until: datetime | None = None
    # Of entries that mirror a log.
    min_importance: float | None = None


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question in the database's terms."""

    text: str
    limit: int
    at: datetime
    weights: Mapping[Signal, float]
    vector: Sequence[float] | None = None
    profile_id: UUID | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    filters: Filters = field(default_factory=Filters)
    windows: Sequence[DateWindow] = ()

    def form(self, scope: Scope) -> tuple[Any, ...]:
        """What the text of the statement depends on; the rest are its values."""
        filters = self.filters
        return (
            # The function that makes the predicate: no form outlives a test's sabotage.
            scoping.predicate,
            tuple(value is None for value in scope.anchor.values()),
            tuple(self.weights.items()),
            self.vector is None,
            bool(self.windows),
            asks_when(self.text),
            filters.as_of is None,
            filters.include_archived,
            filters.include_candidates,
            tuple(filters.tiers),
            tuple(self.envelope),
            tuple(filters.where),
            tuple(bool(getattr(filters, name)) for name in NARROWING),
        )

    @property
    def current(self) -> bool:
        """Whether it is asked of what holds now: then the word index knows every entry."""
        return self.filters.as_of is None and not self.filters.include_archived

    @property
    def narrowed(self) -> bool:
        """Whether it asks for more of an entry than that it is of some cells."""
        named = (name for name in NARROWING if name != "typologies")
        return bool(self.filters.where) or any(getattr(self.filters, name) for name in named)

    def values(self, scope: Scope) -> dict[str, Any]:
        """The values of the question, whether its form of the statement uses them or not."""
        filters = self.filters
        given = (*self.envelope.values(), *filters.where.values())
        return {
            **scoping.bound(scope),
            "text": self.text,
            "vector": None if self.vector is None else _NUMBERS % tuple(self.vector),
            "profile": self.profile_id,
            "limit": self.limit,
            "names": _NAME.findall(self.text.lower()),
            "named": " ".join(_NAMED.findall(self.text)),
            "time_since": [window.since for window in self.windows],
            "time_until": [window.until for window in self.windows],
            "time_sure": [window.sure for window in self.windows],
            "moment": filters.as_of or self.at,
            "typologies": [typology.value for typology in filters.typologies],
            "origins": [origin.value for origin in filters.origins],
            "min_trust": filters.min_trust,
            "sessions": list(filters.sessions),
            "since": filters.since,
            "until": filters.until,
            "min_importance": filters.min_importance,
            **{f"asked_{number}": texts(value) for number, value in enumerate(given)},
        }


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled entry, with every signal's rank and value: `explain` needs nothing more.

    `similarity` is the cosine of question and entry, of a long entry that of its piece number
    `piece`. `reranked` is its blend with the reranker's score, from 0 to 1, where one sits on top:
    the first twenty hits are then in its order. `relevance` is the share of hits of this value that
    are relevant, whatever the spec; None where neither meaning nor words count. `grounds` is what
    it was judged by, beside the similarity.
    """

    entry: Entry
    score: float
    signals: Mapping[Signal, SignalScore]
    strength: SourceStrength | None = None
    similarity: float | None = None
    piece: int | None = None
    reranked: float | None = None
    relevance: float | None = None
    grounds: HitGrounds = field(default_factory=HitGrounds)

    @property
    def standing(self) -> Standing:
        """What it is: something said, a fact, a preference, a note, or not confirmed yet."""
        return standing(self.entry)

    @property
    def excerpt(self) -> str:
        """The entry's text; of a long one the piece that the question met."""
        return excerpt(self.entry.body_text, self.piece)


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """What the database found, and how much it looked at."""

    hits: list[Hit]
    considered: int
    candidates: int
    embedded: int
    active_profile: UUID | None
    grounds: QuestionGrounds

    @property
    def rarity(self) -> Mapping[str, float]:
        """How rare each word of the question is in this anchor."""
        return self.grounds.rarity or {}


@dataclass(frozen=True, slots=True)
class _Forms:
    """The statements of one form of question: what the signals read, the best as entries, and what
    was said before those.
    """

    features: Statement
    whole: Statement
    before: Statement


@dataclass(slots=True)
class Recalls:
    """Asks one family's memory, in three round trips: what is nominated, what the signals read off
    that, and the best of it as entries.

    A small anchor is read as a whole, a large one through its indexes. The statements are long:
    each connection prepares them once per form of question.
    """

    database: Database
    family: Family
    entries: Entries
    vector_schema: str
    forms: dict[tuple[Any, ...], _Forms] = field(default_factory=dict)
    _nominating: dict[tuple[Any, ...], Mapping[str, Statement]] = field(default_factory=dict)
    # How the anchors are read that this process knows, and what it keeps of their indexes.
    _readings: dict[UUID, Reading] = field(default_factory=dict)
    _kept: Any = None

    async def ask(self, scope: Scope, query: RecallQuery) -> RecallAnswer:
        """Question in, explained hits out."""
        reading = await self._reading(scope, query)
        try:
            nomination = await self._nominated(scope, query, reading or Reading())
        except NotIndexed:
            nomination = await self._nominated(scope, query, Reading())
        # What has grown may have an index by now: its size is asked once more.
        if reading is not None and nomination.considered >= word_index.INDEXED_FROM:
            self._forget_unindexed(scope)
        candidates, hits = 0, []
        if len(nomination.at):
            scored = await self._scored(scope, query, nomination)
            candidates, hits = len(scored.tiers), await self._hits(scope, query, scored)
        return RecallAnswer(
            hits,
            nomination.considered,
            candidates,
            nomination.embedded,
            nomination.active_profile,
            nomination.grounds,
        )

    async def _scored(self, scope: Scope, query: RecallQuery, nomination: Nomination) -> Candidates:
        """The candidates with what the signals read off them."""
        forms = self._forms(scope, query)
        values = {**query.values(scope), **nomination.values()}
        settings = settings_of(self.database)
        rows = await self.database.run(scope, forms.features, values, settings=settings)
        return nomination.candidates(rows)

    async def _hits(self, scope: Scope, query: RecallQuery, scored: Candidates) -> list[Hit]:
        """The best of the candidates as hits, in their order."""
        scores = scored.fuse(self.family.spec.retrieval, query.weights)
        best = scored.best(scores, query.limit)
        top = [UUID(bytes=scored.ids[at].tobytes()) for at in best]
        values = {**query.values(scope), "top": top}
        settings = settings_of(self.database)
        whole = self._forms(scope, query).whole
        rows = await self.database.run(scope, whole, values, settings=settings)
        found = {row[0]: row[1:] for row in rows}
        return [
            self._hit(scope, scored, at, float(scores[at]), found[memory_id])
            for at, memory_id in zip(best, top, strict=True)
            if memory_id in found
        ]

    async def before(
        self, scope: Scope, query: RecallQuery, entries: Sequence[UUID]
    ) -> Mapping[UUID, str]:
        """What was said right before some entries, by entry; of the first of a place nothing."""
        if not entries:
            return {}
        values = {**query.values(scope), "short": list(entries)}
        settings = settings_of(self.database)
        rows = await self.database.run(
            scope, self._forms(scope, query).before, values, settings=settings
        )
        return dict(rows)

    async def _reading(self, scope: Scope, query: RecallQuery) -> Reading | None:
        """How the anchor is read; of one that is not known yet, the size of its index is asked.

        None for a question that no index knows all entries of.
        """
        anchor = scoping.bound(scope)["anchor_id"]
        unconfirmed = self.family.spec.retrieval.unconfirmed
        if (
            anchor is None
            or not query.current
            or query.filters.include_candidates is not unconfirmed
        ):
            return None
        if anchor not in self._readings:
            sizes = self._statements(scope, query).sizes()
            rows = await self.database.run(scope, sizes, scoping.bound(scope))
            self._remember(anchor, Reading.of([row[0] for row in rows]))
        return self._readings[anchor]

    def _remember(self, anchor: UUID, reading: Reading) -> None:
        """Remember how an anchor is read. What is remembered has an end."""
        if len(self._readings) >= _REMEMBERED:
            self._readings.clear()
        self._readings[anchor] = reading

    async def _nominated(self, scope: Scope, query: RecallQuery, reading: Reading) -> Nomination:
        """What the anchor nominates, read one way."""
        # Both load numpy: importing idetic stays light.
        from idetic.store.members import KeptSegments  # noqa: PLC0415
        from idetic.store.nomination import nominate  # noqa: PLC0415

        self._kept = self._kept or KeptSegments()
        key = (*query.form(scope), reading.indexed, reading.walked)
        statements = self._nominating.get(key)
        if statements is None:
            statements = self._statements(scope, query).compose(reading)
            self._nominating[key] = statements
        values = query.values(scope)
        anchor = values["anchor_id"]
        values |= {"kept": list(self._kept.of(anchor)), "sampled": reading.sampled}
        calls = [BoundStatement(each, values) for each in statements.values()]
        settings = settings_of(self.database)
        rows = await self.database.read_each(scope, calls, settings=settings)
        found = dict(zip(statements, rows, strict=True))
        if reading.indexed:
            self._readings.pop(anchor, None)
        nomination = nominate(self.family.spec, query, reading, found, self._kept, anchor)
        if reading.indexed:
            self._remember(anchor, Reading.of([row[1] for row in found["segments"]]))
        return nomination

    def _forget_unindexed(self, scope: Scope) -> None:
        """Forget that an anchor has no index."""
        anchor = scoping.bound(scope)["anchor_id"]
        if anchor in self._readings and not self._readings[anchor].indexed:
            del self._readings[anchor]

    def _statements(self, scope: Scope, query: RecallQuery) -> NominationStatements:
        """Composes what the anchor is asked."""
        recall = RecallStatement(self.family, scope, query, self.vector_schema)
        return NominationStatements(self.family, scope, recall)

    def _forms(self, scope: Scope, query: RecallQuery) -> _Forms:
        """The statements for this form of question, composed once."""
        key = query.form(scope)
        if key not in self.forms:
            recall = RecallStatement(self.family, scope, query, self.vector_schema)
            self.forms[key] = _Forms(recall.features(), recall.whole(self.entries), recall.before())
        return self.forms[key]

    def _hit(
        self, scope: Scope, scored: Candidates, at: int, score: float, row: tuple[Any, ...]
    ) -> Hit:
        """A candidate as a hit: what it scored, and its entry."""
        piece, strength, words, *entry = row
        return Hit(
            self.entries.entry(scope, tuple(entry)),
            score,
            {signal: scored.score_of(signal, at) for signal in Signal},
            SourceStrength(strength) if strength else None,
            scored.similarity(at),
            piece,
            grounds=scored.grounds(at, words or 0),
        )
