"""Views: what each persona may ask. A view can only reach the stores it was given.

The Actor's view holds the Actor's stores through a pool of the role `idetic_actor`, which has no
right in the Subconscious's schema. No parameter names a persona, so none can be forgotten. The
Subconscious's view holds both personas' stores, through a pool of its own role.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.audit.chain import LogHead, LogVerified, log_end, walk_log
from idetic.audit.chain_places import ChainPlace, places
from idetic.errors import InputError
from idetic.persona.events import Event, LtmEntry, Persona, Progress, StmEntry
from idetic.persona.identity import Identity
from idetic.persona.notes import OperationalNote
from idetic.persona.persona_stores import Coverage, PersonaStores
from idetic.persona.retrieval import LtmHit, RagAnswer, RagFilters, Scored, merged, rank, resembling
from idetic.spec.primitives import FuzzyHeuristics
from idetic.verbs.arguments import Between, check_moment, check_text, check_uuid

QUERY_MAX = 4_000
_LIMIT = Between(1, 10_000)
_BEFORE_ALL = ("-infinity", -1)


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events, and where the next page begins; None after the last."""

    events: tuple[Event, ...]
    next: tuple[datetime, int] | None


class PersonaView:
    """One persona's log, long-term and short-term memory."""

    def __init__(self, stores: PersonaStores, identity: Identity):
        self.agent_id = identity.agent_id
        self.persona = stores.persona
        self._stores = stores
        self._identity = identity

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.agent_id}, {self.persona})"

    @property
    def collection(self) -> str:
        """The logical name of this persona's vectors."""
        return f"{self.agent_id}__{self.persona}__ltm"

    async def get_by_id(self, event_id: UUID) -> Event | None:
        """One event, literally; None if this persona wrote no such event."""
        events = await self._stores.events("event", event_id=check_uuid(event_id, "id"))
        return events[0] if events else None

    async def get_range(
        self,
        start_ts: datetime,
        end_ts: datetime,
        *,
        limit: int = 1_000,
        after: tuple[datetime, int] | None = None,
    ) -> EventPage:
        """List the events from `start_ts` on and before `end_ts`; both need a time zone.

        `after` is the `next` of the previous page.
        """
        for moment, what in ((start_ts, "start_ts"), (end_ts, "end_ts")):
            if check_moment(moment, what) is None:
                raise InputError(f"{what} is missing.")
        if after is not None:
            if not (isinstance(after, tuple) and len(after) == 2 and type(after[1]) is int):
                raise InputError("after must be the `next` of a page.")
            check_moment(after[0], "after")
        most = _LIMIT.check(limit, "limit")
        after_ts, position = after or _BEFORE_ALL
        events = await self._stores.events(
            "range",
            start=start_ts,
            until=end_ts,
            after_ts=after_ts,
            after=position,
            limit=most + 1,
        )
        more = events[most - 1] if len(events) > most else None
        return EventPage(tuple(events[:most]), (more.ts, more.position) if more else None)

    async def tail(self, after: int = 0, *, limit: int = 1_000) -> list[Event]:
        """The events after a position, in the order of their commits, none of them twice."""
        if type(after) is not int or not 0 <= after < 2**63:
            raise InputError("after must be a position: a whole number, 0 for the beginning.")
        return await self._stores.events("tail", after=after, limit=_LIMIT.check(limit, "limit"))

    async def loop(self, loop_id: UUID) -> list[Event]:
        """The events of a loop, in order."""
        return await self._stores.events("loop", loop_id=check_uuid(loop_id, "loop_id"))

    async def entry(self, ltm_id: UUID) -> LtmEntry | None:
        """One long-term entry; None if there is none."""
        rows = await self._stores.store.rows("ltm", ids=[check_uuid(ltm_id, "ltm_id")])
        return self._ltm_entry(rows[0]) if rows else None

    async def entry_of(self, event_id: UUID) -> LtmEntry | None:
        """The long-term entry of an event; None if there is none."""
        event_id = check_uuid(event_id, "event_id")
        rows = await self._stores.store.rows("ltm_of_event", event_id=event_id)
        return self._ltm_entry(rows[0]) if rows else None

    async def rag_query(
        self, text: str, filters: RagFilters | None = None, *, limit: int = 8
    ) -> RagAnswer:
        """Long-term entries that answer a text, best first, each with its explanation.

        Without a vector of the text, they are found by words alone.
        """
        check_text(text, QUERY_MAX, "text")
        most, narrowed = _LIMIT.check(limit, "limit"), (filters or RagFilters()).checked()
        store = self._stores.store
        recalled = await self._stores.engine.recall(
            store.scope, text, limit=most, envelope={}, filters=narrowed
        )
        rows = await store.rows("ltm", ids=[hit.entry.id for hit in recalled.hits])
        entries = {entry.id: entry for entry in map(self._ltm_entry, rows)}
        return RagAnswer(
            text,
            tuple(LtmHit(entries[hit.entry.id], hit.score, hit.signals) for hit in recalled.hits),
            (self.collection,),
            recalled.considered,
            recalled.candidates,
            recalled.pending,
            recalled.not_used,
        )

    async def fuzzy_query(
        self, text: str, heuristics: FuzzyHeuristics | None = None
    ) -> Sequence[Scored]:
        """Loops of the rolling window that resemble a text, best first.

        The heuristics are the identity's, unless others are given.
        """
        chosen = heuristics or self._identity.heuristics(self.persona)
        check_text(text, QUERY_MAX, "text")
        loops = await self.alike(text, chosen, chosen.window)
        return rank(text, loops, chosen, self._stores.common.clock.now())

    async def alike(
        self, text: str, heuristics: FuzzyHeuristics, window: int | None = None
    ) -> list[StmEntry]:
        """List the loops of the window that resemble a text."""
        chosen = window or self._identity.heuristics(self.persona).window
        rows = await self._stores.store.rows("summaries", limit=_LIMIT.check(chosen, "limit"))
        near = resembling(text, [summary for _, summary in rows], heuristics.threshold)
        return await self._window(len(rows), [rows[n][0] for n in near]) if near else []

    async def window(self, limit: int | None = None) -> list[StmEntry]:
        """List the last loops, newest first; without `limit`, as many as the identity's window."""
        chosen = limit or self._identity.heuristics(self.persona).window
        return await self._window(_LIMIT.check(chosen, "limit"))

    async def _window(self, limit: int, loops: Sequence[UUID] | None = None) -> list[StmEntry]:
        rows = await self._stores.store.rows("window", limit=limit, loops=loops)
        return [StmEntry(*row, agent_id=self.agent_id, persona=self.persona) for row in rows]

    async def coverage(self) -> Coverage:
        """Compare the log with the entries derived from it."""
        return await self._stores.coverage()

    async def head(self) -> LogHead:
        """The end of the log; keep it elsewhere, because `verify` compares with it."""
        return await log_end(self._stores.store.rows) or LogHead(0, await self._genesis())

    async def verify(
        self, head: LogHead | None = None, progress: Progress | None = None
    ) -> LogVerified:
        """Recompute every link and return the problems; a kept `head` shows removed last events."""
        genesis = await self._genesis()
        async with self._stores.store.snapshot() as ask:
            walk = await walk_log(ask, genesis, head, progress)
        return LogVerified(walk.events, walk.end, tuple(walk.problems))

    async def _genesis(self) -> bytes:
        """What the log's chain begins with: a hash of its table and its anchor."""
        store = self._stores.store
        own = ChainPlace.of(store.family, store.scope)
        first, *_ = await places(store.rows, own)
        return (first or own).genesis(log=True)

    def _ltm_entry(self, row: tuple[Any, ...]) -> LtmEntry:
        """A row of long-term memory as an entry, which also says whose it is."""
        return LtmEntry(*row, agent_id=self.agent_id, persona=self.persona)


