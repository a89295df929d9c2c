"""The statement that asks one persona's long-term memory, put together from a recall's parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.spec.primitives import Fusion, FusionMethod, Neighbours, Signal
from idetic.store import templates
from idetic.store.asked import MARKED, Form, marked, prepared
from idetic.store.family import Names
from idetic.store.persona_tables import PersonaTables
from idetic.store.prepared import Prepared
from idetic.store.recall_statement import (
    COSINE,
    EXACT_BELOW,
    POOL,
    SUBSTANCE,
    listed,
    named,
    rank_of,
)
from idetic.store.templates import raw

_FILE, _RECALL = "persona_rag", "queries/recall.sql"
SIGNALS = (Signal.SEMANTIC, Signal.LEXICAL, Signal.SUBSTANCE)
_VALUES = {
    Signal.SEMANTIC: COSINE,
    Signal.LEXICAL: "m.words / (SELECT max(score) FROM lex)",
    Signal.SUBSTANCE: SUBSTANCE,
}
# What narrows a question: the name of a filter, and what it asks of an entry.
_FILTERS = {
    "kinds": "m.kind = ANY ({})",
    "visibilities": "m.visibility = ANY ({})",
    "loop_ids": "m.loop_id = ANY ({})",
    "since": "m.ts >= {}",
    "until": "m.ts < {}",
    "min_importance": "m.importance >= {}",
}
# The parameters of every form of the statement, used or not, after tenant and agent.
_TYPES = {
    "text": "text",
    "vector": '"{vector}".halfvec',
    "profile": "uuid",
    "limit": "integer",
    "kinds": "idetic.event_kind[]",
    "visibilities": "idetic.event_visibility[]",
    "loop_ids": "uuid[]",
    "since": "timestamptz",
    "until": "timestamptz",
    "min_importance": "float8",
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
        self._vector_schema = vector_schema
        self._prepared = Prepared(tables.database)
        self._forms: dict[tuple[Any, ...], Form] = {}

    def _form(self, asked: RagAsked) -> Form:
        """The statement for this form of question: what is asked are its parameters."""
        set_ones = tuple(name for name, value in asked.filters.items() if value is not None)
        key = (asked.vector is None, tuple(asked.weights.items()), set_ones)
        if key not in self._forms:
            tables = PersonaTables(
                self._tables.database, self._tables.persona, marked(self._tables.scope)
            )
            statement = _Statement(tables, asked, self._vector_schema).compose().as_string(None)
            self._forms[key] = prepared(
                MARKED.sub(r"$\1", statement),
                ["text", "text", *(t.format(vector=self._vector_schema) for t in _TYPES.values())],
            )
        return self._forms[key]

    async def ask(self, asked: RagAsked) -> tuple[int, int, int, list[RagFound]]:
        """How many were considered, candidates, and with a vector; and the best of them."""
        scope = self._tables.scope
        values = list(map(sql.Literal, [*scope.anchor.values(), *_values(asked)]))
        form = self._form(asked)
        execute = raw("EXECUTE {} ({})").format(raw(form.name), raw(", ").join(values))
        rows = await self._prepared.run(scope, form, execute.as_string(None))
        considered, candidates, embedded = rows[0][:3]
        return considered, candidates, embedded, [_found(r[3:]) for r in rows if r[3] is not None]


def _found(row: tuple[Any, ...]) -> RagFound:
    signals = {}
    for number, signal in enumerate(SIGNALS):
        rank, value, contribution = row[1 + number * 3 : 4 + number * 3]
        signals[signal] = (rank, value, contribution or 0.0)
    return RagFound(row[0], signals, row[1 + 3 * len(SIGNALS) :])


class _Statement:
    """Composes one question; a method for each part of it that depends on the question."""

    def __init__(self, tables: PersonaTables, asked: RagAsked, vector_schema: str):
        self._tables = tables
        self._asked = asked
        compared = asked.vector is not None
        self._weighted = [
            s for s in SIGNALS if asked.weights.get(s) and (compared or s is not Signal.SEMANTIC)
        ]
        # Tenant and agent are the first two.
        self._parameters: Names = {n: raw(f"${at}") for at, n in enumerate(_TYPES, start=3)}
        self._names: Names = {
            "pool": sql.Literal(POOL),
            "exact_below": sql.Literal(EXACT_BELOW),
            "vector_schema": sql.Identifier(vector_schema),
            **self._parameters,
            "terms": raw(
                "(SELECT tsvector_to_array(to_tsvector('pg_catalog.english', {})))"
            ).format(self._parameters["text"]),
        }
        self._names["filters"] = self._filters()
        self._names["small"] = self._part("small")

    def compose(self) -> Composable:
        """The whole statement."""
        lexical, semantic = (s in self._weighted for s in (Signal.LEXICAL, Signal.SEMANTIC))
        joined = [self._part("semantic")] if semantic else []
        joined += [raw("LEFT JOIN lex USING (memory_id)")] if lexical else []
        return self._part(
            "rag",
            base=self._base(),
            lexical=self._shared("lexical") if lexical else raw(""),
            distance=raw("sem.distance" if semantic else "NULL::float8"),
            words=raw(", lex.score AS words" if lexical else ""),
            joined=raw(" ").join(joined),
            values=listed(named({s.value: raw(_VALUES[s]) for s in self._weighted})),
            nominated=self._nominated(),
            ranks=listed(named({f"{s.value}_rank": rank_of(s) for s in self._weighted})),
            fusion=raw(" + ").join(
                [raw("0.0::float8"), *(self._contribution(s, "r") for s in self._weighted)]
            ),
            outcomes=raw(", ").join(self._outcomes()),
        )

    def _part(self, name: str, **more: Composable) -> Composable:
        return self._tables.compose(_FILE, name, **(self._names | more))

    def _shared(self, name: str) -> Composable:
        """A part that is the recall statement's own."""
        return raw(templates.query(_RECALL, name)).format(**self._names)

    def _filters(self) -> Composable:
        wanted = [name for name, value in self._asked.filters.items() if value is not None]
        return raw("").join(
            raw(f" AND {_FILTERS[name]}").format(self._parameters[name]) for name in wanted
        )

    def _base(self) -> Composable:
        near = self._asked.neighbours
        base = self._part("base", read=self._shared("words"))
        around = [
            raw("{}(m.words, {}, '') OVER w").format(raw(side), sql.Literal(distance))
            for side, count in (("lag", near.before), ("lead", near.after))
            for distance in range(1, count + 1)
        ]
        if not around or Signal.LEXICAL not in self._weighted:
            return base
        return self._part(
            "base_with_neighbours",
            base=base,
            around=raw(" || ").join([raw("m.words"), *around]),
            before=sql.Literal(near.before),
            after=sql.Literal(near.after),
        )

    def _nominated(self) -> Composable:
        """Who may be a candidate: the best of each signal that finds. Substance names nobody."""
        parts = [
            raw("({})").format(self._shared(f"nominate_{signal.value}"))
            for signal in self._weighted
            if signal is not Signal.SUBSTANCE
        ]
        return raw(" OR ").join(parts) if parts else raw("false")

    def _contribution(self, signal: Signal, alias: str) -> Composable:
        weight, fusion = self._asked.weights[signal], self._asked.fusion
        if fusion.method is FusionMethod.WEIGHTED:
            column = sql.Identifier(alias, signal.value)
            return raw("coalesce({} * {}, 0)::float8").format(sql.Literal(weight), column)
        column = sql.Identifier(alias, f"{signal.value}_rank")
        return raw("coalesce({} / ({} + {}), 0)::float8").format(
            sql.Literal(weight), sql.Literal(fusion.k), column
        )

    def _outcomes(self) -> Iterator[Composable]:
        for signal in SIGNALS:
            if signal not in self._weighted:
                yield raw("NULL::bigint, NULL::float8, 0.0::float8")
                continue
            yield sql.Identifier("top", f"{signal.value}_rank")
            yield sql.Identifier("top", signal.value)
            yield self._contribution(signal, "top")


def _values(asked: RagAsked) -> list[Any]:
    """The parameters, in the order of `_TYPES`."""
    numbers = "[" + ",".join(f"{x:.6g}" for x in asked.vector) + "]" if asked.vector else None
    filters = [asked.filters.get(name) for name in _FILTERS]
    return [asked.text, numbers, asked.profile_id, asked.limit, *filters]
