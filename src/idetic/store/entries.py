"""Reading entries: every statement here carries the scope, from the one place that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import (
    Decision,
    Entry,
    LedgerRecord,
    Origin,
    Overdue,
    PrincipalKind,
    Ref,
    Scope,
    Tier,
    Typology,
)
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.canonical import canonical_names
from idetic.store.database import Database
from idetic.store.decay import freshness
from idetic.store.envelope import within
from idetic.store.family import Family, Names
from idetic.store.templates import raw

_FIELDS = (
    "memory_id tier typology body_text envelope origin trust created_at created_by spec_version "
    "session_id interaction_id valid_at invalid_at archived_at superseded_at superseded_by "
    "invalidated_at deleted_at exempt_at candidate meta_at"
).split()
_ANYTHING: Mapping[str, Any] = MappingProxyType({})
_STATE_TIMES = (
    *("archived_at", "superseded_at", "invalidated_at", "deleted_at", "exempt_at"),
    "meta_at",
)


class Entries:
    """The reading side of one agent's family."""

    def __init__(self, database: Database, family: Family):
        self._database = database
        self._family = family
        self._names = family.names()

    async def get(self, scope: Scope, memory_id: UUID) -> Entry | None:
        """One entry, or None."""
        rows = await self._rows(scope, "get", memory_id=sql.Literal(memory_id))
        return next(map(self.entry, rows), None)

    async def current(
        self, scope: Scope, *, limit: int, where: Mapping[str, Any] = _ANYTHING, **filters: Any
    ) -> list[Entry]:
        """The current view, newest first."""
        wanted = {name: sql.Literal(value) for name, value in filters.items()}
        narrowed = within(self._family.spec, where)
        rows = await self._rows(scope, "list", limit=sql.Literal(limit), where=narrowed, **wanted)
        return list(map(self.entry, rows))

    async def about(self, scope: Scope, subjects: Sequence[str]) -> list[Entry]:
        """The current entries whose claim is about one of the subjects, oldest first."""
        rows = await self._rows(scope, "about", subjects=sql.Literal(list(subjects)))
        return list(map(self.entry, rows))

    async def tally(self, scope: Scope, key: str, where: Mapping[str, Any]) -> dict[str, int]:
        """How many current entries carry each value of one key of the envelope."""
        narrowed = within(self._family.spec, where)
        return dict(await self._rows(scope, "tally", key=sql.Literal(key), where=narrowed))

    async def last_read(self, scope: Scope, ids: Sequence[UUID]) -> dict[UUID, datetime]:
        """When each of the entries was last read, of those that were."""
        return dict(await self._rows(scope, "last_read", ids=sql.Literal(list(ids))))

    async def as_of(
        self, scope: Scope, moment: datetime, *, limit: int, before: UUID | None
    ) -> list[Entry]:
        """What was current at a moment, each entry as it stood then."""
        rows = await self._rows(
            scope,
            "as_of",
            moment=sql.Literal(moment),
            limit=sql.Literal(limit),
            before=sql.Literal(before),
        )
        return [_as_it_stood(self.entry(row), moment) for row in rows]

    async def overdue(self, scope: Scope, moment: datetime, *, limit: int) -> list[Overdue]:
        """The persistent entries that time presses on most, the most pressed first."""
        rows = await self._rows(
            scope,
            "overdue",
            fresh=freshness(self._family, scope, sql.Literal(moment)),
            limit=sql.Literal(limit),
        )
        return [Overdue(self.entry(row[1:]), row[0]) for row in rows]

    async def history(self, scope: Scope, memory_id: UUID) -> list[LedgerRecord]:
        """Every transition of one entry, oldest first."""
        rows = await self._rows(scope, "history", memory_id=sql.Literal(memory_id))
        return [record(row) for row in rows]

    async def _rows(self, scope: Scope, query: str, **values: Composable) -> list[tuple[Any, ...]]:
        names: Names = {
            **self._names,
            **values,
            "columns": self.columns(scope),
            "scope_m": scoping.predicate(scope, "m"),
            "scope_l": scoping.predicate(scope, "l"),
            "scope_r": scoping.predicate(scope, "r"),
        }
        statement = raw(templates.query("queries/entries.sql", query)).format(**names)
        return await self._database.run(scope, statement.as_string(None))

    def columns(self, scope: Scope) -> Composable:
        """The columns that `entry` reads, of a memory table called m."""
        extra = (*self._family.keys, *self._family.spec.anchor.provenance)
        columns: list[Composable] = [sql.Identifier("m", name) for name in (*_FIELDS, *extra)]
        return raw(", ").join([*columns, *self._refs(scope)])

    def _refs(self, scope: Scope) -> Iterator[Composable]:
        for canonical in self._family.spec.references.canonical:
            pinned = raw("r.{}").format(sql.Identifier(f"{canonical.noun}_version"))
            names = canonical_names(self._family, canonical) | {
                "scope_r": scoping.predicate(scope, "r"),
                "pinned": pinned if canonical.versions else raw("NULL"),
            }
            text = templates.query("queries/entries.sql", "refs")
            yield raw("({})").format(raw(text).format(**names))

    def entry(self, row: tuple[Any, ...]) -> Entry:
        """An entry from its columns."""
        keys, provenance = self._family.keys, self._family.spec.anchor.provenance
        fields = dict(zip(_FIELDS, row, strict=False))
        rest = row[len(_FIELDS) :]
        fields["id"] = fields.pop("memory_id")
        fields["tier"] = Tier(fields["tier"])
        fields["typology"] = Typology(fields["typology"])
        fields["origin"] = Origin(fields["origin"])
        refs = [
            Ref(n, UUID(i), v) for found in rest[len(keys) + len(provenance) :] for n, i, v in found
        ]
        return Entry(
            **fields,
            anchor=dict(zip(keys, rest, strict=False)),
            provenance=dict(zip(provenance, rest[len(keys) :], strict=False)),
            refs=tuple(refs),
        )


def _as_it_stood(entry: Entry, moment: datetime) -> Entry:
    later = {name: None for name in _STATE_TIMES if (t := getattr(entry, name)) and t > moment}
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
