"""The log of one anchor and what is derived from it: the named queries of `queries/log.sql`.

Events are appended by one function of the family. What is derived from them are entries like any
others: steps that are settled while the anchor is locked.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from idetic.ids import Clock
from idetic.model import Scope
from idetic.store import templates
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.driver import Rows
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.templates import BoundStatement

_FILE = "log"
_PATH = "queries/log.sql"
_PAGE = 2_000
_EVENT_COLUMNS, _LTM_COLUMNS, _MIRRORED = (
    templates.query(_PATH, part) for part in ("event_columns", "ltm_columns", "mirrored")
)
_JOINED = frozenset(
    {"underived", "unreasoned", "window", "stray_loops", "waiting", "coverage", "said"}
)
# Tables that nobody has analysed yet: the planner expects one row of an anchor, and would compare
# every event with every entry.
_SETTINGS = {"enable_nestloop": "off", "jit": "off"}
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Recorded(NamedTuple):
    """Where an event stands, and whether its long-term entry was written with it."""

    position: int
    digest: bytes
    ts: datetime
    derived: bool


class Mirror(NamedTuple):
    """The long-term entry of an event."""

    event_id: UUID
    entry_id: UUID
    erased: bool
    derivation: str | None
    origin: str
    trust: int


class LoopSummary(NamedTuple):
    """The short-term entry of a loop, and the long-term entries it was made of."""

    entry_id: UUID
    ts: datetime
    text: str
    sources: Sequence[UUID]


class HeldLog(AnchorTransaction):
    """One anchor with a log, locked to derive entries from it."""

    async def record(self, version: int, events: Sequence[Mapping[str, Any]]) -> list[Recorded]:
        """Write events within this transaction, or find them written already."""
        recording = _recording(self.scope, self.at, version, events)
        return [_recorded(row) for row in await self.ask(_FILE, "record", **recording)]

    async def events(self, ids: Sequence[UUID | None]) -> Rows:
        """Those of some events that the log has."""
        return await self.ask(_FILE, "events", {"columns": _EVENT_COLUMNS}, ids=list(ids))

    async def loops_between(self, start: datetime, until: datetime) -> Rows:
        """The loops of which something was said in a span, and when each began and ended."""
        return await self.ask(_FILE, "loops_between", start=start, until=until)

    async def mirrors(self, ids: Sequence[UUID]) -> dict[UUID, Mirror]:
        """The long-term entries of some events, by event."""
        rows = await self.ask(_FILE, "mirrors", ids=list(ids))
        return {row[0]: Mirror(*row) for row in rows}

    async def emptied(self, ids: Sequence[UUID]) -> dict[UUID, bool]:
        """Of those events that are there, whether each is empty."""
        return dict(await self.ask(_FILE, "emptied", ids=list(ids)))

    async def loop(self, loop_id: UUID) -> Rows:
        """The events of a loop, in order."""
        return await self.ask(_FILE, "loop", {"columns": _EVENT_COLUMNS}, loop_id=loop_id)

    async def loop_summary(self, loop_id: UUID) -> LoopSummary | None:
        """The short-term entry that a loop has now."""
        rows = await self.ask(_FILE, "stm_of_loop", loop_id=loop_id)
        return LoopSummary(*rows[0]) if rows else None


@dataclass(frozen=True, slots=True)
class LogStore:
    """The log of one anchor, seen through one pool and with its rights."""

    database: Database
    family: Family
    entries: Entries
    extensions: Extensions
    scope: Scope

    async def rows(self, query: str, **values: Any) -> Rows:
        """The rows of a named query of `queries/log.sql`."""
        call = self._call(query, **values)
        settings = _SETTINGS if query in _JOINED else {}
        return await self.database.run(self.scope, call.statement, call.values, settings=settings)

    def _call(self, query: str, **values: Any) -> BoundStatement:
        """A named query with its values."""
        columns = _LTM_COLUMNS if query.startswith("ltm") else _EVENT_COLUMNS
        parts: Mapping[str, str] = {"columns": columns, "mirrored": _MIRRORED}
        return self.family.call(_FILE, query, self.scope, parts, **values)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Callable[..., Awaitable[Rows]]]:
        """Named queries, as by `rows`, that all read the log of one moment."""
        async with self.database.snapshot(self.scope) as run:

            async def ask(query: str, **values: Any) -> Rows:
                call = self._call(query, **values)
                return await run(call.statement, call.values)

            yield ask

    async def ids(self, query: str, **values: Any) -> list[UUID]:
        """The ids of a named query: `stray_loops`, `waiting`."""
        return [row[0] for row in await self.rows(query, **values)]

    @asynccontextmanager
    async def hold(self, clock: Clock) -> AsyncIterator[HeldLog]:
        """The anchor, locked until the block ends."""
        await self.database.check_clock(clock)
        async with self.database.transaction(self.scope) as run:
            now = clock.now()
            held = HeldLog(self.family, self.entries, self.extensions, self.scope, run, now)
            await held.lock()
            yield held

    async def record(
        self, clock: Clock, version: int, events: Sequence[Mapping[str, Any]]
    ) -> list[Recorded]:
        """Write events in one transaction, or find them written already."""
        await self.database.check_clock(clock)
        recording = _recording(self.scope, clock.now(), version, events)
        return [_recorded(row) for row in await self.rows("record", **recording)]

    async def said(self) -> AsyncIterator[str]:
        """All that is said here or kept: events, their entries, summaries of loops."""
        after = 0
        while rows := await self.rows("said", after=after, limit=_PAGE):
            for _, content, summary in rows:
                yield content
                if summary is not None and summary != content:
                    yield summary
            after = rows[-1][0]
        for (summary,) in await self.rows("said_of_loops"):
            yield summary


def _recording(
    scope: Scope, at: datetime, version: int, events: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What the record function is told: when, by whom, and the events."""
    who = scope.principal
    told = {"moment": at, "kind": who.kind.value, "name": who.name, "version": version}
    return told | {"events": _json(list(events))}


def _recorded(row: tuple[Any, ...]) -> Recorded:
    """What came of one event."""
    place, digest, ts, derived = row
    return Recorded(place, bytes(digest), ts, derived)
