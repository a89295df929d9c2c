"""The statement that asks one persona's long-term memory, put together from a recall's parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg import sql

from idetic.spec.primitives import Fusion, FusionMethod, Neighbours, Signal
from idetic.store import persona_tables, templates
from idetic.store.persona_tables import PersonaTables
from idetic.store.recall_statement import (
    COSINE,
    EXACT_BELOW,
    POOL,
    SUBSTANCE,
    listed,
    named,
    rank_of,
    settings_of,
)
from idetic.store.scope import quoted
from idetic.store.statement import Names, Statement, filled, statement

_FILE, _RECALL = "queries/persona_rag.sql", "queries/recall.sql"
SIGNALS = (Signal.SEMANTIC, Signal.LEXICAL, Signal.SUBSTANCE)
_VALUES = {
    Signal.SEMANTIC: COSINE,
    Signal.LEXICAL: "m.words / (SELECT max(score) FROM lex)",
    Signal.SUBSTANCE: SUBSTANCE,
}
# What narrows a question: the name of a filter, and what it asks of an entry.
_FILTERS = {
    "kinds": "m.kind = ANY (%(kinds)s::idetic.event_kind[])",
    "visibilities": "m.visibility = ANY (%(visibilities)s::idetic.event_visibility[])",
    "loop_ids": "m.loop_id = ANY (%(loop_ids)s::uuid[])",
    "since": "m.ts >= %(since)s::timestamptz",
    "until": "m.ts < %(until)s::timestamptz",
    "min_importance": "m.importance >= %(min_importance)s::float8",
}


@dataclass(frozen=True, slots=True)
class RagAsked:
    """A question in the database's terms."""

    text: str
    limit: int
    weights: Mapping[Signal, float]
    fusion: Fusion
    neighbours: Neighbours
    vector: Sequence[float] | None = None
    profile_id: UUID | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RagFound:
    """One row of the answer: (rank, value, contribution) by signal, and the entry's columns."""

    score: float
    signals: Mapping[Signal, tuple[int | None, float | None, float]]
    entry: tuple[Any, ...]


class RagRows:
    """Asks one persona's long-term memory in one round trip."""

    def __init__(self, tables: PersonaTables, vector_schema: str):
        self._tables = tables
        self._vector = quoted(vector_schema)
        self._forms: dict[tuple[Any, ...], Statement] = {}

    async def ask(self, asked: RagAsked) -> tuple[int, int, int, list[RagFound]]:
        """How many were considered, candidates, and with a vector; and the best of them."""
        scope, database = self._tables.scope, self._tables.database
        values = {**scope.anchor, **_values(asked)}
        settings = settings_of(database)
        rows = await database.run(scope, self._form(asked), values, settings=settings)
        considered, candidates, embedded = rows[0][:3]
        return considered, candidates, embedded, [_found(r[3:]) for r in rows if r[3] is not None]

    def _form(self, asked: RagAsked) -> Statement:
        """The statement for this form of question; what is asked are its values."""
        set_ones = tuple(name for name, value in asked.filters.items() if value is not None)
        # The predicate belongs to the key: a statement must not outlive a test's sabotage.
        bound = persona_tables.predicate
        key = (bound, asked.vector is None, tuple(asked.weights.items()), set_ones)
        if key not in self._forms:
            names = persona_tables.names(self._tables.persona, bound)
            text = _Form({**names, "vector": self._vector}, asked).compose()
            self._forms[key] = statement(text, prepared=True)
        return self._forms[key]


def _found(row: tuple[Any, ...]) -> RagFound:
    signals = {}
    for number, signal in enumerate(SIGNALS):
        rank, value, contribution = row[1 + number * 3 : 4 + number * 3]
        signals[signal] = (rank, value, contribution or 0.0)
    return RagFound(row[0], signals, row[1 + 3 * len(SIGNALS) :])


