"""The perfect log of one persona: rows in, rows out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from idetic.store.persona_tables import PersonaTables, as_json
from idetic.store.pipeline import Rows

_FILE = "persona_log"
_BEFORE_ALL = ("-infinity", -1)


class Appended(NamedTuple):
    """Where an event stands, and whether its long-term entry was written with it."""

    position: int
    digest: bytes
    ts: datetime
    derived: bool


class LogRows:
    """Appends to a log and reads it; an event is a row, in the order of `Event`'s columns."""

    def __init__(self, tables: PersonaTables):
        self._tables = tables

    async def append(self, events: Sequence[dict[str, Any]]) -> list[Appended]:
        """Write events in one transaction, or find them written already."""
        rows = await self._tables.rows(_FILE, "append", events=as_json(list(events)))
        return [Appended(place, bytes(digest), ts, derived) for place, digest, ts, derived in rows]

    async def get(self, event_id: UUID) -> Rows:
        """One event, or nothing."""
        return await self._tables.rows(_FILE, "get", event_id=event_id)

    async def held(self, ids: Sequence[UUID]) -> Rows:
        """Those of these events that are there."""
        return await self._tables.rows(_FILE, "held", ids=list(ids))

    async def range(
        self, start: datetime, end: datetime, after: tuple[datetime, int] | None, limit: int
    ) -> Rows:
        """The events of a span of time, after a place in it."""
        after_ts, position = after or _BEFORE_ALL
        return await self._tables.rows(
            _FILE, "range", start=start, until=end, after_ts=after_ts, after=position, limit=limit
        )

    async def tail(self, after: int, limit: int) -> Rows:
        """The events after a position, in the order in which they were committed."""
        return await self._tables.rows(_FILE, "tail", after=after, limit=limit)

    async def loop(self, loop_id: UUID) -> Rows:
        """The events of a loop, in order."""
        return await self._tables.rows(_FILE, "loop", loop_id=loop_id)

    async def head(self) -> tuple[int, bytes] | None:
        """Where the chain ends, by its own row."""
        rows = await self._tables.rows(_FILE, "head")
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    async def chain(self, after: int, limit: int) -> Rows:
        """Links with all that their hashes are over."""
        return await self._tables.rows(_FILE, "chain", after=after, limit=limit)
