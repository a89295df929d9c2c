"""The statements of a recall, composed once per form of question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idetic.model import Scope, Tier
from idetic.spec.primitives import Signal
from idetic.store import entry_sql, templates
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.entry_sql import matches
from idetic.store.family import Family, canonical_names, evidence, live
from idetic.store.scope import quoted
from idetic.store.templates import Fillers, Statement, filled, statement

if TYPE_CHECKING:
    from idetic.store.recall_query import RecallQuery

# Of each signal so many are candidates.
POOL = 100
# A longer tail of the chain is read with everything else, as if nothing were indexed.
MOST_TAIL = 4_000
_FILE = "queries/recall.sql"
_NOMINATION = "queries/nomination.sql"
_MOMENT = "%(moment)s::timestamptz"
# So many characters of what was said before an entry are read with it.
CONTEXT = 300

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
# come from their index instead, which is walked until enough of this scope are found. How many
# candidates per step it takes grows with the anchor (`Reading.settings`).
_SETTINGS = {
    "enable_nestloop": "off",
    "enable_seqscan": "off",
    "enable_sort": "off",
    # A forbidden plan counts as very dear, and what is dear is compiled first: on a server whose
    # default is on, that took seconds for a statement of five milliseconds.
    "jit": "off",
    "hnsw.iterative_scan": "strict_order",
}
# Planning the statement costs as much as running it. Citus cannot plan it in general.
_GENERIC = {"plan_cache_mode": "force_generic_plan"}


def settings_of(database: Database) -> dict[str, str]:
    """The settings of a recall on this database."""
    return _SETTINGS if database.citus else _SETTINGS | _GENERIC


class RecallStatement:
    """Composes the statements that show the best of one form of question."""

    def __init__(self, family: Family, scope: Scope, query: RecallQuery, vector_schema: str):
        self.query = query
        self._family = family
        self._scope = scope
        self._compared = query.vector is not None and bool(query.weights.get(Signal.SEMANTIC))
        names: Fillers = {
            **family.names(),
            **family.scope_names(scope),
            "vector": quoted(vector_schema),
            "pool": str(POOL),
            "most_tail": str(MOST_TAIL),
            "before": str(family.spec.retrieval.neighbours.before),
            "packed": entry_sql.packed(),
            "times": entry_sql.times(family, family.scope_names(scope)),
            "speaker": entry_sql.speaker(),
            "terms": templates.query(_NOMINATION, "terms"),
            "visible": self._visible(),
        }
        active = "at_hand" if family.log_table else "active"
        as_of = templates.query(_NOMINATION, "as_of") if query.filters.as_of else ""
        self._names: Fillers = {
            **names,
            "active": filled(templates.query(_NOMINATION, active), names),
            "as_of_join": filled(as_of, names),
        }

    def whole(self, entries: Entries) -> Statement:
        """The statement that reads the best as entries."""
        parts = {
            "columns": filled(entries.columns(self._scope), self._names),
            "piece": self._named("piece") if self._compared else "NULL::smallint",
            "strength": self._strength(),
        }
        return statement(self._named("entries", **parts), prepared=True)

    def before(self) -> Statement:
        """The statement that reads what was said right before some entries."""
        return statement(self._named("before", context=str(CONTEXT)))

    def part(self, text: str, **more: str) -> str:
        """A text with the names of this form of question in place."""
        return filled(text, {**self._names, **more})

    def _named(self, name: str, **more: str) -> str:
        """One part of a statement, with this form's names in place."""
        return self.part(templates.query(_FILE, name), **more)

    def _visible(self) -> str:
        """Which entries may be recalled."""
        filters = self.query.filters
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
        for number, name in enumerate(filters.where, start=len(self.query.envelope)):
            kind = self._family.spec.retrieval.envelope[name].type
            parts.append(matches(kind, name, f"%(asked_{number})s"))
        return " AND ".join(parts)

    def envelope(self) -> str:
        """The weighted share of the question's envelope that an entry satisfies."""
        declared = self._family.spec.retrieval.envelope
        wanted = [(declared[k], k, n) for n, k in enumerate(self.query.envelope)]
        total = sum(key.weight for key, _, _ in wanted)
        if not total:
            return "0::float8"
        terms = (
            f"{key.weight / total!r} * ({matches(key.type, name, f'%(asked_{number})s')})::integer"
            for key, name, number in wanted
        )
        return f"({' + '.join(terms)})::float8"

    def _strength(self) -> str:
        """The strongest source that an entry refers to, over all nouns that have a strength."""
        found = [
            f"({self._named('strength', **canonical_names(self._family, canonical))})"
            for canonical in self._family.spec.references.canonical
            if canonical.strength
        ]
        # The type's order begins with the strongest.
        return f"least({', '.join(found)})::text" if found else "NULL::text"
