"""The recall statement of one agent's family, composed once per form of question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from idetic.model import Scope, Tier
from idetic.spec.primitives import FusionMethod, Signal
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.entry_sql import freshness, matches
from idetic.store.family import LONG_ENTRY, Family, canonical_names, evidence, live
from idetic.store.scope import quoted
from idetic.store.templates import Fillers, Statement, filled, statement

if TYPE_CHECKING:
    from idetic.store.recall_query import RecallQuery

# Up to this chain length an anchor's vectors are compared one by one. Their index would make a
# recall 1.5 to 2 times faster from 20,000 on, but misses some, at 80,000 one of thirty of the
# nearest: up to there, exactness is worth more (bench/threshold.py, docs/benchmarks.md).
EXACT_BELOW = 80_000
POOL = 100
_FILE = "queries/recall.sql"
_MOMENT = "%(moment)s::timestamptz"
# In words that count, without stop words. Each was chosen on the development sets
# (bench.quality): a question shorter than the first is no statement; words count fully where
# entries are shorter than the second.
SHORT_QUESTION = 12
BRIEF_ENTRY = 15

_OF_THE_ROW = (Signal.STATEMENT, Signal.VOICE, Signal.SPEAKER, Signal.TIME)
_NOMINATING = (Signal.ENVELOPE, Signal.SEMANTIC, Signal.DECAY, Signal.LEXICAL, Signal.TIME)

# What narrows a question where it is asked for, and is no part of its text otherwise.
NARROWING = {
    "typologies": "m.typology = ANY (%(typologies)s::idetic.typology[])",
    "origins": "m.origin = ANY (%(origins)s::idetic.origin[])",
    "min_trust": "m.trust >= %(min_trust)s::integer",
    "sessions": "m.session_id = ANY (%(sessions)s::uuid[])",
    "since": "m.valid_at >= %(since)s::timestamptz",
    "until": "m.valid_at < %(until)s::timestamptz",
    "min_importance": "m.importance >= %(min_importance)s::real",
}
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
    """Composes the statement for one form of question."""

    # The parts that another way to the candidates replaces, by what they are for; and the columns
    # by which an entry knows what stands beside it.
    forms: Mapping[str, str] = {}
    beside: tuple[str, ...] = ("place", "turn")

    def __init__(self, family: Family, scope: Scope, query: RecallQuery, vector_schema: str):
        self._family = family
        self._scope = scope
        self._query = query
        self._weighted = [signal for signal in Signal if query.weights.get(signal)]
        self._names: Fillers = {
            **family.names(),
            **family.scope_names(scope),
            "vector": quoted(vector_schema),
            "exact_below": str(EXACT_BELOW),
            "pool": str(POOL),
            "short_question": str(SHORT_QUESTION),
            "long_entry": str(LONG_ENTRY),
            "brief_entry": f"{float(BRIEF_ENTRY)!r}",
            "terms": templates.query(_FILE, "terms"),
            "before": str(family.spec.retrieval.neighbours.before),
            "after": str(family.spec.retrieval.neighbours.after),
        }
        self._seen = {
            "as_of_join": self._part("as_of") if query.filters.as_of else "",
            "visible": self._visible(),
        }

    def compose(self, entries: Entries) -> Statement:
        """The whole statement."""
        weighted, columns = self._weighted, self._columns()
        placed = self.beside if Signal.NEARBY in weighted else ()
        kept = [f"b.{name}" for name in ("memory_id", "tier", *columns, *placed)]
        joined = []
        compared = self._query.vector is not None and Signal.SEMANTIC in weighted
        if compared:
            kept.append("sem.distance")
            joined.append(f"LEFT JOIN ({self._semantic()}) sem USING (memory_id)")
        else:
            kept.append("NULL::float8 AS distance")
        if Signal.LEXICAL in weighted:
            kept.append("lex.score AS words, lex.covered")
            joined.append("LEFT JOIN lex USING (memory_id)")
        # Who may be a candidate: the best of each weighted signal that finds anything by itself.
        nominated = [
            f"({self._part(f'nominate_{signal.value}')})"
            for signal in weighted
            if signal in _NOMINATING
        ]
        ranked = [signal for signal in weighted if signal is not Signal.NEARBY]
        values = {s.value: self._value(s) for s in ranked} | {name: f"m.{name}" for name in placed}
        if Signal.LEXICAL in weighted:
            values |= {"covered": "m.covered", "share": "m.words / (SELECT max(score) FROM lex)"}
        parts = {
            "columns": filled(entries.columns(self._scope), self._names),
            "active": self._part("active" if not self._family.log_table else "at_hand"),
            "small": self._part("small"),
            "chosen": self._chosen(columns),
            "base": self._base(columns),
            "lexical": self._lexical(),
            "kept": ", ".join(kept),
            "joined": " ".join(joined),
            "spread": self._form("spread") if Signal.SEMANTIC in weighted else "",
            "values": _listed(values),
            "nominated": " OR ".join(nominated) or "false",
            "ranks": _listed({f"{s.value}_rank": _rank_of(s) for s in ranked}),
            "reach": self._reach(),
            "fusion": " + ".join(self._contribution(s, "r") for s in ranked) or "0.0::float8",
            "placed": self._form("nearby") if placed else "fused",
            "nearby_adds": f" + {self._contribution(Signal.NEARBY, 'p')}" if placed else "",
            "rarity": self._part("rarity") if Signal.LEXICAL in weighted else "NULL::jsonb",
            **self._grounds(compared),
            **self._counted(),
            "piece": self._part("piece") if compared else "NULL::smallint",
            "outcomes": ", ".join(map(self._outcome, Signal)),
            "strength": self._strength(),
        }
        return statement(self._part("recall", **parts), prepared=True)

    def _chosen(self, columns: dict[str, str]) -> str:
        """What is done before entries are read: here nothing, every visible one is a candidate."""
        return ""

    def _counted(self) -> dict[str, str]:
        """How many entries were looked at, how many have a vector, and that none was missed."""
        return {"considered": "count(*)", "embedded": self._part("embedded"), "whole": "true"}

    def _grounds(self, compared: bool) -> dict[str, str]:
        """What relevance is judged by; what no weighted signal computes anyway is not computed."""
        spoken = Signal.LEXICAL in self._weighted
        covered = "(SELECT max(covered) FROM lex)" if spoken else "NULL::float8"
        nearest = "(SELECT -best FROM spread)" if compared else "NULL::float8"
        of_hit = "top.covered, top.share" if spoken else "NULL::float8, NULL::float8"
        return {
            "grounds": self._part("grounds", covered=covered, nearest=nearest),
            "hit_grounds": f"{of_hit}, length(m.lexemes)",
        }

    def _part(self, name: str, **more: str) -> str:
        """One part of the statement, with this family's names in place."""
        return filled(templates.query(_FILE, name), {**self._names, **more})

    @property
    def visible(self) -> str:
        """Which entries may be recalled, of those called m."""
        return self._seen["visible"]

    def _form(self, name: str, **more: str) -> str:
        """A part that another way to the candidates may replace."""
        return self._part(self.forms.get(name, name), **more)

    def _visible(self) -> str:
        """Which entries may be recalled."""
        filters = self._query.filters
        parts: list[str] = []
        if filters.as_of:
            parts.append(f"m.created_at <= {_MOMENT} AND past.state_to = 'current'")
        else:
            everything = f"m.deleted_at IS NULL AND NOT {evidence('m')}"
            parts.append(everything if filters.include_archived else live("m"))
        if not filters.include_candidates:
            parts.append("NOT m.candidate")
        if self._family.searched:
            parts.append(self._family.searched)
        if set(filters.tiers) != set(Tier):
            tiers = ", ".join(f"'{tier.value}'" for tier in filters.tiers)
            parts.append(f"m.tier = ANY (ARRAY[{tiers}]::idetic.tier[])")
        parts += [text for name, text in NARROWING.items() if getattr(filters, name)]
        for number, name in enumerate(filters.where, start=len(self._query.envelope)):
            kind = self._family.spec.retrieval.envelope[name].type
            parts.append(matches(kind, name, f"%(asked_{number})s"))
        return " AND ".join(parts)

    def _columns(self) -> dict[str, str]:
        """What the weighted signals read of an entry, beside its words and its vector."""
        found = {}
        if Signal.ENVELOPE in self._weighted:
            found["envelope"] = self._envelope()
        if Signal.DECAY in self._weighted:
            found |= {name: f"m.{name}" for name in ("typology", "valid_at", "exempt_at")}
        for signal in _OF_THE_ROW:
            if signal in self._weighted:
                found[signal.value] = self._value(signal, scored=False)
        return found

    def _base(self, columns: dict[str, str]) -> str:
        """What may be recalled, with the words that count, those of neighbours included."""
        if Signal.LEXICAL not in self._weighted:
            return self._part("base", read=_listed(columns), **self._seen)
        words = f", {self._part('words')}" + (f", {self._part('place')}" if self._scoped else "")
        base = self._part("base", read=_listed(columns) + words, **self._seen)
        if not self._scoped:
            return base
        return self._part(
            "base_with_neighbours",
            base=base,
            columns=", ".join(f"m.{name}" for name in ("memory_id", "tier", *columns)),
        )

    @property
    def _scoped(self) -> bool:
        """Whether the entries before and after an entry count."""
        window = self._family.spec.retrieval.neighbours
        beside = bool(window.before or window.after) or Signal.NEARBY in self._weighted
        return beside and Signal.LEXICAL in self._weighted

    def _lexical(self) -> str:
        """The scores of the words, if they are weighted."""
        if Signal.LEXICAL not in self._weighted:
            return ""
        own = {"own": "own" if self._scoped else "len"}
        hits = self._form("hits_with_neighbours" if self._scoped else "hits")
        sums, frequencies = self._form("sums", **own), self._form("frequencies")
        return self._part("lexical", hits=hits, sums=sums, frequencies=frequencies)

    def _semantic(self) -> str:
        """The distances: exact in a small anchor, from the index of each cell in a large one."""
        cells = [
            self._part(
                "semantic_indexed",
                tier=f"'{tier.value}'",
                typology=f"'{typology.value}'",
                **self._seen,
            )
            for tier, typology in self._family.spec.typology.cells()
            if tier in self._query.filters.tiers
        ]
        vectors = " UNION ALL ".join([self._part("semantic_exact"), *cells])
        return self._part("semantic", vectors=vectors)

    def _value(self, signal: Signal, *, scored: bool = True) -> str:
        """A signal's value from 0 to 1, of an entry called m.

        Of one that is not `scored`, what it would be worth by itself, if the signal counted.
        """
        if signal is Signal.ENVELOPE:
            return "m.envelope" if scored else self._envelope()
        if signal is Signal.DECAY:
            return filled(freshness(self._family, self._scope, "%(moment)s"), self._names)
        if signal in _OF_THE_ROW:
            return f"m.{signal.value}" if scored else self._of_the_row(signal)
        return self._part(f"value_{signal.value}") if scored else "NULL::float8"

    def _of_the_row(self, signal: Signal) -> str:
        """What a signal reads off an entry itself, whatever else the anchor holds."""
        if signal is Signal.VOICE:
            voices = self._family.spec.retrieval.voices.items()
            cases = " ".join(f"WHEN '{o.value}' THEN {float(w)!r}::float8" for o, w in voices)
            return f"(CASE m.origin {cases} ELSE 0.0 END)" if cases else "0.0::float8"
        if signal is Signal.TIME and not self._query.windows:
            return "NULL::float8"
        return self._part(f"value_{signal.value}")

    def _envelope(self) -> str:
        """The weighted share of the question's envelope that an entry satisfies."""
        declared = self._family.spec.retrieval.envelope
        wanted = [(declared[k], k, n) for n, k in enumerate(self._query.envelope)]
        total = sum(key.weight for key, _, _ in wanted)
        if not total:
            return "0::float8"
        terms = (
            f"{key.weight / total!r} * ({matches(key.type, name, f'%(asked_{number})s')})::integer"
            for key, name, number in wanted
        )
        return f"({' + '.join(terms)})::float8"

    def _contribution(self, signal: Signal, row: str) -> str:
        """What a signal adds to a row's score: its weighted value, or its share by rank."""
        weight = self._query.weights.get(signal, 0.0)
        fusion = self._family.spec.retrieval.fusion
        if not weight:
            return "0.0::float8"
        if signal is Signal.NEARBY:
            return self._part("nearby_adds", weight=repr(weight), row=row)
        # A row that the signal knows nothing of gets nothing from it, hence coalesce.
        if fusion.method is FusionMethod.WEIGHTED:
            return f"coalesce({weight!r} * {row}.{signal.value}, 0)::float8"
        return f"coalesce({float(weight)!r} / ({fusion.k} + {row}.{signal.value}_rank), 0)::float8"

    def _outcome(self, signal: Signal) -> str:
        """Rank, value and contribution. Of a signal that does not count, only the value."""
        if signal not in self._weighted:
            return f"NULL::bigint, {self._value(signal, scored=False)}, 0.0::float8"
        name = signal.value
        if signal is Signal.NEARBY:
            return f"NULL::bigint, top.nearby, {self._contribution(signal, 'top')}"
        return f"top.{name}_rank, top.{name}, {self._contribution(signal, 'top')}"

    def _reach(self) -> str:
        """What an entry's tier counts; a tier the spec does not name is out of reach."""
        weights = (
            f"WHEN '{tier.value}' THEN {float(weight)!r}::float8"
            for tier, weight in self._family.spec.retrieval.tiers.items()
        )
        return f"(CASE r.tier {' '.join(weights)} ELSE 0.0 END)"

    def _strength(self) -> str:
        """The strongest source that an entry refers to, over all nouns that have a strength."""
        found = [
            f"({self._part('strength', **canonical_names(self._family, canonical))})"
            for canonical in self._family.spec.references.canonical
            if canonical.strength
        ]
        # The type's order begins with the strongest.
        return f"least({', '.join(found)})::text" if found else "NULL::text"