class ActorMemoryView(PersonaView):
    """The view of the Actor: its own log, long-term and short-term memory, and its notes."""

    async def operational_notes(self, *, limit: int = 20) -> list[OperationalNote]:
        """List the notes that the Subconscious left the Actor, newest first."""
        rows = await self._stores.store.rows("notes", limit=_LIMIT.check(limit, "limit"))
        return [OperationalNote(*row) for row in rows]


class SubconsciousMemoryView:
    """The view of the Subconscious: the memory of both personas of its agent."""

    persona = Persona.SUBCONSCIOUS

    def __init__(self, own: PersonaStores, actors: PersonaStores, identity: Identity):
        self.agent_id = identity.agent_id
        self._identity = identity
        self._clock = own.common.clock
        self._views = {
            Persona.SUBCONSCIOUS: PersonaView(own, identity),
            Persona.ACTOR: PersonaView(actors, identity),
        }

    def __repr__(self) -> str:
        return f"SubconsciousMemoryView({self.agent_id})"

    @property
    def collections(self) -> tuple[str, ...]:
        """The logical names of the collections that this view asks."""
        return tuple(view.collection for view in self._views.values())

    async def get_by_id(self, event_id: UUID) -> Event | None:
        """One event of either persona, literally; None if there is none."""
        for view in self._views.values():
            if event := await view.get_by_id(event_id):
                return event
        return None

    async def get_range(
        self,
        start_ts: datetime,
        end_ts: datetime,
        persona: Persona = Persona.SUBCONSCIOUS,
        *,
        limit: int = 1_000,
        after: tuple[datetime, int] | None = None,
    ) -> EventPage:
        """List one persona's events from `start_ts` on and before `end_ts`."""
        view = self._views[Persona(persona)]
        return await view.get_range(start_ts, end_ts, limit=limit, after=after)

    async def tail(
        self, after: int = 0, persona: Persona = Persona.SUBCONSCIOUS, *, limit: int = 1_000
    ) -> list[Event]:
        """The events of one persona after a position: each has positions of its own."""
        return await self._views[Persona(persona)].tail(after, limit=limit)

    async def loop(self, loop_id: UUID) -> list[Event]:
        """The events of a loop of either persona, in order."""
        for view in self._views.values():
            if events := await view.loop(loop_id):
                return events
        return []

    async def rag_query(
        self, text: str, filters: RagFilters | None = None, *, limit: int = 8
    ) -> RagAnswer:
        """Long-term entries of both personas that answer a text, merged by score."""
        parts = [await each.rag_query(text, filters, limit=limit) for each in self._views.values()]
        return merged(text, parts, limit)

    async def fuzzy_query(
        self, text: str, heuristics: FuzzyHeuristics | None = None
    ) -> Sequence[Scored]:
        """Loops of both personas' windows that resemble a text, merged by score.

        One set of heuristics scores both, so that scores compare; each window is its persona's.
        """
        check_text(text, QUERY_MAX, "text")
        chosen = heuristics or self._identity.subconscious
        found = [await view.alike(text, chosen) for view in self._views.values()]
        loops = [loop for each in found for loop in each]
        return rank(text, loops, chosen, self._clock.now())

    async def window(
        self, persona: Persona = Persona.SUBCONSCIOUS, limit: int | None = None
    ) -> list[StmEntry]:
        """The last loops of one persona, newest first."""
        return await self._views[Persona(persona)].window(limit)

    async def coverage(self) -> tuple[Coverage, Coverage]:
        """Compare both logs with the entries derived from them: the Actor's first, then its own."""
        actors, own = self._views[Persona.ACTOR], self._views[Persona.SUBCONSCIOUS]
        return await actors.coverage(), await own.coverage()

    async def verify(
        self,
        persona: Persona = Persona.SUBCONSCIOUS,
        head: LogHead | None = None,
        progress: Progress | None = None,
    ) -> LogVerified:
        """Check every link of one persona's log."""
        return await self._views[Persona(persona)].verify(head, progress)
