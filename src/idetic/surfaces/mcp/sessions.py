"""The session that notes go to: one that is named, or the holder's own, opened when needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from anyio import Lock

from idetic.errors import InputError, ScopeClosed
from idetic.evidence import Closed
from idetic.library.handles import Memory, Session
from idetic.surfaces.mcp.holders import Held
from idetic.verbs.arguments import check_uuid

T = TypeVar("T")

# Sessions stay open in the database without us; this only saves a link of the chain per note.
MOST_KEPT = 1_000


class Sessions:
    """Open sessions by holder. The protocol may be stateless, so a connection cannot keep them."""

    def __init__(self) -> None:
        self._own: dict[str, UUID] = {}
        self._kept: OrderedDict[tuple[str, UUID], Session] = OrderedDict()
        self._opening = Lock()

    async def write(
        self, held: Held, named: str | None, work: Callable[[Session], Awaitable[T]]
    ) -> tuple[T, UUID]:
        """Do something in a session. The holder's own one, if closed meanwhile, is replaced."""
        if named is not None:
            wanted = check_uuid(named, "session_id")
            return await work(await self._open(held, wanted)), wanted
        session, session_id = await self._own_of(held)
        try:
            return await work(session), session_id
        except ScopeClosed:
            # Closed by somebody else, or its lease ran out: the next thread has begun.
            self._forget(held, session_id)
        session, session_id = await self._own_of(held)
        return await work(session), session_id

    def reading(self, held: Held, named: str | None) -> Memory | Session:
        """Where to read from: a session that is open here, else memory as a whole."""
        if named is not None:
            return held.memory.session(check_uuid(named, "session_id"))
        own = self._own.get(held.name)
        return held.memory if own is None else held.memory.session(own)

    async def close(self, held: Held, named: str | None, reason: str) -> tuple[Closed, UUID]:
        """End a session."""
        own = self._own.get(held.name)
        wanted = own if named is None else check_uuid(named, "session_id")
        if wanted is None:
            raise InputError(
                "No session is open here.",
                remedy="Observe something first, or give the session_id that observe named.",
            )
        closed = await held.memory.session(wanted).close(reason)
        self._forget(held, wanted)
        return closed, wanted

    async def leave(self, held: Held) -> None:
        """End the holder's own session, if one is open: its connection has ended."""
        if held.name in self._own:
            await self.close(held, None, "the connection ended")

    async def _own_of(self, held: Held) -> tuple[Session, UUID]:
        async with self._opening:
            known = self._own.get(held.name)
            session = held.memory.session(known)
            session_id = check_uuid(session.id, "session_id")
            opened = await self._open(held, session_id)
            self._own[held.name] = session_id
        return opened, session_id

    async def _open(self, held: Held, session_id: UUID) -> Session:
        """A handle that takes writes. Kept while scope and spec are the same as when it opened."""
        name = (held.name, session_id)
        kept = self._kept.get(name)
        if kept is not None and _fits(kept, held.memory):
            self._kept.move_to_end(name)
            return kept
        session = await held.memory.session(session_id).open()
        self._kept[name] = session
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return session

    def _forget(self, held: Held, session_id: UUID) -> None:
        self._kept.pop((held.name, session_id), None)
        if self._own.get(held.name) == session_id:
            del self._own[held.name]


def _fits(session: Session, memory: Memory) -> bool:
    return session.agent.version == memory.agent.version and session.scope == memory.scope
