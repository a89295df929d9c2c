"""Retention in the database: policies registered, tombstones emptied, states counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Canonical
from idetic.spec.retention import RetentionState, entities
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.canonical import canonical_names, qualified
from idetic.store.database import Connection, Rows
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.templates import raw

FILE = "queries/retention.sql"
_SILENT = {Tier.SESSION: "silent", Tier.INTERACTION: "silent_interactions"}


async def register_policies(
    connection: Connection, spec: MemorySpec, version: int, at: datetime
) -> None:
    """Write down how long each entity of a family is kept under this version of its spec."""
    same = {"agent": spec.agent, "version": version, "at": at}
    same |= {"domain_owner": spec.backend.schema_}
    rows = [
        same | {"entity": entity.value} | spec.retention_of(entity).model_dump(mode="json")
        for entity in entities(spec)
    ]
    async with connection.cursor() as cursor:
        await cursor.executemany(raw(templates.query(FILE, "register")), rows)


class Retained(Held):
    """One anchor, held to look at what is kept in it and to empty what is not."""

    async def kept_by(self, entry_id: UUID) -> tuple[bool, bool]:
        """Whether an action rests on an entry, and whether a contradiction stands about it."""
        ((acted, disputed),) = await self._ask("kept_by", entry_id=sql.Literal(entry_id))
        return acted, disputed

    async def expired(self, typology: Typology, before: datetime, limit: int) -> list[UUID]:
        """Persistent entries written before a moment that nothing keeps."""
        return await self._ids("expired", typology, before, limit)

    async def disposable(self, typology: Typology, before: datetime, limit: int) -> list[UUID]:
        """Tombstones from before a moment that still have their payload."""
        return await self._ids("disposable", typology, before, limit)

    async def strip(self, ids: Sequence[UUID], before: datetime, *, keep_envelope: bool) -> None:
        """Take away what tombstones from before a moment say; refused for anything else."""
        await self._ask(
            "strip",
            ids=sql.Literal(list(ids)),
            before=sql.Literal(before),
            keep_envelope=sql.Literal(keep_envelope),
        )

    async def states(self) -> dict[RetentionState, dict[Tier, int]]:
        """How many entries are in each state, by tier; every state is told."""
        counts: dict[RetentionState, dict[Tier, int]] = {state: {} for state in RetentionState}
        for state, tier, count in await self._ask("states"):
            counts[RetentionState(state)][Tier(tier)] = count
        return counts

    async def orphaned(self, limit: int) -> list[UUID]:
        """Transient entries that should have gone with their scope."""
        return [row[0] for row in await self._ask("orphaned", limit=sql.Literal(limit))]

    async def dangling(self, limit: int) -> list[UUID]:
        """Entries with a reference that no longer leads anywhere."""
        found: dict[UUID, None] = {}
        for canonical in self.family.spec.references.canonical:
            names = canonical_names(self.family, canonical)
            names |= {"pin_resolves": self._pin_resolves(canonical), "limit": sql.Literal(limit)}
            found |= dict.fromkeys(row[0] for row in await self._ask("dangling", **names))
        return list(found)

    def _pin_resolves(self, canonical: Canonical) -> Composable:
        if not canonical.versions or not canonical.version:
            return raw("true")
        return self._compose(
            "pin_resolves",
            versions=qualified(canonical.versions),
            version=sql.Identifier(canonical.version),
            pinned=sql.Identifier(f"{canonical.noun}_version"),
            canonical_id=sql.Identifier(canonical.key),
        )

    async def unused_vectors(self) -> dict[UUID, int]:
        """How many vectors there are of each profile that recalls do not use."""
        tenant = scoping.tenant_predicate(self.scope, "k")
        return dict(await self._ask("unused_vectors", tenant_k=tenant))

    async def overdue_scopes(self, since: Mapping[Tier, datetime], most: int) -> int:
        """How many open sessions and interactions have been silent since their tier's moment."""
        count = 0
        for tier, query in _SILENT.items():
            moment, limit = sql.Literal(since[tier]), sql.Literal(most)
            found = self.compose(query, moment=moment, limit=limit)
            ((more,),) = await self._ask("how_many", found=found)
            count += more
        return count

    async def _ids(
        self, query: str, typology: Typology, before: datetime, limit: int
    ) -> list[UUID]:
        rows = await self._ask(
            query,
            typology=sql.Literal(typology.value),
            before=sql.Literal(before),
            limit=sql.Literal(limit),
        )
        return [row[0] for row in rows]

    async def _ask(self, query: str, **values: Composable) -> Rows:
        kept = {"acted": self.compose("rests"), "disputed": self._disputed()}
        return await self._run(self._compose(query, **kept, **values).as_string(None))

    def _disputed(self) -> Composable:
        parts: list[Composable] = [
            self._compose("disputed", **canonical_names(self.family, canonical))
            for canonical in self.family.spec.references.canonical
            if canonical.contradictions
        ]
        return raw("({})").format(raw(" OR ").join([*parts, raw("false")]))

    def _compose(self, query: str, **values: Composable) -> Composable:
        return raw(templates.query(FILE, query)).format(**(self._names | values))


class Retaining(Holding):
    """Takes anchors of one family to look after what is kept in them."""

    @asynccontextmanager
    async def hold(self, scope: Scope, now: datetime) -> AsyncIterator[Retained]:
        """The anchor, locked until the block ends."""
        async with self.look(scope, now) as held:
            await held.take()
            yield held

    @asynccontextmanager
    async def look(self, scope: Scope, now: datetime) -> AsyncIterator[Retained]:
        """The same reads without the lock."""
        async with self._database.transaction(scope) as run:
            yield Retained(self._family, self._entries, self._extensions, scope, run, now)
