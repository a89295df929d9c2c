"""Reading entries: every statement here carries the scope, from the one place that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any
from uuid import UUID

from idetic.model import (
    Claim,
    Decision,
    Entry,
    LedgerRecord,
    Origin,
    Overdue,
    Place,
    PrincipalKind,
    Ref,
    Scope,
    Tier,
    Typology,
)
from idetic.spec.primitives import Canonical
from idetic.store import entry_sql, templates
from idetic.store import scope as scoping
from idetic.store.database import Database
from idetic.store.driver import Rows
from idetic.store.family import Family, canonical_names
from idetic.store.scope import quoted
from idetic.store.templates import BoundStatement, filled

_FILE = "entries"
_PATH = "queries/entries.sql"
_LIFECYCLE = "queries/lifecycle.sql"
_FIELDS = (
    "memory_id tier typology body_text envelope origin trust created_at created_by spec_version "
    "session_id interaction_id valid_at invalid_at archived_at superseded_at superseded_by "
    "invalidated_at deleted_at exempt_at candidate meta_at core_at"
).split()
# A context of the largest ceiling holds fewer; beyond it the oldest entries are not compared with.
MOST_SHOWN = 500
_ANYTHING: Mapping[str, Any] = MappingProxyType({})
_STATE_TIMES = (
    *("archived_at", "superseded_at", "invalidated_at", "deleted_at", "exempt_at"),
    "meta_at",
    "core_at",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as it was put before a session."""

    entry_id: UUID
    text: str
    claim: Claim | None = None
    # Whose words it was told to be: of who said them, or else of who wrote them.
    names: tuple[str, ...] = ()


class Entries:
    """The reading side of one agent's family."""

    def __init__(self, database: Database, family: Family):
        self._database = database
        self._family = family
        self._composed: dict[tuple[Any, ...], str] = {}

    async def current(
        self, scope: Scope, *, limit: int, where: Mapping[str, Any] = _ANYTHING, **filters: Any
    ) -> list[Entry]:
        """The current view, newest first."""
        narrowed, asked = entry_sql.within(self._family.spec, where)
        return await self.entries(
            scope, "list", {"where": narrowed}, limit=limit, **filters, **asked
        )

    async def as_of(
        self, scope: Scope, moment: datetime, *, limit: int, before: UUID | None
    ) -> list[Entry]:
        """What was current at a moment, each entry as it stood then."""
        found = await self.entries(scope, "as_of", moment=moment, limit=limit, before=before)
        return [_as_it_stood(entry, moment) for entry in found]

    async def overdue(self, scope: Scope, moment: datetime, *, limit: int) -> list[Overdue]:
        """The persistent entries that time presses on most, the most pressed first."""
        fresh = entry_sql.freshness(self._family, scope, "%(moment)s")
        parts = {"fresh": fresh, "columns": self.columns(scope)}
        rows = await self.rows(scope, "overdue", parts, moment=moment, limit=limit)
        return [Overdue(self.entry(scope, row[1:]), row[0]) for row in rows]

    def shown_call(self, scope: Scope, place: Place) -> BoundStatement:
        """The look-up of read receipts, for those who want to see how it runs."""
        wanted = {"session": place.session_id, "limit": MOST_SHOWN}
        return self._family.call("shown", "shown", scope, {}, **wanted)

    async def shown(self, scope: Scope, place: Place) -> list[Shown]:
        """The entries that were put before the place's session, the newest first."""
        call = self.shown_call(scope, place)
        rows = await self._database.run(scope, call.statement, call.values)
        return [
            Shown(one, text, Claim(**claim) if claim else None, (by, by.partition(":")[2]))
            for one, text, claim, by in rows
        ]

    async def entries(
        self, scope: Scope, query: str, parts: Mapping[str, str] = _ANYTHING, **values: Any
    ) -> list[Entry]:
        """The entries that a query of `entries.sql` gives, with every column that an entry has."""
        columns = {"columns": self.columns(scope)}
        rows = await self.rows(scope, query, {**parts, **columns}, **values)
        return [self.entry(scope, row) for row in rows]

    async def rows(
        self, scope: Scope, query: str, parts: Mapping[str, str] = _ANYTHING, **values: Any
    ) -> Rows:
        """The rows of one query of `entries.sql`, within a scope."""
        call = self._family.call(_FILE, query, scope, parts, **values)
        return await self._database.run(scope, call.statement, call.values)

    @cached_property
    def rests(self) -> str:
        """The condition that something rests on an entry called m, so that it must stay."""
        acted, disputed = (templates.query(_LIFECYCLE, n) for n in ("rests", "contradicted"))
        nouns = [c.noun for c in self._family.spec.references.canonical if c.contradictions]
        return f"({' OR '.join([acted, *(disputed.replace('{noun}', n) for n in nouns)])})"

    def columns(self, scope: Scope) -> str:
        """The columns that `entry` reads, of a memory table called m."""
        # The function belongs to the key: what is composed must not outlive a test's sabotage.
        key = (*open_keys(scope), scoping.predicate)
        found = self._composed.get(key)
        if found is None:
            own = [f"m.{name}" for name in (*_FIELDS, "provenance")]
            nouns = self._family.spec.references.canonical
            refs = (self._refs(scope, canonical) for canonical in nouns)
            found = ", ".join([*own, *key_columns(self._family, scope), *refs])
            self._composed[key] = found
        return found

    def _refs(self, scope: Scope, canonical: Canonical) -> str:
        """The column that gathers an entry's references to one canonical noun."""
        names = {
            **self._family.names(),
            **self._family.scope_names(scope),
            **canonical_names(self._family, canonical),
            "pinned": f"r.{canonical.noun}_version" if canonical.versions else "NULL",
        }
        return filled(templates.query(_PATH, "refs"), names)

    def entry(self, scope: Scope, row: tuple[Any, ...]) -> Entry:
        """An entry of a scope, from its columns."""
        fields = dict(zip(_FIELDS, row, strict=False))
        given, *rest = row[len(_FIELDS) :]
        provenance: Mapping[str, Any] = given if isinstance(given, dict) else {}
        fields["id"] = fields.pop("memory_id")
        fields["tier"] = Tier(fields["tier"])
        fields["typology"] = Typology(fields["typology"])
        fields["origin"] = Origin(fields["origin"])
        refs = rest[len(open_keys(scope)) :]
        return Entry(
            **fields,
            anchor=anchor_of(scope, rest),
            provenance={name: provenance.get(name) for name in self._family.spec.anchor.provenance},
            refs=tuple(Ref(n, UUID(i), v) for found in refs for n, i, v in found),
        )