class _Form:
    """Composes one question; a method for each part of it that depends on the question."""

    def __init__(self, names: Names, asked: RagAsked):
        self._asked = asked
        compared = asked.vector is not None
        self._weighted = [
            s for s in SIGNALS if asked.weights.get(s) and (compared or s is not Signal.SEMANTIC)
        ]
        self._names: Names = {
            **names,
            "pool": str(POOL),
            "exact_below": str(EXACT_BELOW),
            "terms": templates.query(_RECALL, "terms"),
            "filters": self._filters(),
        }
        self._names = {**self._names, "small": self._part("small")}

    def compose(self) -> str:
        """The whole statement."""
        lexical, semantic = (s in self._weighted for s in (Signal.LEXICAL, Signal.SEMANTIC))
        joined = [self._part("semantic")] if semantic else []
        joined += ["LEFT JOIN lex USING (memory_id)"] if lexical else []
        return self._part(
            "rag",
            base=self._base(),
            lexical=self._shared("lexical") if lexical else "",
            distance="sem.distance" if semantic else "NULL::float8",
            words=", lex.score AS words" if lexical else "",
            joined=" ".join(joined),
            values=listed(named({s.value: _VALUES[s] for s in self._weighted})),
            nominated=self._nominated(),
            ranks=listed(named({f"{s.value}_rank": rank_of(s) for s in self._weighted})),
            fusion=" + ".join(
                ["0.0::float8", *(self._contribution(s, "r") for s in self._weighted)]
            ),
            outcomes=", ".join(self._outcomes()),
        )

    def _part(self, name: str, **more: str) -> str:
        return filled(templates.query(_FILE, name), {**self._names, **more})

    def _shared(self, name: str) -> str:
        """A part that is the recall statement's own."""
        return filled(templates.query(_RECALL, name), self._names)

    def _filters(self) -> str:
        wanted = [name for name, value in self._asked.filters.items() if value is not None]
        return "".join(f" AND {_FILTERS[name]}" for name in wanted)

    def _base(self) -> str:
        near = self._asked.neighbours
        base = self._part("base", read=self._shared("words"))
        around = [
            f"{side}(m.words, {distance}, '') OVER w"
            for side, count in (("lag", near.before), ("lead", near.after))
            for distance in range(1, count + 1)
        ]
        if not around or Signal.LEXICAL not in self._weighted:
            return base
        return self._part(
            "base_with_neighbours",
            base=base,
            around=" || ".join(["m.words", *around]),
            before=str(near.before),
            after=str(near.after),
        )

    def _nominated(self) -> str:
        """Who may be a candidate: the best of each signal that finds. Substance names nobody."""
        parts = [
            f"({self._shared(f'nominate_{signal.value}')})"
            for signal in self._weighted
            if signal is not Signal.SUBSTANCE
        ]
        return " OR ".join(parts) or "false"

    def _contribution(self, signal: Signal, alias: str) -> str:
        weight, fusion = _number(self._asked.weights[signal]), self._asked.fusion
        if fusion.method is FusionMethod.WEIGHTED:
            return f"coalesce({weight} * {alias}.{signal.value}, 0)::float8"
        rank = f"{alias}.{signal.value}_rank"
        return f"coalesce({weight} / ({_number(fusion.k)} + {rank}), 0)::float8"

    def _outcomes(self) -> Iterator[str]:
        for signal in SIGNALS:
            if signal not in self._weighted:
                yield "NULL::bigint, NULL::float8, 0.0::float8"
                continue
            yield f"top.{signal.value}_rank"
            yield f"top.{signal.value}"
            yield self._contribution(signal, "top")


def _number(value: float) -> str:
    return sql.Literal(value).as_string(None)


def _values(asked: RagAsked) -> dict[str, Any]:
    numbers = "[" + ",".join(f"{x:.6g}" for x in asked.vector) + "]" if asked.vector else None
    plain = {"text": asked.text, "vector": numbers, "profile": asked.profile_id}
    return {**plain, "limit": asked.limit, **asked.filters}
