"""What an audit reads: a chain as it is stored, entries beside their history, one action's ground.

Rows and nothing else: what they amount to is judged in `idetic.audit`, away from the database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Entry, LedgerRecord, Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.access import STATE
from idetic.store.canonical import canonical_names
from idetic.store.database import Rows
from idetic.store.entries import record
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.templates import raw

FILE = "queries/audit.sql"
# The links after which an entry has no content any more.
EMPTIED = ("disposed", "erased")
_BEFORE_ALL = UUID(int=0)


class Audited(Held):
    """One anchor, looked at and never taken."""

    async def end(self) -> tuple[int | None, bytes | None, str | None, int | None]:
        """The end that the anchor's row claims (position, hash, time), and the last position."""
        rows = await self._ask("end", micros_a=_micros("a"))
        position, digest, at, last = rows[0]
        return position, digest, at, last

    async def chain(self, after: int, upto: int, limit: int) -> Rows:
        """A stretch of the chain, in order."""
        return await self._ask(
            "chain",
            micros_l=_micros("l"),
            after=sql.Literal(after),
            upto=sql.Literal(upto),
            limit=sql.Literal(limit),
        )

    async def holders(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """Where links with these hashes stand."""
        # As hexadecimal: the driver's literal for an array of bytes doubles every quote in them.
        wanted = sql.Literal([digest.hex() for digest in hashes])
        rows = await self._ask("holders", hashes=wanted) if hashes else []
        return {bytes(digest): position for digest, position in rows}

    async def contents(self, after: UUID | None, limit: int) -> Rows:
        """A batch of entries, each beside what its history says of it."""
        return await self._ask(
            "contents",
            after=sql.Literal(after or _BEFORE_ALL),
            emptied=sql.Literal(list(EMPTIED)),
            turned_columns=_pairs(STATE),
            provenance_columns=_pairs(self.family.spec.anchor.provenance),
            limit=sql.Literal(limit),
        )

    async def loose(self, what: str, limit: int) -> Rows:
        """What hangs loose: vanished, forged_lineage, lost_receipts, unrecorded_actions, …"""
        return await self._ask(what, limit=sql.Literal(limit))

    async def action(self, action_id: UUID) -> Rows:
        """What an action rested on."""
        return await self._ask("action", action_id=sql.Literal(action_id))

    async def actions(self, before: UUID | None, limit: int) -> Rows:
        """Actions that rest on entries, newest first: (id, kind, at, by, entries, reason)."""
        return await self._ask("actions", before=sql.Literal(before), limit=sql.Literal(limit))

    async def readers(self, entry_id: UUID, limit: int) -> Rows:
        """Who was shown one entry, newest first: (by, at, session, interaction)."""
        values = {"entry_id": sql.Literal(entry_id), "limit": sql.Literal(limit)}
        return await self._ask("readers", **values)

    async def entries(self, ids: Iterable[UUID]) -> dict[UUID, Entry]:
        """Entries by id; those that went with their scope are not among them."""
        rows = await self._ask("rows", ids=sql.Literal(list(ids)), columns=self._columns)
        return {entry.id: entry for entry in map(self._entries.entry, rows)}

    async def histories(self, ids: Iterable[UUID]) -> dict[UUID, list[LedgerRecord]]:
        """The whole histories of some entries, oldest first."""
        found: dict[UUID, list[LedgerRecord]] = {}
        for row in await self._ask("histories", ids=sql.Literal(list(ids))):
            found.setdefault(row[3], []).append(record(row))
        return found

    async def went_into(self, ids: Iterable[UUID]) -> dict[UUID, list[tuple[UUID, int]]]:
        """What went with its scope into these entries, and at which position."""
        found: dict[UUID, list[tuple[UUID, int]]] = {}
        wanted = sql.Literal([str(one) for one in ids])
        for into, memory_id, position in await self._ask("went_into", ids=wanted):
            found.setdefault(UUID(into), []).append((memory_id, position))
        return found

    async def reads(self, ids: Iterable[UUID], moment: datetime, limit: int) -> Rows:
        """Who was shown these entries up to a moment, oldest first."""
        return await self._ask(
            "reads",
            ids=sql.Literal(list(ids)),
            moment=sql.Literal(moment),
            limit=sql.Literal(limit),
        )

    async def versions(self, noun: str, ids: Iterable[UUID]) -> dict[UUID, int]:
        """The versions at which canonical rows of a noun stand now; none for an unversioned one."""
        for canonical in self.family.spec.references.canonical:
            if canonical.noun == noun and canonical.versions and canonical.version:
                rows = await self._ask(
                    "versions",
                    **canonical_names(self.family, canonical),
                    version=sql.Identifier(canonical.version),
                    scope_tenant_c=scoping.tenant_predicate(self.scope, "c"),
                    ids=sql.Literal(list(ids)),
                )
                return dict(rows)
        return {}

    async def _ask(self, query: str, **values: Composable) -> Rows:
        text = raw(templates.query(FILE, query)).format(**(self._names | values))
        return await self._run(text.as_string(None))


class Auditing(Holding):
    """Looks at anchors of one family."""

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Audited]:
        """The anchor's rows, each statement of its own moment; nothing is locked."""
        async with self._database.transaction(scope) as run:
            yield Audited(self._family, self._entries, self._extensions, scope, run, now)

    @property
    def family_name(self) -> str:
        """The family as a chain's genesis names it."""
        return f"{self._family.schema}.{self._family.name}"


def _pairs(columns: Iterable[str]) -> Composable:
    """Columns of an entry as the names and values of a JSON object."""
    return raw(", ").join(
        raw("{}, {}").format(sql.Literal(column), sql.Identifier("m", column)) for column in columns
    )


def _micros(alias: str) -> Composable:
    text = templates.query(FILE, "micros")
    return raw(text).format(column=sql.Identifier(alias, "at"))