def open_keys(scope: Scope) -> list[str]:
    """The anchor keys that a scope leaves open."""
    return [name for name, value in scope.anchor.items() if value is None]


def key_columns(family: Family, scope: Scope) -> list[str]:
    """The open keys of a memory row called m; those that the scope binds need no look-up."""
    text = templates.query(_PATH, "key")
    return [filled(text, {**family.names(), "key": quoted(key)}) for key in open_keys(scope)]


def anchor_of(scope: Scope, found: Sequence[Any]) -> dict[str, Any]:
    """The whole anchor of a row: what the scope binds, and what `key_columns` found."""
    return {**scope.anchor, **dict(zip(open_keys(scope), found, strict=False))}


def _as_it_stood(entry: Entry, moment: datetime) -> Entry:
    """The entry without what happened to it after a moment."""
    later = {name: None for name in _STATE_TIMES if (t := getattr(entry, name)) and t > moment}
    # Who replaced it is known only since it was replaced.
    if "superseded_at" in later:
        later["superseded_by"] = None
    fields = {name: getattr(entry, name) for name in entry.__slots__}
    return Entry(**{**fields, **later})


def record(row: tuple[Any, ...]) -> LedgerRecord:
    """One link of a chain, from its columns."""
    position, at, transition, entry_id, kind, actor, decision, *rest = row
    return LedgerRecord(
        position, at, transition, entry_id, PrincipalKind(kind), actor, Decision(decision), *rest
    )


def column_value(column: str, value: Any) -> Any:
    """A column's value out of a link's JSON, as an entry holds it: a moment, an id, or a flag."""
    if value is None or isinstance(value, bool):
        return value
    return datetime.fromisoformat(value) if column.endswith("_at") else UUID(value)
