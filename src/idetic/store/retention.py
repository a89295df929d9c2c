"""Retention in the database: policies registered, tombstones emptied, states counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.retention import RetentionState, entities
from idetic.store import templates
from idetic.store.database import Connection
from idetic.store.family import canonical_names
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.scans import text_of
from idetic.store.templates import raw

_FILE = "retention"
_PATH = "queries/retention.sql"
_NO_PARTS: Mapping[str, str] = {}
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
        await cursor.executemany(raw(templates.query(_PATH, "register")), rows)


class Retained(Held):
    """One anchor, held to look at what is kept in it and to empty what is not."""

    async def kept_by(self, entry_id: UUID) -> tuple[bool, bool]:
        """Whether an action rests on an entry, and whether a contradiction stands about it."""
        ((acted, disputed),) = await self.ask(_FILE, "kept_by", self._keeping(), entry_id=entry_id)
        return acted, disputed

    async def expired(self, typology: Typology, before: datetime, limit: int) -> list[UUID]:
        """Persistent entries written before a moment that nothing keeps."""
        return await self._ids(
            "expired", self._keeping(), typology=typology.value, before=before, limit=limit
        )

    async def disposable(self, typology: Typology, before: datetime, limit: int) -> list[UUID]:
        """Tombstones from before a moment that still have their payload."""
        return await self._ids("disposable", typology=typology.value, before=before, limit=limit)

    async def strip(self, ids: Sequence[UUID], before: datetime, *, keep_envelope: bool) -> None:
        """Take away what tombstones from before a moment say; refused for anything else."""
        await self.ask(_FILE, "strip", ids=list(ids), before=before, keep_envelope=keep_envelope)

    async def states(self) -> dict[RetentionState, dict[Tier, int]]:
        """How many entries are in each state, by tier; every state is told."""
        counts: dict[RetentionState, dict[Tier, int]] = {state: {} for state in RetentionState}
        for state, tier, count in await self.ask(_FILE, "states"):
            counts[RetentionState(state)][Tier(tier)] = count
        return counts

    async def orphaned(self, limit: int) -> list[UUID]:
        """Transient entries that should have gone with their scope."""
        return await self._ids("orphaned", limit=limit)

    async def dangling(self, limit: int) -> list[UUID]:
        """Entries with a reference that no longer leads anywhere."""
        found: dict[UUID, None] = {}
        for canonical in self.family.spec.references.canonical:
            pinned = templates.query(_PATH, "pin_resolves") if canonical.versions else "true"
            parts = {**canonical_names(self.family, canonical), "pin_resolves": pinned}
            found |= dict.fromkeys(await self._ids("dangling", parts, limit=limit))
        return list(found)

    async def unused_vectors(self) -> dict[UUID, int]:
        """How many vectors there are of each profile that recalls do not use."""
        return dict(await self.ask(_FILE, "unused_vectors"))

    async def overdue_scopes(self, since: Mapping[Tier, datetime], most: int) -> int:
        """How many open sessions and interactions have been silent since their tier's moment."""
        count = 0
        for tier, query in _SILENT.items():
            found = {"found": text_of(query)}
            ((more,),) = await self.ask(_FILE, "how_many", found, moment=since[tier], limit=most)
            count += more
        return count

    async def _ids(
        self, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> list[UUID]:
        return [row[0] for row in await self.ask(_FILE, query, parts, **values)]

    def _keeping(self) -> dict[str, str]:
        """What keeps an entry called m: an action that rests on it, a contradiction about it."""
        text = templates.query(_PATH, "disputed")
        disputed = [
            text.replace("{noun}", canonical.noun)
            for canonical in self.family.spec.references.canonical
            if canonical.contradictions
        ]
        return {
            "acted": text_of("rests"),
            "disputed": f"({' OR '.join([*disputed, 'false'])})",
        }


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
