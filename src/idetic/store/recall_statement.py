"""The recall statement of one agent's family, composed once per form of question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Scope, Tier
from idetic.spec.primitives import FusionMethod, Signal
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.asked import MARKED, TYPES, Asked, Form, marked, prepared
from idetic.store.canonical import canonical_names
from idetic.store.decay import freshness
from idetic.store.entries import Entries
from idetic.store.envelope import matches
from idetic.store.family import Family, Names
from idetic.store.templates import raw

# Up to this chain length an anchor's vectors are compared one by one. Their index would make a
# recall 1.5 to 2 times faster from 20,000 on, but misses some, at 80,000 one of thirty of the
# nearest: up to there, exactness is worth more (bench/threshold.py, docs/benchmarks.md).
EXACT_BELOW = 80_000
POOL = 100
_FILE = "queries/recall.sql"
# Cosines of the pinned model lie between about 0.4 (unrelated) and 0.8 (the same thing said
# otherwise); stretched to 0..1 so that a weighted sum can compare them with other signals.
COSINE = (
    "CASE WHEN m.distance IS NOT NULL THEN greatest(0, least(1, (-m.distance - 0.4) / 0.4)) END"
)
SUBSTANCE = "CASE WHEN m.substance IS NOT NULL THEN least(1, ln(1 + m.substance) / ln(65)) END"


class Statement:
    """Composes the statement for one form of question; one method per part of it."""

    def __init__(self, family: Family, scope: Scope, asked: Asked, vector_schema: str):
        self._family = family
        self._asked = asked
        self._weighted = [signal for signal in Signal if asked.weights.get(signal)]
        keys = family.spec.anchor.keys
        self._types = [*(key.type.value for key in keys)]
        self._types += [kind.format(vector=f'"{vector_schema}".halfvec') for kind in TYPES.values()]
        self._parameters: Names = {
            name: raw(f"${number}") for number, name in enumerate(TYPES, start=len(keys) + 1)
        }
        self._scope = within = marked(scope)
        self._names: Names = {
            **family.names(),
            **{f"scope_{a}": scoping.predicate(within, a) for a in ("a", "e", "l", "m", "r")},
            "scope_tenant_p": scoping.tenant_predicate(within, "p"),
            "vector_schema": sql.Identifier(vector_schema),
            "exact_below": sql.Literal(EXACT_BELOW),
            "pool": sql.Literal(POOL),
            "terms": raw(
                "(SELECT tsvector_to_array(to_tsvector('pg_catalog.english', {})))"
            ).format(self._parameters["text"]),
            **self._parameters,
        }
        self._seen: Names = {
            "as_of_join": self._part("as_of") if asked.as_of else raw(""),
            "visible": self._visible(),
        }

    def compose(self, entries: Entries) -> Form:
        """The whole statement."""
        asked, weighted = self._asked, self._weighted
        columns = dict(self._columns())
        parts: Names = {
            "columns": entries.columns(self._scope),
            "active": self._part("active"),
            "small": self._part("small"),
            "base": self._base(columns),
            "lexical": self._part("lexical") if Signal.LEXICAL in weighted else raw(""),
            "kept": raw(", ").join(self._kept(columns)),
            "joined": self._joined(),
            "values": listed(named({s.value: self._value(s) for s in weighted})),
            "nominated": self._nominated(),
            "ranks": listed(named({f"{s.value}_rank": rank_of(s) for s in weighted})),
            "reach": self._reach(),
            "fusion": raw(" + ").join(self._contribution(signal) for signal in Signal),
            "outcomes": raw(", ").join(self._outcomes()),
            "strength": self._strength(),
        }
        statement = raw(templates.query(_FILE, "recall")).format(**(self._names | parts))
        text = MARKED.sub(r"$\1", statement.as_string(None))
        asked_for = len(asked.envelope) + len(asked.where)
        types = [*self._types, *(["text[]"] * asked_for)]
        return prepared(text, types)

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
        first = len(self._types) + len(asked.envelope) + 1
        for number, name in enumerate(asked.where, start=first):
            kind = self._family.spec.retrieval.envelope[name].type
            parts.append(matches(kind, name, raw(f"${number}")))
        return raw(" AND ").join(parts)

    def _columns(self) -> Iterator[tuple[str, Composable]]:
        """What the weighted signals read of an entry, beside its words and its vector."""
        if Signal.ENVELOPE in self._weighted:
            yield "envelope", self._envelope()
        if Signal.DECAY in self._weighted:
            for name in ("typology", "valid_at", "exempt_at"):
                yield name, sql.Identifier("m", name)
        if Signal.SUBSTANCE in self._weighted:
            yield "substance", raw("m.substance")

    def _base(self, columns: Names) -> Composable:
        """What may be recalled, with the words that count, those of neighbours included."""
        if Signal.LEXICAL not in self._weighted:
            return self._part("base", read=listed(named(columns)), **self._seen)
        window = self._family.spec.retrieval.neighbours
        around = [
            raw("{}(m.words, {}, '') OVER w").format(raw(side), sql.Literal(distance))
            for side, count in (("lag", window.before), ("lead", window.after))
            for distance in range(1, count + 1)
        ]
        words = [self._part("words"), *([self._part("place")] if around else [])]
        base = self._part("base", read=listed([*named(columns), *words]), **self._seen)
        if not around:
            return base
        names = [sql.Identifier("m", name) for name in ("memory_id", "tier", *columns)]
        return self._part(
            "base_with_neighbours",
            base=base,
            columns=raw(", ").join(names),
            around=raw(" || ").join([raw("m.words"), *around]),
            before=sql.Literal(window.before),
            after=sql.Literal(window.after),
        )

    def _kept(self, columns: Names) -> Iterator[Composable]:
        """The columns of a scored entry."""
        for name in ("memory_id", "tier", *columns):
            yield sql.Identifier("b", name)
        yield raw("sem.distance" if self._compared else "NULL::float8 AS distance")
        if Signal.LEXICAL in self._weighted:
            yield raw("lex.score AS words")

    def _joined(self) -> Composable:
        """The scores beside `base`, of the signals that count."""
        parts: list[Composable] = []
        if self._compared:
            parts.append(raw("LEFT JOIN ({}) sem USING (memory_id)").format(self._semantic()))
        if Signal.LEXICAL in self._weighted:
            parts.append(raw("LEFT JOIN lex USING (memory_id)"))
        return raw(" ").join(parts)

    @property
    def _compared(self) -> bool:
        """Whether vectors are compared."""
        return self._asked.vector is not None and Signal.SEMANTIC in self._weighted

    def _semantic(self) -> Composable:
        cells = [
            self._part(
                "semantic_indexed",
                tier=sql.Literal(tier.value),
                typology=sql.Literal(typology.value),
                **self._seen,
            )
            for tier, typology in self._family.spec.typology.cells()
            if tier in self._asked.tiers
        ]
        return raw(" UNION ALL ").join([self._part("semantic_exact"), *cells])

    def _value(self, signal: Signal) -> Composable:
        """A weighted signal's value from 0 to 1, of a scored entry called m."""
        if signal is Signal.ENVELOPE:
            return raw("m.envelope")
        if signal is Signal.SEMANTIC:
            return raw(COSINE)
        if signal is Signal.LEXICAL:
            return raw("m.words / (SELECT max(score) FROM lex)")
        return self._plain_value(signal)

    def _plain_value(self, signal: Signal) -> Composable:
        """A signal's value of an entry by itself, called m: what it would be worth, if weighted."""
        if signal is Signal.ENVELOPE:
            return self._envelope()
        if signal is Signal.DECAY:
            return freshness(self._family, self._scope, self._parameters["moment"])
        return raw(SUBSTANCE) if signal is Signal.SUBSTANCE else raw("NULL::float8")

    def _nominated(self) -> Composable:
        """Who may be a candidate: the best of each weighted signal. Substance names nobody."""
        parts = [
            raw("({})").format(self._part(f"nominate_{signal.value}"))
            for signal in self._weighted
            if signal is not Signal.SUBSTANCE
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
                sql.Literal(key.weight / total), matches(key.type, name, raw(f"${number}"))
            )
            for key, name, number in wanted
        ]
        return raw("({})::float8").format(raw(" + ").join(terms))

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
            raw("WHEN {} THEN {}::float8").format(
                sql.Literal(tier.value), sql.Literal(float(weight))
            )
            for tier, weight in self._family.spec.retrieval.tiers.items()
        ]
        return raw("(CASE r.tier {} ELSE 0.0 END)").format(raw(" ").join(weights))

    def _outcomes(self) -> Iterator[Composable]:
        """Rank, value and contribution by signal. Of one that does not count, only the value."""
        for signal in Signal:
            if signal not in self._weighted:
                yield raw("NULL::bigint, {}, 0.0::float8").format(self._plain_value(signal))
                continue
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


def named(columns: Names) -> Iterator[Composable]:
    """Each value under its name."""
    for name, value in columns.items():
        yield raw("{} AS {}").format(value, sql.Identifier(name))


def listed(columns: Iterable[Composable]) -> Composable:
    """The columns as the rest of a list that has begun."""
    return raw("").join(raw(", {}").format(column) for column in columns)


def rank_of(signal: Signal) -> Composable:
    """An entry's rank among the candidates, by one signal."""
    if signal is Signal.SEMANTIC:
        # By distance: the value is cut off at both ends.
        return raw("CASE WHEN v.distance IS NOT NULL THEN rank() OVER (ORDER BY v.distance) END")
    return raw("CASE WHEN v.{0} > 0 THEN rank() OVER (ORDER BY v.{0} DESC NULLS LAST) END").format(
        sql.Identifier(signal.value)
    )
