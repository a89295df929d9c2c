"""The log of one anchor and what is derived from it: rows in, rows out.

Events are appended by one function of the family. What is derived from them are entries like any
others: steps that are settled while the anchor is held.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from idetic.model import Scope
from idetic.store import templates
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.pipeline import Rows

_FILE = "log"
_PATH = "queries/log.sql"
_BEFORE_ALL = ("-infinity", -1)
_PAGE = 2_000
_EVENT, _LTM = (templates.query(_PATH, part) for part in ("event_columns", "ltm_columns"))
_JOINED = frozenset(
    {"underived", "unreasoned", "window", "stray_loops", "waiting", "coverage", "said"}
)
_NO_PARTS: Mapping[str, str] = {}
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Recorded(NamedTuple):
    """Where an event stands, and whether its long-term entry was written with it."""

    position: int
    digest: bytes
    ts: datetime
    derived: bool


# Tables that nobody has analysed yet: the planner expects one row of an anchor, and would compare
# every event with every entry.
_SETTINGS = {"enable_nestloop": "off", "jit": "off"}


@dataclass(frozen=True, slots=True)
class Mirror:
    """The long-term entry of an event."""

    event_id: UUID
    entry_id: UUID
    erased: bool
    derivation: str | None
    origin: str
    trust: int


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """The short-term entry that a loop has, and the long-term entries it was made of."""

    entry_id: UUID
    ts: datetime
    text: str
    sources: frozenset[UUID]


class HeldLog(AnchorTransaction):
    """One anchor with a log, held to derive entries from it."""

    async def mirrors(self, ids: Sequence[UUID]) -> dict[UUID, Mirror]:
        """The long-term entries of some events, by event."""
        rows = await self.ask(_FILE, "mirrors", ids=list(ids))
        return {row[0]: Mirror(*row) for row in rows}

    async def emptied(self, ids: Sequence[UUID]) -> dict[UUID, bool]:
        """Of those events that are there, whether each is empty."""
        return dict(await self.ask(_FILE, "emptied", ids=list(ids)))

    async def loop(self, loop_id: UUID) -> Rows:
        """The events of a loop, in order."""
        return await self.ask(_FILE, "loop", {"columns": _EVENT}, loop_id=loop_id)

    async def loop_summary(self, loop_id: UUID) -> LoopSummary | None:
        """The short-term entry that a loop has now."""
        rows = await self.ask(_FILE, "stm_of_loop", loop_id=loop_id)
        for entry_id, ts, text, sources in rows:
            return LoopSummary(entry_id, ts, text, frozenset(sources))
        return None


class LogStore:
    """The log of one anchor, seen through one pool and with its rights."""

    def __init__(
        self,
        database: Database,
        family: Family,
        entries: Entries,
        extensions: Extensions,
        scope: Scope,
    ):
        self.database = database
        self.family = family
        self.scope = scope
        self._entries = entries
        self._extensions = extensions

    @asynccontextmanager
    async def hold(self, now: datetime) -> AsyncIterator[HeldLog]:
        """The anchor, locked until the block ends."""
        async with self.database.transaction(self.scope) as run:
            held = HeldLog(self.family, self._entries, self._extensions, self.scope, run, now)
            await held.lock()
            yield held

    async def record(
        self, at: datetime, version: int, events: Sequence[Mapping[str, Any]]
    ) -> list[Recorded]:
        """Write events in one transaction, or find them written already."""
        who = self.scope.principal
        rows = await self._rows(
            "record",
            moment=at,
            kind=who.kind.value,
            name=who.name,
            version=version,
            events=_json(list(events)),
        )
        return [Recorded(place, bytes(digest), ts, derived) for place, digest, ts, derived in rows]

    async def event(self, event_id: UUID) -> Rows:
        """One event, or nothing."""
        return await self._events("event", event_id=event_id)

    async def events(self, ids: Sequence[UUID]) -> Rows:
        """Those of these events that are there."""
        return await self._events("events", ids=list(ids))

    async def range(
        self, start: datetime, end: datetime, after: tuple[datetime, int] | None, limit: int
    ) -> Rows:
        """The events of a span of time, after a place in it."""
        after_ts, position = after or _BEFORE_ALL
        return await self._events(
            "range", start=start, until=end, after_ts=after_ts, after=position, limit=limit
        )

    async def tail(self, after: int, limit: int) -> Rows:
        """The events after a position, in the order in which they were committed."""
        return await self._events("tail", after=after, limit=limit)

    async def loop(self, loop_id: UUID) -> Rows:
        """The events of a loop, in order."""
        return await self._events("loop", loop_id=loop_id)

    async def log_end(self) -> tuple[int, bytes] | None:
        """Where the log ends, by the anchor's own row."""
        rows = await self._rows("end")
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    async def log_chain(self, after: int, limit: int) -> Rows:
        """Links with all that their hashes are over."""
        return await self._rows("chain", after=after, limit=limit)

    async def log_erased(self) -> set[str]:
        """The events that the ledger says were erased."""
        return {row[0] for row in await self._rows("erased")}

    async def underived(self, derivations: Sequence[str], after: int, limit: int) -> Rows:
        """Events whose long-term entry is missing, or made in another way than these."""
        return await self._events(
            "underived", derivations=list(derivations), after=after, limit=limit
        )

    async def unreasoned(self, derivation: str, longer_than: int, after: int, limit: int) -> Rows:
        """Long events whose entry was only extracted."""
        return await self._events(
            "unreasoned", derivation=derivation, longer_than=longer_than, after=after, limit=limit
        )

    async def ltm(self, ids: Sequence[UUID]) -> dict[UUID, tuple[Any, ...]]:
        """Long-term entries, by id."""
        rows = await self._rows("ltm", {"columns": _LTM}, ids=list(ids))
        return {row[0]: row for row in rows}

    async def ltm_of_event(self, event_id: UUID) -> Rows:
        """The long-term entry of one event, or nothing."""
        return await self._rows("ltm_of_event", {"columns": _LTM}, event_id=event_id)

    async def window(self, limit: int) -> Rows:
        """The last short-term entries, newest first."""
        return await self._rows("window", limit=limit)

    async def stray_loops(self) -> list[UUID]:
        """Loops without a short-term entry that was made of all their long-term entries."""
        return [row[0] for row in await self._rows("stray_loops")]

    async def waiting(self, profile_id: UUID | None, limit: int) -> list[UUID]:
        """Long-term entries without a vector of a profile."""
        rows = await self._rows("waiting", profile=profile_id, limit=limit)
        return [row[0] for row in rows]

    async def coverage(self, profile_id: UUID | None) -> tuple[int, int, int, int, int]:
        """Events, long-term entries, vectors, loops, short-term entries."""
        (row,) = await self._rows("coverage", profile=profile_id)
        events, ltm, vectors, loops, stm = row
        return events, ltm, vectors, loops, stm

    async def notes(self, limit: int) -> Rows:
        """The last notes, newest first."""
        return await self._rows("notes", limit=limit)

    async def put_note(self, note_id: UUID, ts: datetime, body: str) -> None:
        """Leave a note; only the Subconscious's role may."""
        await self._rows("put_note", note_id=note_id, ts=ts, body=body)

    async def said(self) -> AsyncIterator[str]:
        """All that is said here or kept: events, their entries, summaries of loops."""
        after = 0
        while rows := await self._rows("said", after=after, limit=_PAGE):
            for _, content, summary in rows:
                yield content
                if summary is not None and summary != content:
                    yield summary
            after = rows[-1][0]
        for (summary,) in await self._rows("said_of_loops"):
            yield summary

    async def _events(self, query: str, **values: Any) -> Rows:
        return await self._rows(query, {"columns": _EVENT}, **values)

    async def _rows(self, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any) -> Rows:
        given = {**parts, "mirrored": templates.query(_PATH, "mirrored")}
        call = self.family.call(_FILE, query, self.scope, given, **values)
        return await self.database.run(
            self.scope, call.statement, call.values, settings=_SETTINGS if query in _JOINED else {}
        )
