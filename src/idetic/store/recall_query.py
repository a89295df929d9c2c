"""A question to one agent's memory: its form decides the statement, its values are bound to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID
from weakref import WeakSet

from idetic.dates import DateWindow
from idetic.model import Entry, Origin, Scope, Standing, Tier, Typology, standing
from idetic.pieces import excerpt
from idetic.spec.primitives import Signal, SourceStrength
from idetic.store import scope as scoping
from idetic.store.database import Database
from idetic.store.driver import Rows
from idetic.store.embeddings import UNAWAITED
from idetic.store.entries import Entries
from idetic.store.entry_sql import texts
from idetic.store.family import Family
from idetic.store.nomination_statements import (
    NominationStatements,
    NotIndexed,
    Outdated,
    Reading,
    SparseWalk,
)
from idetic.store.recall_grounds import HitGrounds, QuestionGrounds, SignalScore
from idetic.store.recall_statement import NARROWING, RecallStatement, settings_of
from idetic.store.templates import BoundStatement, Statement, Values

if TYPE_CHECKING:
    from idetic.store.fusion import Candidates
    from idetic.store.kept_anchors import KeptAnchor, KeptSegments
    from idetic.store.nomination import Nomination

# What this process keeps of anchors, by every agent object: an erasure by one drops it in all.
_KEEPERS: WeakSet[KeptSegments] = WeakSet()
# What records that some entries were put before somebody.
ReadReceipt = Callable[[Sequence[UUID]], BoundStatement]
DIMENSIONS = 384
# Of how many anchors it is remembered that they have no index, and how large they are.
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

    @property
    def moment(self) -> datetime:
        """The moment that it is asked of."""
        return self.filters.as_of or self.at

    @property
    def names(self) -> frozenset[str]:
        """Its words as names of speakers."""
        return frozenset(_NAME.findall(self.text.lower()))

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
            "named": " ".join(_NAMED.findall(self.text)),
            "moment": self.moment,
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
    """One recalled entry, with the rank and value of every signal.

    `similarity` is the cosine of question and entry; for a long entry, of its nearest piece. The
    one to quote is `piece`.
    `reranked` blends the fused score with the reranker's, from 0 to 1; if it is set, the first
    twenty hits are in its order. `relevance` is the probability that the hit is relevant,
    comparable between specs; None if neither meaning nor words count. `grounds` has the other
    numbers behind `relevance`.
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
        """What the entry is to a reader: said, a fact, a preference, a note, or unconfirmed."""
        return standing(self.entry)

    @property
    def excerpt(self) -> str:
        """The entry's text; of a long entry, the piece that matches the question."""
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
    """The statements of one form of question: what a walk did not measure, the best as entries, and
    what was said before those.
    """

    measured: Statement
    whole: Statement
    before: Statement


