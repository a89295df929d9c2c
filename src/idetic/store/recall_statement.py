"""The recall statement of one agent's family, composed once per form of question."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Origin, Scope, Tier, Typology
from idetic.spec.primitives import EnvelopeType, FusionMethod, Signal
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.canonical import canonical_names
from idetic.store.decay import freshness
from idetic.store.entries import Entries
from idetic.store.family import Family, Names
from idetic.store.templates import raw

# Below this chain length an anchor's vectors are compared one by one.
EXACT_BELOW = 20_000
POOL = 100
DIMENSIONS = 384
_FILE = "queries/recall.sql"
_NUMBERS = "[" + ",".join(["%.6g"] * DIMENSIONS) + "]"
# The parameters of every form of the statement, used or not; the anchor's keys come before them.
_TYPES = {
    "text": "text",
    "vector": "{vector}",
    "profile": "uuid",
    "limit": "integer",
    "moment": "timestamptz",
    "typologies": "idetic.typology[]",
    "origins": "idetic.origin[]",
    "min_trust": "integer",
}
# Around the number of a scope's value; no spec's name can hold it.
_MARK = "\x1f"
_MARKED = re.compile(f"'{_MARK}(\\d+){_MARK}'")
# Cosines of the pinned model lie between about 0.4 (unrelated) and 0.8 (the same thing said
# otherwise); stretched to 0..1 so that a weighted sum can compare them with other signals.
_COSINE = (
    "CASE WHEN m.distance IS NOT NULL THEN greatest(0, least(1, (-m.distance - 0.4) / 0.4)) END"
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
    include_candidates: bool = False


def _marked(scope: Scope) -> Scope:
    """The scope with a mark for each value that becomes a parameter of the statement."""
    anchor = enumerate(scope.anchor.items(), start=1)
    marks = {k: None if v is None else f"{_MARK}{n}{_MARK}" for n, (k, v) in anchor}
    return replace(scope, anchor=marks)


def form_of(scope: Scope, asked: Asked) -> tuple[Any, ...]:
    """What the text of the statement depends on; the rest are its parameters.

    The scope's predicate is asked for anew each time, so that no form outlives it.
    """
    return (
        scoping.predicate(_marked(scope), "m").as_string(None),
        tuple(asked.weights.items()),
        asked.vector is None,
        asked.as_of is None,
        asked.include_archived,
        asked.include_candidates,
        tuple(asked.tiers),
        bool(asked.typologies),
        bool(asked.origins),
        asked.min_trust > 0,
        tuple(asked.envelope),
    )


@dataclass(frozen=True, slots=True)
class Form:
    """A prepared statement: its name, how to prepare it, and the values an execution needs."""

    name: str
    prepare: str

    def execute(self, scope: Scope, asked: Asked) -> str:
        """The execution for one question."""
        values = ", ".join(sql.Literal(v).as_string(None) for v in _values(scope, asked))
        return f"EXECUTE {self.name} ({values})"


def _values(scope: Scope, asked: Asked) -> Iterator[Any]:
    """The parameters, in the order of `_TYPES`: the anchor before them, the envelope after."""
    yield from scope.anchor.values()
    yield asked.text
    yield None if asked.vector is None else _NUMBERS % tuple(asked.vector)
    yield asked.profile_id
    yield asked.limit
    yield asked.as_of or asked.at
    yield [typology.value for typology in asked.typologies]
    yield [origin.value for origin in asked.origins]
    yield asked.min_trust
    for value in asked.envelope.values():
        yield [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]


class Statement:
    """Composes the statement for one form of question; one method per part of it."""

    def __init__(self, family: Family, scope: Scope, asked: Asked, vector_schema: str):
        self._family = family
        self._asked = asked
        keys = family.spec.anchor.keys
        self._types = [*(key.type.value for key in keys)]
        self._types += [
            kind.format(vector=f'"{vector_schema}".halfvec') for kind in _TYPES.values()
        ]
        self._parameters: Names = {
            name: raw(f"${number}") for number, name in enumerate(_TYPES, start=len(keys) + 1)
        }
        self._scope = marked = _marked(scope)
        self._names: Names = {
            **family.names(),
            **{f"scope_{a}": scoping.predicate(marked, a) for a in ("a", "e", "l", "m", "r")},
            "scope_tenant_p": scoping.tenant_predicate(marked, "p"),
            "vector_schema": sql.Identifier(vector_schema),
            "exact_below": sql.Literal(EXACT_BELOW),
            "pool": sql.Literal(POOL),
            "terms": raw(
                "(SELECT tsvector_to_array(to_tsvector('pg_catalog.english', {})))"
            ).format(self._parameters["text"]),
            **self._parameters,
        }

    def compose(self, entries: Entries) -> Form:
        """The whole statement."""
        asked = self._asked
        parts: Names = {
            "columns": entries.columns(self._scope),
            "active": self._part("active"),
            "small": self._part("small"),
            "envelope_value": self._envelope(),
            "as_of_join": self._part("as_of") if asked.as_of else raw(""),
            "visible": self._visible(),
            "semantic": self._semantic(),
            "semantic_value": raw(_COSINE),
            "lexical": self._lexical(),
            "words": self._part("words") if asked.weights.get(Signal.LEXICAL) else raw("NULL"),
            "decay_value": freshness(self._family, self._scope, self._parameters["moment"]),
            "nominated": self._nominated(),
            "ranks": raw(", ").join(self._ranks()),
            "reach": self._reach(),
            "fusion": raw(" + ").join(self._contribution(signal) for signal in Signal),
            "outcomes": raw(", ").join(self._outcomes()),
            "strength": self._strength(),
        }
        statement = raw(templates.query(_FILE, "recall")).format(**(self._names | parts))
        text = _MARKED.sub(r"$\1", statement.as_string(None))
        types = ", ".join([*self._types, *(["text[]"] * len(asked.envelope))])
        name = f"idetic_{hashlib.sha256(f'{types} {text}'.encode()).hexdigest()[:32]}"
        return Form(name, f"PREPARE {name} ({types}) AS {text}")

    def _part(self, name: str, **more: Composable) -> Composable:
        return raw(templates.query(_FILE, name)).format(**(self._names | more))

    def _visible(self) -> Composable:
        asked = self._asked
        parts: list[Composable] = []
        if asked.as_of:
            parts.append(
                raw("m.created_at <= {} AND past.state_to = 'current'").format(
                    self._parameters["moment"]
                )
            )
        elif asked.include_archived:
            parts.append(raw("m.deleted_at IS NULL"))
        else:
            parts.append(self._part("visible_now"))
        if not asked.include_candidates:
            parts.append(raw("NOT m.candidate"))
        if set(asked.tiers) != set(Tier):
            tiers = sql.Literal([tier.value for tier in asked.tiers])
            parts.append(raw("m.tier = ANY ({}::idetic.tier[])").format(tiers))
        if asked.typologies:
            parts.append(raw("m.typology = ANY ({})").format(self._parameters["typologies"]))
        if asked.origins:
            parts.append(raw("m.origin = ANY ({})").format(self._parameters["origins"]))
        if asked.min_trust:
            parts.append(raw("m.trust >= {}").format(self._parameters["min_trust"]))
        return raw(" AND ").join(parts)

    def _semantic(self) -> Composable:
        asked = self._asked
        if asked.vector is None or not asked.weights.get(Signal.SEMANTIC):
            return self._part("semantic_none")
        cells = [
            self._part(
                "semantic_indexed",
                tier=sql.Literal(tier.value),
                typology=sql.Literal(typology.value),
            )
            for tier, typology in self._family.spec.typology.cells()
            if tier in asked.tiers
        ]
        return raw(" UNION ALL ").join([self._part("semantic_exact"), *cells])

    def _lexical(self) -> Composable:
        window = self._family.spec.retrieval.neighbours
        if not self._asked.weights.get(Signal.LEXICAL):
            return self._part("lexical_none")
        around = [
            raw("{}(words, {}, '') OVER w").format(raw(side), sql.Literal(distance))
            for side, count in (("lag", window.before), ("lead", window.after))
            for distance in range(1, count + 1)
        ]
        return self._part(
            "lexical",
            before=sql.Literal(window.before),
            after=sql.Literal(window.after),
            around=raw(" || ").join([raw("words"), *around]),
        )

    def _nominated(self) -> Composable:
        """Who may be a candidate: the best of each weighted signal. Substance names nobody."""
        parts = [
            raw("({})").format(self._part(f"nominate_{signal.value}"))
            for signal in Signal
            if self._asked.weights.get(signal) and signal is not Signal.SUBSTANCE
        ]
        return raw(" OR ").join(parts) if parts else raw("false")

    def _envelope(self) -> Composable:
        """The weighted share of the question's envelope that an entry satisfies."""
        declared = self._family.spec.retrieval.envelope
        first = len(self._types) + 1
        wanted = [(declared[k], k, n) for n, k in enumerate(self._asked.envelope, start=first)]
        total = sum(key.weight for key, _, _ in wanted)
        if not total:
            return raw("0::float8")
        terms = [
            raw("{} * ({})::integer").format(
                sql.Literal(key.weight / total), _matches(key.type, name, raw(f"${number}"))
            )
            for key, name, number in wanted
        ]
        return raw("({})::float8").format(raw(" + ").join(terms))

    def _ranks(self) -> Iterator[Composable]:
        for signal in Signal:
            name, rank = sql.Identifier(signal.value), sql.Identifier(f"{signal.value}_rank")
            if not self._asked.weights.get(signal):
                yield raw("NULL::bigint AS {}").format(rank)
            elif signal is Signal.SEMANTIC:
                # By distance: the value is cut off at both ends.
                yield raw(
                    "CASE WHEN v.distance IS NOT NULL THEN rank() OVER (ORDER BY v.distance) END "
                    "AS {}"
                ).format(rank)
            else:
                yield raw(
                    "CASE WHEN v.{0} > 0 THEN rank() OVER (ORDER BY v.{0} DESC NULLS LAST) END "
                    "AS {1}"
                ).format(name, rank)

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

    def _reach(self) -> Composable:
        """What an entry's tier counts; a tier the spec does not name is out of reach."""
        weights = [
            raw("WHEN {} THEN {}").format(sql.Literal(tier.value), sql.Literal(float(weight)))
            for tier, weight in self._family.spec.retrieval.tiers.items()
        ]
        return raw("(CASE r.tier {} ELSE 0.0 END)").format(raw(" ").join(weights))

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


def _matches(kind: EnvelopeType, name: str, values: Composable) -> Composable:
    """Whether an entry's envelope satisfies one asked key: exact, any-of, or ancestor-of."""
    key = sql.Literal(name)
    if kind is EnvelopeType.LIST:
        return raw("coalesce(m.envelope -> {} ?| {}, false)").format(key, values)
    if kind is EnvelopeType.HIERARCHY:
        return raw(
            "EXISTS (SELECT FROM unnest({1}) v "
            "WHERE m.envelope ->> {0} = v OR starts_with(m.envelope ->> {0}, v || '/'))"
        ).format(key, values)
    return raw("coalesce(m.envelope ->> {} = ANY ({}), false)").format(key, values)
