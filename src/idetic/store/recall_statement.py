"""The recall statement of one agent's family, composed once per form of question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from idetic.model import Scope, Tier
from idetic.spec.primitives import FusionMethod, Signal
from idetic.store import templates
from idetic.store.asked import NARROWING, Asked
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.entry_sql import freshness, matches
from idetic.store.family import Family, canonical_names, live
from idetic.store.scope import quoted
from idetic.store.statement import Names, Statement, filled, statement

# Up to this chain length an anchor's vectors are compared one by one. Their index would make a
# recall 1.5 to 2 times faster from 20,000 on, but misses some, at 80,000 one of thirty of the
# nearest: up to there, exactness is worth more (bench/threshold.py, docs/benchmarks.md).
EXACT_BELOW = 80_000
POOL = 100
_FILE = "queries/recall.sql"
_MOMENT = "%(moment)s::timestamptz"
# Cosines of the pinned model lie between about 0.4 (unrelated) and 0.8 (the same thing said
# otherwise); stretched to 0..1 so that a weighted sum can compare them with other signals.
COSINE = (
    "CASE WHEN m.distance IS NOT NULL THEN greatest(0, least(1, (-m.distance - 0.4) / 0.4)) END"
)
SUBSTANCE = "CASE WHEN m.substance IS NOT NULL THEN least(1, ln(1 + m.substance) / ln(65)) END"


# Local to the recall. Row-level security makes the planner expect a single row of an anchor, and
# with it nested loops over a thousand; hashing is right for either, and so is an index where the
# plan is older than the rows. Sorts that nothing can replace still happen; a large anchor's vectors
# come from their index instead, which is walked until enough of this scope are found; pgvector's
# own 40 candidates per step lose a tenth of the nearest and more, 800 few, at a cost that is small
# beside the rest (bench/threshold.py).
_SETTINGS = {
    "enable_nestloop": "off",
    "enable_seqscan": "off",
    "enable_sort": "off",
    # A forbidden plan counts as very dear, and what is dear is compiled first: on a server whose
    # default is on, that took seconds for a statement of five milliseconds.
    "jit": "off",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.ef_search": "800",
}
# Planning the statement costs as much as running it. Citus cannot plan it in general.
_GENERIC = {"plan_cache_mode": "force_generic_plan"}


def settings_of(database: Database) -> dict[str, str]:
    """The settings of a recall on this database."""
    return _SETTINGS if database.citus else _SETTINGS | _GENERIC


class RecallStatement:
    """Composes the statement for one form of question; one method per part of it."""

    def __init__(self, family: Family, scope: Scope, asked: Asked, vector_schema: str):
        self._family = family
        self._scope = scope
        self._asked = asked
        self._weighted = [signal for signal in Signal if asked.weights.get(signal)]
        self._names: Names = {
            **family.names(),
            **family.scope_names(scope),
            "vector": quoted(vector_schema),
            "exact_below": str(EXACT_BELOW),
            "pool": str(POOL),
            "terms": templates.query(_FILE, "terms"),
        }
        self._seen = {
            "as_of_join": self._part("as_of") if asked.as_of else "",
            "visible": self._visible(),
        }

    def compose(self, entries: Entries) -> Statement:
        """The whole statement."""
        weighted = self._weighted
        columns = dict(self._columns())
        parts = {
            "columns": filled(entries.columns(self._scope), self._names),
            "active": self._part("active" if not self._family.log_table else "at_hand"),
            "small": self._part("small"),
            "base": self._base(columns),
            "lexical": self._part("lexical") if Signal.LEXICAL in weighted else "",
            "kept": ", ".join(self._kept(columns)),
            "joined": self._joined(),
            "values": listed(named({s.value: self._value(s) for s in weighted})),
            "nominated": self._nominated(),
            "ranks": listed(named({f"{s.value}_rank": rank_of(s) for s in weighted})),
            "reach": self._reach(),
            "fusion": " + ".join(self._contribution(signal) for signal in Signal),
            "outcomes": ", ".join(self._outcomes()),
            "strength": self._strength(),
        }
        return statement(self._part("recall", **parts), prepared=True)

    def _part(self, name: str, **more: str) -> str:
        return filled(templates.query(_FILE, name), {**self._names, **more})

    def _visible(self) -> str:
        asked = self._asked
        parts: list[str] = []
        if asked.as_of:
            parts.append(f"m.created_at <= {_MOMENT} AND past.state_to = 'current'")
        elif asked.include_archived:
            parts.append("m.deleted_at IS NULL")
        else:
            parts.append(live("m"))
        if not asked.include_candidates:
            parts.append("NOT m.candidate")
        if set(asked.tiers) != set(Tier):
            tiers = ", ".join(f"'{tier.value}'" for tier in asked.tiers)
            parts.append(f"m.tier = ANY (ARRAY[{tiers}]::idetic.tier[])")
        parts += [text for name, text in NARROWING.items() if getattr(asked, name)]
        for number, name in enumerate(asked.where, start=len(asked.envelope)):
            kind = self._family.spec.retrieval.envelope[name].type
            parts.append(matches(kind, name, f"%(asked_{number})s"))
        return " AND ".join(parts)

    def _columns(self) -> Iterator[tuple[str, str]]:
        """What the weighted signals read of an entry, beside its words and its vector."""
        if Signal.ENVELOPE in self._weighted:
            yield "envelope", self._envelope()
        if Signal.DECAY in self._weighted:
            for name in ("typology", "valid_at", "exempt_at"):
                yield name, f"m.{name}"
        if Signal.SUBSTANCE in self._weighted:
            yield "substance", "m.substance"

    def _base(self, columns: dict[str, str]) -> str:
        """What may be recalled, with the words that count, those of neighbours included."""
        if Signal.LEXICAL not in self._weighted:
            return self._part("base", read=listed(named(columns)), **self._seen)
        window = self._family.spec.retrieval.neighbours
        around = [
            f"{side}(m.words, {distance}, '') OVER w"
            for side, count in (("lag", window.before), ("lead", window.after))
            for distance in range(1, count + 1)
        ]
        words = [self._part("words"), *([self._part("place")] if around else [])]
        base = self._part("base", read=listed([*named(columns), *words]), **self._seen)
        if not around:
            return base
        return self._part(
            "base_with_neighbours",
            base=base,
            columns=", ".join(f"m.{name}" for name in ("memory_id", "tier", *columns)),
            around=" || ".join(["m.words", *around]),
            before=str(window.before),
            after=str(window.after),
        )

    def _kept(self, columns: dict[str, str]) -> Iterator[str]:
        """The columns of a scored entry."""
        for name in ("memory_id", "tier", *columns):
            yield f"b.{name}"
        yield "sem.distance" if self._compared else "NULL::float8 AS distance"
        if Signal.LEXICAL in self._weighted:
            yield "lex.score AS words"

    def _joined(self) -> str:
        """The scores beside `base`, of the signals that count."""
        parts: list[str] = []
        if self._compared:
            parts.append(f"LEFT JOIN ({self._semantic()}) sem USING (memory_id)")
        if Signal.LEXICAL in self._weighted:
            parts.append("LEFT JOIN lex USING (memory_id)")
        return " ".join(parts)

    @property
    def _compared(self) -> bool:
        """Whether vectors are compared."""
        return self._asked.vector is not None and Signal.SEMANTIC in self._weighted

    def _semantic(self) -> str:
        cells = [
            self._part(
                "semantic_indexed",
                tier=f"'{tier.value}'",
                typology=f"'{typology.value}'",
                **self._seen,
            )
            for tier, typology in self._family.spec.typology.cells()
            if tier in self._asked.tiers
        ]
        return " UNION ALL ".join([self._part("semantic_exact"), *cells])

    def _value(self, signal: Signal) -> str:
        """A weighted signal's value from 0 to 1, of a scored entry called m."""
        if signal is Signal.ENVELOPE:
            return "m.envelope"
        if signal is Signal.SEMANTIC:
            return COSINE
        if signal is Signal.LEXICAL:
            return "m.words / (SELECT max(score) FROM lex)"
        return self._plain_value(signal)

    def _plain_value(self, signal: Signal) -> str:
        """A signal's value of an entry by itself, called m: what it would be worth, if weighted."""
        if signal is Signal.ENVELOPE:
            return self._envelope()
        if signal is Signal.DECAY:
            return filled(freshness(self._family, self._scope, "%(moment)s"), self._names)
        return SUBSTANCE if signal is Signal.SUBSTANCE else "NULL::float8"

    def _nominated(self) -> str:
        """Who may be a candidate: the best of each weighted signal. Substance names nobody."""
        parts = [
            f"({self._part(f'nominate_{signal.value}')})"
            for signal in self._weighted
            if signal is not Signal.SUBSTANCE
        ]
        return " OR ".join(parts) if parts else "false"

    def _envelope(self) -> str:
        """The weighted share of the question's envelope that an entry satisfies."""
        declared = self._family.spec.retrieval.envelope
        wanted = [(declared[k], k, n) for n, k in enumerate(self._asked.envelope)]
        total = sum(key.weight for key, _, _ in wanted)
        if not total:
            return "0::float8"
        terms = (
            f"{key.weight / total!r} * ({matches(key.type, name, f'%(asked_{number})s')})::integer"
            for key, name, number in wanted
        )
        return f"({' + '.join(terms)})::float8"

    def _contribution(self, signal: Signal) -> str:
        weight = self._asked.weights.get(signal, 0.0)
        fusion = self._family.spec.retrieval.fusion
        if not weight:
            return "0.0::float8"
        if fusion.method is FusionMethod.WEIGHTED:
            return f"coalesce({weight!r} * r.{signal.value}, 0)::float8"
        return f"coalesce({float(weight)!r} / ({fusion.k} + r.{signal.value}_rank), 0)::float8"

    def _reach(self) -> str:
        """What an entry's tier counts; a tier the spec does not name is out of reach."""
        weights = (
            f"WHEN '{tier.value}' THEN {float(weight)!r}::float8"
            for tier, weight in self._family.spec.retrieval.tiers.items()
        )
        return f"(CASE r.tier {' '.join(weights)} ELSE 0.0 END)"

    def _outcomes(self) -> Iterator[str]:
        """Rank, value and contribution by signal. Of one that does not count, only the value."""
        for signal in Signal:
            if signal not in self._weighted:
                yield f"NULL::bigint, {self._plain_value(signal)}, 0.0::float8"
                continue
            yield f"top.{signal.value}_rank"
            yield f"top.{signal.value}"
            yield self._contribution(signal).replace(" r.", " top.")

    def _strength(self) -> str:
        found = [
            f"({self._part('strength', **canonical_names(self._family, canonical))})"
            for canonical in self._family.spec.references.canonical
            if canonical.strength
        ]
        return f"least({', '.join(found)})::text" if found else "NULL::text"


def named(columns: dict[str, str]) -> Iterator[str]:
    """Each value under its name."""
    for name, value in columns.items():
        yield f"{value} AS {name}"


def listed(columns: Iterable[str]) -> str:
    """The columns as the rest of a list that has begun."""
    return "".join(f", {column}" for column in columns)


def rank_of(signal: Signal) -> str:
    """An entry's rank among the candidates, by one signal."""
    if signal is Signal.SEMANTIC:
        # By distance: the value is cut off at both ends.
        return "CASE WHEN v.distance IS NOT NULL THEN rank() OVER (ORDER BY v.distance) END"
    value = f"v.{signal.value}"
    return f"CASE WHEN {value} > 0 THEN rank() OVER (ORDER BY {value} DESC NULLS LAST) END"
