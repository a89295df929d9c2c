"""The perfect log of one persona: append, look up literally, tail, verify."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from idetic.audit.chain import LogHead, LogVerified, genesis_hash, walk_log
from idetic.errors import InputError
from idetic.persona.deriving import Deriver
from idetic.persona.drafts import Draft, DraftCheck, as_item
from idetic.persona.events import Event, EventKind, Persona, Visibility
from idetic.ports import Clock
from idetic.store.log import LogStore, Recorded
from idetic.store.steps import Step
from idetic.verbs.arguments import check_moment, check_uuid

MOST = 10_000
CHUNK = 1_000
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Page:
    """Some events of a span of time, and where the next page begins; None after the last."""

    events: tuple[Event, ...]
    next: tuple[datetime, int] | None


class Log:
    """One persona's log of one agent. Nothing changes an event once it is written."""

    def __init__(self, store: LogStore, agent_id: str, persona: Persona):
        self._store = store
        self._agent_id = agent_id
        self._persona = persona

    def event(self, row: tuple[Any, ...]) -> Event:
        """An event from its columns."""
        event_id, ts, loop_id, kind, visibility, content, metadata, position, digest = row
        return Event(
            event_id, ts, self._agent_id, self._persona, loop_id, EventKind(kind),
            Visibility(visibility), content, metadata, position, bytes(digest),
        )  # fmt: skip

    async def get_by_id(self, event_id: UUID) -> Event | None:
        """One event, literally; None if this persona wrote no such event."""
        rows = await self._store.event(check_uuid(event_id, "id"))
        return self.event(rows[0]) if rows else None

    async def held(self, ids: Sequence[UUID]) -> dict[UUID, Event]:
        """Those of these events that this persona has."""
        return {event.id: event for event in map(self.event, await self._store.events(ids))}

    async def get_range(
        self,
        start: datetime,
        end: datetime,
        *,
        limit: int = 1_000,
        after: tuple[datetime, int] | None = None,
    ) -> Page:
        """The events from `start` up to, and without, `end`; `after` is a page's `next`."""
        for moment, what in ((start, "start_ts"), (end, "end_ts")):
            if check_moment(moment, what) is None:
                raise InputError(f"{what} is missing.")
        _check_after(after)
        most = check_limit(limit)
        found = [self.event(row) for row in await self._store.range(start, end, after, most + 1)]
        more = found[most - 1] if len(found) > most else None
        return Page(tuple(found[:most]), (more.ts, more.position) if more else None)

    async def tail(self, after: int = 0, *, limit: int = 1_000) -> list[Event]:
        """The events after a position, in the order of their commits, none of them twice."""
        if type(after) is not int or not 0 <= after < 2**63:
            raise InputError("after is a position: a whole number, 0 for the beginning.")
        rows = await self._store.tail(after, check_limit(limit))
        return [self.event(row) for row in rows]

    async def loop(self, loop_id: UUID) -> list[Event]:
        """The events of one loop, in order."""
        return [self.event(row) for row in await self._store.loop(check_uuid(loop_id, "loop_id"))]

    async def head(self) -> LogHead:
        """Where the log ends now, to be kept elsewhere."""
        found = await self._store.log_end()
        return LogHead(*found) if found else LogHead(0, self._genesis)

    async def verify(
        self, head: LogHead | None = None, progress: Progress | None = None
    ) -> LogVerified:
        """Recompute every link; problems are told, not raised. A kept `head` shows a cut tail."""
        walk = await walk_log(self._store, self._genesis, head, progress)
        return LogVerified(walk.events, walk.end, tuple(walk.problems))

    @property
    def _genesis(self) -> bytes:
        family = self._store.family
        name = f"{family.schema}.{family.name}_log"
        return genesis_hash(name, self._store.scope.anchor.values())


class LogWriter:
    """Appends to one persona's log, and derives what it can on the way."""

    def __init__(
        self,
        store: LogStore,
        check: DraftCheck,
        deriver: Deriver | None,
        version: int,
        clock: Clock,
    ):
        self._store = store
        self._check = check
        self._deriver = deriver
        self._version = version
        self._clock = clock

    async def append(self, loop_id: UUID, drafts: Iterable[Draft]) -> list[Event]:
        """Write events, each chunk of 1,000 in one transaction; committed when this returns.

        All of them are checked before the first is written.
        """
        asked = list(islice(drafts, MOST + 1))
        if len(asked) > MOST:
            raise InputError(f"At most {MOST:,} events are written at once.")
        now = self._clock.now()
        events = [self._check.event(draft, loop_id, now) for draft in asked]
        written: list[Event] = []
        for first in range(0, len(events), CHUNK):
            written += await self._chunk(events[first : first + CHUNK])
        return written

    def checked(self, draft: Draft, loop_id: UUID, own: Mapping[str, Any]) -> Event:
        """The event that a draft from elsewhere becomes, past the ingest gate."""
        return self._check.event(draft, loop_id, self._clock.now(), own)

    def gated(self, text: str) -> tuple[str, bool]:
        """A text from elsewhere, past the ingest gate; and whether that changed it."""
        return self._check.gated(text)

    async def bring(self, brought: Sequence[tuple[Event, Step | None]]) -> bool:
        """Write events of any loops, each with its long-term entry, in one transaction.

        Says whether the entries are there, too; otherwise a dream derives them.
        """
        items = [as_item(event, step) for event, step in brought]
        return all(told.derived for told in await self._record(items))

    async def _record(self, items: Sequence[Mapping[str, Any]]) -> list[Recorded]:
        return await self._store.record(self._clock.now(), self._version, items)

    async def _chunk(self, events: Sequence[Event]) -> list[Event]:
        deriver = self._deriver
        items = [as_item(event, deriver.entry(event) if deriver else None) for event in events]
        answers = await self._record(items)
        return [
            replace(event, position=told.position, digest=told.digest, ts=told.ts)
            for event, told in zip(events, answers, strict=True)
        ]


def check_limit(limit: object) -> int:
    """How many at most: a whole number from 1 to 10,000."""
    if type(limit) is not int or not 1 <= limit <= MOST:
        raise InputError(f"limit is a whole number from 1 to {MOST:,}.")
    return limit


def _check_after(after: object) -> None:
    if after is None:
        return
    if not (isinstance(after, tuple) and len(after) == 2 and type(after[1]) is int):
        raise InputError("after is the `next` of a page.")
    check_moment(after[0], "after")