@dataclass(slots=True)
class Recalls:
    """Asks one family's memory in two round trips: for what is nominated, for the best as entries.

    A small anchor is read as a whole, a large one through its indexes and what this process keeps
    of them. The statements are long: each connection prepares them once per form of question.
    """

    database: Database
    family: Family
    entries: Entries
    vector_schema: str
    forms: dict[tuple[Any, ...], _Forms] = field(default_factory=dict)
    _nominating: dict[tuple[Any, ...], Mapping[str, Statement]] = field(default_factory=dict)
    # What this process keeps of word indexes; and how many entries anchors have that have none.
    _kept: KeptSegments | None = None
    _unindexed: dict[UUID, int] = field(default_factory=dict)

    async def ask(
        self, scope: Scope, query: RecallQuery, receipt: ReadReceipt | None = None
    ) -> RecallAnswer:
        """Question in, explained hits out; a `receipt` records that these were read."""
        values = query.values(scope)
        nomination = await self._nominated(scope, query, values)
        if len(missing := nomination.unmeasured()):
            measured = self._forms(scope, query).measured
            asked = {**values, "unmeasured": missing}
            rows = await self.database.run(
                scope, measured, asked, settings=settings_of(self.database)
            )
            nomination.measure(rows)
        scored = nomination.candidates(self.family.spec, query)
        hits = await self._hits(scope, query, values, scored, receipt) if len(scored.tiers) else []
        return RecallAnswer(
            hits,
            nomination.considered,
            len(scored.tiers),
            nomination.embedded,
            nomination.active_profile,
            nomination.grounds,
        )

    async def _hits(
        self,
        scope: Scope,
        query: RecallQuery,
        values: Values,
        scored: Candidates,
        receipt: ReadReceipt | None,
    ) -> list[Hit]:
        """The best of the candidates as hits, in their order."""
        scores = scored.fuse(self.family.spec.retrieval, query.weights)
        best = scored.best(scores, query.limit)
        top = [UUID(bytes=scored.ids[at].tobytes()) for at in best]
        settings = settings_of(self.database)
        asked = {**values, "top": f"{{{','.join(map(str, top))}}}"}
        calls = [BoundStatement(self._forms(scope, query).whole, asked)]
        if receipt is not None and top:
            calls.append(receipt(top))
            settings = {**settings, **UNAWAITED}
        ((rows, *_),) = await self.database.run_together([(scope, calls)], settings=settings)
        found = {row[0]: row[1:] for row in rows}
        return [
            self._hit(scope, scored, at, float(scores[at]), words, found[memory_id])
            for at, memory_id, words in zip(best, top, scored.words_on(best), strict=True)
            if memory_id in found
        ]

    def forget(self, scope: Scope) -> None:
        """Keep nothing of an anchor: what was erased is not left in this process."""
        for kept in list(_KEEPERS):
            kept.forget(scoping.anchor_of(scope))

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

    async def _nominated(self, scope: Scope, query: RecallQuery, values: Values) -> Nomination:
        """What the anchor nominates: through its word index, or by every entry."""
        # It loads numpy: importing idetic stays light.
        from idetic.store.nomination import nominate  # noqa: PLC0415

        anchor, again = values["anchor_id"], False
        kept = await self._index(scope, query, values)
        while kept is not None:
            found, reading = await self._read(scope, query, values, kept)
            if not kept.stands(*found["standing"][0]):
                # Made anew since: who is in small cells has to be asked of what is there now.
                kept = await self._segments(scope, query, values, kept)
                continue
            try:
                return nominate(self.family.spec, query, found, kept, reading, again=again)
            except SparseWalk:
                kept = self._keeper().mark_sparse(anchor, kept)
            except Outdated:
                kept, again = await self._own(scope, values, kept), True
            except NotIndexed:
                break
        found, reading = await self._read(scope, query, values, None)
        nomination = nominate(self.family.spec, query, found, None, reading)
        if anchor in self._unindexed:
            self._unindexed[anchor] = nomination.considered
        return nomination

    async def _index(self, scope: Scope, query: RecallQuery, values: Values) -> KeptAnchor | None:
        """The segments of an anchor, read if they are not kept; from its second question on with
        those that this process makes for itself.

        None where there are none, and for a question that no index knows all entries of.
        """
        anchor = values["anchor_id"]
        shown = self.family.spec.retrieval.unconfirmed
        known = query.current and query.filters.include_candidates is shown
        if anchor is None or not known:
            return None
        kept, size = self._keeper().of(anchor), self._unindexed.get(anchor)
        if kept is None and size is not None:
            kept = self._keeper().begin(anchor, size)
        elif kept is None and (kept := await self._segments(scope, query, values)) is None:
            # What is remembered has an end.
            if len(self._unindexed) >= _REMEMBERED:
                self._unindexed.clear()
            self._unindexed[anchor] = 0
        if kept is not None and kept.waiting >= kept.own_from:
            kept = await self._own(scope, values, kept)
            if kept is None:
                # The job may have indexed it by the next question: then it is asked for once more.
                self._unindexed.pop(anchor, None)
        return kept

    async def _own(self, scope: Scope, values: Values, kept: KeptAnchor) -> KeptAnchor | None:
        """Read for this process what no segment of an anchor covers; None where nothing does."""
        statements, keeper = self._own_statements(scope), self._keeper()
        settings, erasures = settings_of(self.database), keeper.erasures
        values = {**values, "reached": max(kept.through, kept.reached)}
        ((position, told),) = await self.database.run(
            scope, statements["since"], values, settings=settings
        )
        stretches = kept.stretches(position, told)
        calls = [
            BoundStatement(
                statements["stretch"], {**values, "after": one.after, "through": one.through}
            )
            for one in stretches
        ]
        rows = await self.database.read_each(scope, calls, settings=settings) if calls else []
        anchor = values["anchor_id"]
        found = keeper.keep_own(anchor, kept, stretches, rows, position, erasures)
        keeper.make_room()
        return found

    def _own_statements(self, scope: Scope) -> Mapping[str, Statement]:
        """The statements that read an anchor's entries without any question."""
        filters = Filters(include_candidates=self.family.spec.retrieval.unconfirmed)
        query = RecallQuery("", 0, datetime.min.replace(tzinfo=UTC), {}, filters=filters)
        key = (*query.form(scope), "own")
        if key not in self._nominating:
            self._nominating[key] = self._statements(scope, query).own()
        return self._nominating[key]

    async def _segments(
        self, scope: Scope, query: RecallQuery, values: Values, before: KeptAnchor | None = None
    ) -> KeptAnchor | None:
        """Read the segments of an anchor that are not kept; None where it has none."""
        segments = self._statements(scope, query).segments()
        known = [] if before is None else list(before.segments)
        keeper = self._keeper()
        erasures = keeper.erasures
        rows = await self.database.run(scope, segments, {**values, "kept": known})
        found = keeper.keep(values["anchor_id"], rows, before, erasures)
        keeper.make_room()
        return found

    def _keeper(self) -> KeptSegments:
        """What this process keeps of anchors."""
        if self._kept is None:
            # It loads numpy: importing idetic stays light.
            from idetic.store.kept_anchors import KeptSegments  # noqa: PLC0415

            self._kept = KeptSegments()
            _KEEPERS.add(self._kept)
        return self._kept

    async def _read(
        self, scope: Scope, query: RecallQuery, values: Values, kept: KeptAnchor | None
    ) -> tuple[dict[str, Rows], Reading]:
        """What the statements of one way to read the anchor give, by name, and that way.

        What they bring of vectors that were not here is kept.
        """
        reading = Reading()
        if kept is not None:
            reading = kept.reading_of(query.text, query.profile_id)
            values = {**values, **kept.values(reading)}
        key = (*query.form(scope), *reading.form)
        statements = self._nominating.get(key)
        if statements is None:
            statements = self._statements(scope, query).compose(reading)
            self._nominating[key] = statements
        if kept is not None and query.profile_id in kept.samples:
            statements = {name: s for name, s in statements.items() if name != "sample"}
        calls = [BoundStatement(each, values) for each in statements.values()]
        settings = settings_of(self.database) | reading.settings
        rows = await self.database.read_each(scope, calls, settings=settings)
        found = dict(zip(statements, rows, strict=True))
        if "vectors" in found and kept is not None and query.profile_id is not None:
            kept.take(query.profile_id, reading, found["vectors"][0])
            self._keeper().make_room()
        return found, reading

    def _statements(self, scope: Scope, query: RecallQuery) -> NominationStatements:
        """Composes what the anchor is asked."""
        recall = RecallStatement(self.family, scope, query, self.vector_schema)
        return NominationStatements(self.family, scope, recall)

    def _forms(self, scope: Scope, query: RecallQuery) -> _Forms:
        """The statements for this form of question, composed once."""
        key = query.form(scope)
        if key not in self.forms:
            recall = RecallStatement(self.family, scope, query, self.vector_schema)
            measured = NominationStatements(self.family, scope, recall).measured()
            self.forms[key] = _Forms(measured, recall.whole(self.entries), recall.before())
        return self.forms[key]

    def _hit(
        self,
        scope: Scope,
        scored: Candidates,
        at: int,
        score: float,
        words: Mapping[Signal, SignalScore],
        row: tuple[Any, ...],
    ) -> Hit:
        """A candidate as a hit: what it scored, and its entry."""
        piece, strength, length, *entry = row
        return Hit(
            self.entries.entry(scope, tuple(entry)),
            score,
            words,
            SourceStrength(strength) if strength else None,
            scored.similarity(at),
            piece,
            grounds=scored.grounds(at, length or 0),
        )
