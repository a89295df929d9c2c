"""The recall statement of one agent's family, composed for one question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Entry, Origin, Scope, Tier, Typology
from idetic.spec.primitives import EnvelopeType, FusionMethod, Signal
from idetic.spec.typology import DecayModel
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.canonical import canonical_names
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.family import Family, Names
from idetic.store.templates import raw

# Below this chain length an anchor's vectors are compared one by one.
EXACT_BELOW = 20_000
POOL = 100
_FILE = "queries/recall.sql"
# Cosines of the pinned model lie between about 0.4 (unrelated) and 0.8 (the same thing said
# otherwise); stretched to 0..1 so that a weighted sum can compare them with other signals.
_COSINE = (
    "CASE WHEN sem.distance IS NOT NULL THEN greatest(0, least(1, (-sem.distance - 0.4) / 0.4)) END"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in the database's terms."""

    text: str
    limit: int
    at: datetime
    weights: Mapping[Signal, float]
    vector: Sequence[float] | None = None
    profile_id: UUID | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    tiers: Sequence[Tier] = tuple(Tier)
    typologies: Sequence[Typology] = ()
    origins: Sequence[Origin] = ()
    min_trust: int = 0
    as_of: datetime | None = None
    include_archived: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """One row of the answer: an entry, its score, and (rank, value, contribution) by signal."""

    entry: Entry
    score: float
    signals: Mapping[Signal, tuple[int | None, float | None, float]]
    strength: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the database found, and how much it looked at."""

    found: tuple[Found, ...]
    considered: int
    candidates: int
    embedded: int
    active_profile: UUID | None


class Recalls:
    """Asks one family's memory."""

    def __init__(self, database: Database, family: Family, entries: Entries, vector_schema: str):
        self._database = database
        self._family = family
        self._entries = entries
        self._vector_schema = sql.Identifier(vector_schema)

    async def ask(self, scope: Scope, asked: Asked) -> Answer:
        """One round trip: question in, explained hits out."""
        statement = Statement(self._family, scope, asked, self._vector_schema)
        columns = self._entries.columns(scope)
        rows = await self._database.run(scope, statement.compose(columns))
        considered, candidates, embedded, profile = rows[0][:4]
        found = [self._found(row[4:]) for row in rows if row[4] is not None]
        return Answer(tuple(found), considered, candidates, embedded, profile)

    def _found(self, row: tuple[Any, ...]) -> Found:
        score, *rest = row
        signals = {}
        for number, signal in enumerate(Signal):
            rank, value, contribution = rest[number * 3 : number * 3 + 3]
            signals[signal] = (rank, value, contribution or 0.0)
        width = 3 * len(Signal)
        strength, entry = rest[width], self._entries.entry(tuple(rest[width + 1 :]))
        return Found(entry, score, signals, strength)