class NominatedStatement(RecallStatement):
    """The same scores for entries that indexes have nominated, and for no others.

    What a score depends on beyond these entries comes with the nomination (`nomination.py`).
    """

    forms: Mapping[str, str] = {
        "spread": "spread_sampled",
        "nearby": "nearby_placed",
        "hits_with_neighbours": "hits_placed",
        "sums": "sums_kept",
        "frequencies": "frequencies_kept",
    }
    beside = ("previous", "next")

    def _chosen(self, columns: dict[str, str]) -> str:
        """The nominated ids; where neighbours count, with what stands beside each."""
        if not self._scoped:
            return self._part("chosen", neighbours="")
        place = f", {self._part('place')}"
        base = self._part("base_chosen", read=_listed(columns) + place, **self._seen)
        window = self._family.spec.retrieval.neighbours
        sides = {
            "beside_before": {"side": "<", "order": "DESC", "most": str(max(window.before, 1))},
            "beside_after": {"side": ">", "order": "ASC", "most": str(max(window.after, 1))},
        }
        beside = {n: self._part("beside", **self._seen, **side) for n, side in sides.items()}
        words = self._part("words")
        placed = self._part("neighbours", base=base, words=words, **beside)
        return self._part("chosen", neighbours=placed)

    def _base(self, columns: dict[str, str]) -> str:
        """The nominated entries; those that are not visible any more are none."""
        if self._scoped:
            names = ", ".join(f"p.{name}" for name in ("memory_id", "tier", *columns))
            return self._part("base_placed", columns=names)
        words = f", {self._part('words')}" if Signal.LEXICAL in self._weighted else ""
        return self._part("base_chosen", read=_listed(columns) + words, **self._seen)

    def _semantic(self) -> str:
        """The distances of the nominated entries, all exact."""
        return self._part("semantic", vectors=self._part("semantic_chosen"))

    def _counted(self) -> dict[str, str]:
        """Kept counts, with those of what is not indexed; and whether every place was found."""
        considered = self._part("considered_kept")
        return {"considered": considered, "embedded": considered, "whole": self._part("whole")}


def _listed(columns: dict[str, str]) -> str:
    """Values under their names, as the rest of a list that has begun."""
    return "".join(f", {value} AS {name}" for name, value in columns.items())


def _rank_of(signal: Signal) -> str:
    """An entry's rank among the candidates, by one signal."""
    if signal is Signal.SEMANTIC:
        # By distance: the value is cut off at both ends.
        return "CASE WHEN v.distance IS NOT NULL THEN rank() OVER (ORDER BY v.distance) END"
    value = f"v.{signal.value}"
    if signal is Signal.DECAY or signal in _OF_THE_ROW:
        # By bands that share a rank: microseconds of age must not weigh as much as relevance.
        bands = f"dense_rank() OVER (ORDER BY ceil({value} * 10) DESC NULLS LAST)"
        return f"CASE WHEN {value} > 0 THEN {bands} END"
    return f"CASE WHEN {value} > 0 THEN rank() OVER (ORDER BY {value} DESC NULLS LAST) END"
