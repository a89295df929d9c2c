"""What an audit reads: a chain as it is stored, entries beside their history, one action's ground.

Rows and nothing else: what they amount to is judged in `idetic.audit`, away from the database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from idetic.model import Entry, LedgerRecord, Scope
from idetic.store.compiler import STATE
from idetic.store.entries import record
from idetic.store.family import canonical_names
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.pipeline import Rows

_FILE = "audit"
_NO_PARTS: Mapping[str, str] = {}
# The links after which an entry has no content any more.
EMPTIED = ("disposed", "erased")
_BEFORE_ALL = UUID(int=0)


class Audited(Held):
    """One anchor, looked at and never taken."""

    async def end(self) -> tuple[int | None, bytes | None, str | None, int | None]:
        """The end that the anchor's row claims (position, hash, time), and the last position."""
        position, digest, at, last = (await self.ask(_FILE, "end"))[0]
        return position, digest, at, last

    async def chain(self, after: int, upto: int, limit: int) -> Rows:
        """A stretch of the chain, in order."""
        return await self.ask(_FILE, "chain", after=after, upto=upto, limit=limit)

    async def holders(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """Where links with these hashes stand."""
        return dict(await self.ask(_FILE, "holders", hashes=list(hashes)) if hashes else [])

    async def contents(self, after: UUID | None, limit: int) -> Rows:
        """A batch of entries, each beside what its history says of it."""
        turned = ", ".join(f"'{column}', m.{column}" for column in STATE)
        return await self.ask(
            _FILE,
            "contents",
            {"turned_columns": turned},
            after=after or _BEFORE_ALL,
            emptied=list(EMPTIED),
            limit=limit,
        )

    async def loose(self, what: str, limit: int) -> Rows:
        """What hangs loose: vanished, forged_lineage, lost_receipts, unrecorded_actions, …"""
        return await self.ask(_FILE, what, limit=limit)

    @property
    def logs(self) -> bool:
        """Whether memory here is derived from a log."""
        return self.family.log_table is not None

    async def log_end(self) -> tuple[int, bytes] | None:
        """Where the log ends, by the anchor's row."""
        rows = await self.ask("log", "end")
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    async def log_chain(self, after: int, limit: int) -> Rows:
        """A stretch of the log, with all that its hashes are over."""
        return await self.ask("log", "chain", after=after, limit=limit)

    async def log_erased(self) -> set[str]:
        """The events that the ledger says were erased."""
        return {row[0] for row in await self.ask("log", "erased")}

    async def action(self, action_id: UUID) -> Rows:
        """What an action rested on."""
        return await self.ask(_FILE, "action", action_id=action_id)

    async def actions(self, before: UUID | None, limit: int) -> Rows:
        """Actions that rest on entries, newest first: (id, kind, at, by, entries, reason)."""
        return await self.ask(_FILE, "actions", before=before, limit=limit)

    async def readers(self, entry_id: UUID, limit: int) -> Rows:
        """Who was shown one entry, newest first: (by, at, session, interaction)."""
        return await self.ask(_FILE, "readers", entry_id=entry_id, limit=limit)

    async def entries(self, ids: Iterable[UUID]) -> dict[UUID, Entry]:
        """Entries by id; those that went with their scope are not among them."""
        columns = {"columns": self._entries.columns(self.scope)}
        rows = await self.ask(_FILE, "rows", columns, ids=list(ids))
        found = (self._entries.entry(self.scope, row) for row in rows)
        return {entry.id: entry for entry in found}

    async def histories(self, ids: Iterable[UUID]) -> dict[UUID, list[LedgerRecord]]:
        """The whole histories of some entries, oldest first."""
        found: dict[UUID, list[LedgerRecord]] = {}
        for row in await self.ask(_FILE, "histories", ids=list(ids)):
            found.setdefault(row[3], []).append(record(row))
        return found

    async def went_into(self, ids: Iterable[UUID]) -> dict[UUID, list[tuple[UUID, int]]]:
        """What went with its scope into these entries, and at which position."""
        found: dict[UUID, list[tuple[UUID, int]]] = {}
        wanted = [str(one) for one in ids]
        for into, memory_id, position in await self.ask(_FILE, "went_into", ids=wanted):
            found.setdefault(UUID(into), []).append((memory_id, position))
        return found

    async def reads(self, ids: Iterable[UUID], moment: datetime, limit: int) -> Rows:
        """Who was shown these entries up to a moment, oldest first."""
        return await self.ask(_FILE, "reads", ids=list(ids), moment=moment, limit=limit)

    async def versions(self, noun: str, ids: Iterable[UUID]) -> dict[UUID, int]:
        """The versions at which canonical rows of a noun stand now; none for an unversioned one."""
        for canonical in self.family.spec.references.canonical:
            if canonical.noun == noun and canonical.versions:
                names = canonical_names(self.family, canonical)
                return dict(await self.ask(_FILE, "versions", names, ids=list(ids)))
        return {}


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