class Statement:
    """Composes the recall statement; one method per part of it."""

    def __init__(self, family: Family, scope: Scope, asked: Asked, vector_schema: sql.Identifier):
        self._family = family
        self._scope = scope
        self._asked = asked
        self._names: Names = {
            **family.names(),
            **{f"scope_{a}": scoping.predicate(scope, a) for a in ("a", "e", "l", "m", "r")},
            "scope_tenant_p": scoping.tenant_predicate(scope, "p"),
            "vector_schema": vector_schema,
            "exact_below": sql.Literal(EXACT_BELOW),
            "pool": sql.Literal(POOL),
            "moment": sql.Literal(asked.as_of),
        }

    def compose(self, columns: Composable) -> str:
        """The whole statement."""
        asked = self._asked
        text = raw("to_tsvector('pg_catalog.english', {})").format(sql.Literal(asked.text))
        terms = raw("tsvector_to_array({})").format(text)
        query = raw("array_to_string({}, ' | ')").format(
            raw("ARRAY(SELECT quote_literal(t) FROM unnest({}) t)").format(terms)
        )
        parts: Names = {
            "columns": columns,
            "active": self._part("active"),
            "envelope_value": self._envelope(),
            "as_of_join": self._part("as_of") if asked.as_of else raw(""),
            "visible": self._visible(),
            "semantic": self._semantic(),
            "semantic_value": raw(_COSINE),
            "lexical": self._lexical(),
            "terms": raw("(SELECT {})::text[]").format(terms),
            "tsquery": raw("(SELECT {})::tsquery").format(query),
            "decay_value": self._decay(),
            "fresh": sql.Literal(POOL if asked.weights.get(Signal.DECAY) else 0),
            "ranks": raw(", ").join(self._ranks()),
            "fusion": self._fusion(),
            "outcomes": raw(", ").join(self._outcomes()),
            "strength": self._strength(),
            "limit": sql.Literal(asked.limit),
        }
        statement = raw(templates.query(_FILE, "recall")).format(**(self._names | parts))
        return statement.as_string(None)

    def _part(self, name: str, **more: Composable) -> Composable:
        return raw(templates.query(_FILE, name)).format(**(self._names | more))

    def _visible(self) -> Composable:
        asked = self._asked
        parts: list[Composable] = []
        if asked.as_of:
            parts.append(
                raw("m.created_at <= {} AND past.state_to = 'current'").format(
                    sql.Literal(asked.as_of)
                )
            )
        elif asked.include_archived:
            parts.append(raw("m.deleted_at IS NULL"))
        else:
            parts.append(self._part("visible_now"))
        for column, values, kind in (
            ("tier", asked.tiers, "tier"),
            ("typology", asked.typologies, "typology"),
            ("origin", asked.origins, "origin"),
        ):
            if values:
                wanted = sql.Literal([v.value for v in values])
                parts.append(
                    raw("{} = ANY ({}::{}[])").format(
                        sql.Identifier("m", column), wanted, sql.Identifier("idetic", kind)
                    )
                )
        if asked.min_trust:
            parts.append(raw("m.trust >= {}").format(sql.Literal(asked.min_trust)))
        return raw(" AND ").join(parts)

    def _semantic(self) -> Composable:
        asked = self._asked
        if asked.vector is None or not asked.weights.get(Signal.SEMANTIC):
            return self._part("semantic_none")
        vector = raw("{}::{}.halfvec(384)").format(
            sql.Literal("[" + ",".join(f"{x:.6g}" for x in asked.vector) + "]"),
            self._names["vector_schema"],
        )
        more: Names = {"vector": vector, "profile": sql.Literal(asked.profile_id)}
        more["active"] = self._part("active")
        more["small"] = self._part("small")
        cells = [
            self._part(
                "semantic_indexed",
                tier=sql.Literal(tier.value),
                typology=sql.Literal(typology.value),
                **more,
            )
            for tier, typology in self._family.spec.typology.cells()
            if tier in asked.tiers
        ]
        return raw(" UNION ALL ").join([self._part("semantic_exact", **more), *cells])

    def _lexical(self) -> Composable:
        window = self._family.spec.retrieval.neighbours
        if not self._asked.weights.get(Signal.LEXICAL):
            return raw("SELECT NULL::uuid AS memory_id, NULL::float8 AS score WHERE false")
        if not window.before and not window.after:
            return self._part("lexical_own")
        sizes: Names = {"before": sql.Literal(window.before), "after": sql.Literal(window.after)}
        placed = self._part("placed", **sizes).as_string(None).rstrip().rstrip(",")
        return raw("WITH {} {}").format(raw(placed), self._part("lexical_window", **sizes))

    def _envelope(self) -> Composable:
        """The weighted share of the question's envelope that an entry satisfies."""
        declared = self._family.spec.retrieval.envelope
        wanted = [(declared[k], k, v) for k, v in self._asked.envelope.items() if k in declared]
        total = sum(key.weight for key, _, _ in wanted)
        if not total:
            return raw("0::float8")
        terms = [
            raw("{} * ({})::integer").format(
                sql.Literal(key.weight / total), _matches(key.type, name, value)
            )
            for key, name, value in wanted
        ]
        return raw("({})::float8").format(raw(" + ").join(terms))

    def _decay(self) -> Composable:
        """How fresh an entry is, 0 to 1, by its typology's decay model."""
        now = sql.Literal(self._asked.as_of or self._asked.at)
        days = raw("greatest(0, extract(epoch FROM {} - m.valid_at)) / 86400.0").format(now)
        cases = []
        for tier, typology in self._family.spec.typology.cells():
            policy = self._family.spec.decay_of(tier, typology)
            if policy.model is DecayModel.EXEMPT:
                value: Composable = raw("1.0")
            else:
                valid = policy.model is DecayModel.VALIDITY
                half = policy.validity_days if valid else policy.half_life_days
                value = raw("power(0.5, {} / {})").format(days, sql.Literal(half))
            cases.append(
                raw("WHEN m.tier = {} AND m.typology = {} THEN {}").format(
                    sql.Literal(tier.value), sql.Literal(typology.value), value
                )
            )
        return raw("CASE WHEN m.exempt_at IS NOT NULL THEN 1.0 {} ELSE 0.0 END::float8").format(
            raw(" ").join(cases)
        )

    def _ranks(self) -> Iterator[Composable]:
        for signal in Signal:
            name = sql.Identifier(signal.value)
            yield raw(
                "CASE WHEN v.{0} > 0 THEN rank() OVER (ORDER BY v.{0} DESC NULLS LAST) END AS {1}"
            ).format(name, sql.Identifier(f"{signal.value}_rank"))

    def _contribution(self, signal: Signal) -> Composable:
        weight = self._asked.weights.get(signal, 0.0)
        fusion = self._family.spec.retrieval.fusion
        if not weight:
            return raw("0.0::float8")
        if fusion.method is FusionMethod.WEIGHTED:
            column = sql.Identifier("r", signal.value)
            return raw("coalesce({} * {}, 0)::float8").format(sql.Literal(weight), column)
        column = sql.Identifier("r", f"{signal.value}_rank")
        return raw("coalesce({} / ({} + {}), 0)::float8").format(
            sql.Literal(float(weight)), sql.Literal(fusion.k), column
        )

    def _fusion(self) -> Composable:
        tiers = self._family.spec.retrieval.tiers
        weights = [
            raw("WHEN {} THEN {}").format(sql.Literal(tier.value), sql.Literal(float(weight)))
            for tier, weight in tiers.items()
        ]
        total = raw(" + ").join(self._contribution(signal) for signal in Signal)
        return raw("(CASE r.tier {} ELSE 0.0 END) * ({})").format(raw(" ").join(weights), total)

    def _outcomes(self) -> Iterator[Composable]:
        for signal in Signal:
            yield sql.Identifier("top", f"{signal.value}_rank")
            yield sql.Identifier("top", signal.value)
            text = self._contribution(signal).as_string(None)
            yield raw(text.replace('"r".', '"top".'))

    def _strength(self) -> Composable:
        found = []
        for canonical in self._family.spec.references.canonical:
            if canonical.strength:
                names = canonical_names(self._family, canonical)
                column: Names = {"strength_column": sql.Identifier(canonical.strength)}
                found.append(raw("({})").format(self._part("strength", **(names | column))))
        return raw("least({})::text").format(raw(", ").join(found)) if found else raw("NULL::text")


def _matches(kind: EnvelopeType, name: str, value: Any) -> Composable:
    """Whether an entry's envelope satisfies one asked key: exact, any-of, or ancestor-of."""
    field_ = raw("m.envelope ->> {}").format(sql.Literal(name))
    values = [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
    if kind is EnvelopeType.LIST:
        return raw("coalesce(m.envelope -> {} ?| {}, false)").format(
            sql.Literal(name), sql.Literal(values)
        )
    if kind is EnvelopeType.HIERARCHY:
        below = [
            raw("coalesce({0} = {1} OR starts_with({0}, {1} || '/'), false)").format(
                field_, sql.Literal(v)
            )
            for v in values
        ]
        return raw("({})").format(raw(" OR ").join(below))
    return raw("coalesce({} = ANY ({}), false)").format(field_, sql.Literal(values))
