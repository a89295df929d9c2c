"""A question to one agent's memory: its form decides the statement, its values are bound to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.dates import DateWindow
from idetic.model import Entry, Origin, Scope, Standing, Tier, Typology, standing
from idetic.pieces import excerpt
from idetic.spec.primitives import Signal, SourceStrength
from idetic.store import scope as scoping
from idetic.store import word_index
from idetic.store.database import Database
from idetic.store.driver import Rows
from idetic.store.entries import Entries
from idetic.store.entry_sql import texts
from idetic.store.family import Family
from idetic.store.nomination import NominationStatements, nominated
from idetic.store.recall_grounds import HitGrounds, QuestionGrounds
from idetic.store.recall_statement import (
    NARROWING,
    NominatedStatement,
    RecallStatement,
    settings_of,
)
from idetic.store.templates import BoundStatement, Statement

DIMENSIONS = 384
# How often a question is asked of indexes that change while it is asked, and how many anchors are
# known to have none.
_TRIES = 3
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


_ALL = Filters()


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
            filters.as_of is None,
            filters.include_archived,
            filters.include_candidates,
            tuple(filters.tiers),
            tuple(self.envelope),
            tuple(filters.where),
            tuple(bool(getattr(filters, name)) for name in NARROWING),
        )

    @property
    def plain(self) -> bool:
        """Whether it is asked of all that holds now: then the indexes of an anchor can nominate."""
        return self.filters == _ALL and not (self.envelope and self.weights.get(Signal.ENVELOPE))

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
class SignalScore:
    """One signal's word on one hit: its rank among the candidates, and its value from 0 to 1."""

    rank: int | None
    value: float | None
    contribution: float


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
    # How rare each word of the question is in this anchor.
    rarity: Mapping[str, float]
    grounds: QuestionGrounds


@dataclass(frozen=True, slots=True)
class _Forms:
    """The statements of one form of question: all entries read, or nominated and then scored."""

    exhaustive: Statement
    scored: Statement
    nominating: Mapping[str, Statement]


def _remember(anchors: set[UUID], one: UUID) -> None:
    """Add an anchor to what is known, which has an end."""
    if len(anchors) >= _REMEMBERED:
        anchors.clear()
    anchors.add(one)


@dataclass(slots=True)
class Recalls:
    """Asks one family's memory.

    A small anchor is read as a whole; in a large one the indexes nominate, and what they nominate
    is scored. The statements are long: each connection prepares them once per form of question.
    """

    database: Database
    family: Family
    entries: Entries
    vector_schema: str
    forms: dict[tuple[Any, ...], _Forms] = field(default_factory=dict)
    # Anchors whose size this process knows: those that are read as a whole, those with an index.
    _small: set[UUID] = field(default_factory=set)
    _large: set[UUID] = field(default_factory=set)

    async def ask(self, scope: Scope, query: RecallQuery) -> RecallAnswer:
        """Question in, explained hits out: one round trip, or two where indexes nominate."""
        forms, values = self._forms(scope, query), query.values(scope)
        anchor = values["anchor_id"]
        if query.plain and anchor is not None and await self._indexed(scope, forms, values):
            answer = await self._nominated(scope, query, forms, values)
            if answer is not None:
                return answer
            self._large.discard(anchor)
        settings = settings_of(self.database)
        rows = await self.database.run(scope, forms.exhaustive, values, settings=settings)
        answer = self._answer(scope, query, rows)
        self._small.discard(anchor)
        if query.plain and answer.considered < word_index.INDEXED_FROM:
            _remember(self._small, anchor)
        return answer

    async def _indexed(self, scope: Scope, forms: _Forms, values: Mapping[str, Any]) -> bool:
        """Whether an anchor has a word index; of one that is not known yet, that alone is asked."""
        anchor = values["anchor_id"]
        if anchor not in self._small and anchor not in self._large:
            if not await self.database.run(scope, forms.nominating["segments"], values):
                return False
            _remember(self._large, anchor)
        return anchor in self._large

    def _forms(self, scope: Scope, query: RecallQuery) -> _Forms:
        """The statements for this form of question, composed once."""
        key = query.form(scope)
        forms = self.forms.get(key)
        if forms is None:
            of = (self.family, scope, query, self.vector_schema)
            whole, scored = RecallStatement(*of), NominatedStatement(*of)
            nominating = NominationStatements(*of, scored.visible).compose()
            forms = _Forms(whole.compose(self.entries), scored.compose(self.entries), nominating)
            self.forms[key] = forms
        return forms

    async def _nominated(
        self, scope: Scope, query: RecallQuery, forms: _Forms, values: Mapping[str, Any]
    ) -> RecallAnswer | None:
        """The answer by nomination; None where there is no index to nominate from.

        A segment may be made anew between the two round trips: then it is asked once more.
        """
        settings = settings_of(self.database)
        for _ in range(_TRIES):
            calls = [BoundStatement(each, values) for each in forms.nominating.values()]
            found = await self.database.read_each(scope, calls, settings=settings)
            nomination = nominated(dict(zip(forms.nominating, found, strict=True)))
            if nomination is None:
                return None
            known = {**values, **nomination.values()}
            rows = await self.database.run(scope, forms.scored, known, settings=settings)
            if rows[0][0]:
                return self._answer(scope, query, rows)
        return None

    def _answer(self, scope: Scope, query: RecallQuery, rows: Rows) -> RecallAnswer:
        """The rows of a recall: what it looked at, then its hits."""
        _, considered, candidates, embedded, profile, rarity, words, named, covered, near = rows[0][
            :10
        ]
        hits = [self._hit(scope, row[10:]) for row in rows if row[10] is not None]
        spoken = (rarity or {}) if query.weights.get(Signal.LEXICAL) else None
        grounds = QuestionGrounds(
            considered, near, spoken, tuple(words), tuple(named), covered or 0.0
        )
        return RecallAnswer(hits, considered, candidates, embedded, profile, rarity or {}, grounds)

    def _hit(self, scope: Scope, row: tuple[Any, ...]) -> Hit:
        """A hit: its score, three columns by signal, nearness, strength, grounds, its entry."""
        signals = {}
        for at, signal in zip(range(1, len(row), 3), Signal, strict=False):
            rank, value, contribution = row[at : at + 3]
            signals[signal] = SignalScore(rank, value, contribution or 0.0)
        similarity, piece, strength, covered, share, words, *entry = row[1 + 3 * len(Signal) :]
        known = SourceStrength(strength) if strength else None
        made = self.entries.entry(scope, tuple(entry))
        grounds = HitGrounds(covered or 0.0, share or 0.0, words or 0)
        return Hit(made, row[0], signals, known, similarity, piece, grounds=grounds)
