"""What a user of a server holds: the memory that a key stands for, a session, an interaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from types import NoneType, TracebackType
from typing import Any, Self
from uuid import UUID

from idetic.client.governing import RemoteGoverning
from idetic.client.line import Line, part
from idetic.client.lookups import RemoteLookups
from idetic.client.maturing import RemoteMaturing
from idetic.client.moving import RemoteMoving
from idetic.client.overseeing import RemoteOverseeing
from idetic.client.questions import Page, RemotePlace
from idetic.errors import ScopeClosed
from idetic.evidence import Closed
from idetic.ids import uuid7
from idetic.library.answering import Answered
from idetic.model import Entry, LedgerRecord, Overdue, Place, Receipt
from idetic.verbs.arguments import check_uuid


class RemoteMemory(
    RemotePlace, RemoteLookups, RemoteMaturing, RemoteOverseeing, RemoteGoverning, RemoteMoving
):
    """The memory that a key stands for. Use it as `async with connect(url, key) as memory`."""

    def __init__(self, line: Line):
        super().__init__(line, Place())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back. Twice is fine."""
        await self._line.close()

    def session(self, session_id: UUID | None = None) -> RemoteSession:
        """A session: `async with memory.session() as session`. An id resumes an open one."""
        chosen = uuid7() if session_id is None else check_uuid(session_id, "session_id")
        return RemoteSession(self, self._line, Place(chosen))

    async def ask(self, question: str) -> Answered:
        """A hedged answer with its evidence, behind the gate of whoever asks; or "I don't know"."""
        return await self._line.ask("/v1/ask", Answered, {"question": question})

    async def get(self, entry_id: UUID) -> Entry:
        """One entry, whatever became of it; raises EntryNotFound outside this scope."""
        return await self._line.read(f"/v1/entries/{part(entry_id)}", Entry)

    async def history(self, entry_id: UUID) -> list[LedgerRecord]:
        """Every transition of one entry, oldest first."""
        return await self._line.read(f"/v1/entries/{part(entry_id)}/history", list[LedgerRecord])

    async def as_of(
        self, moment: datetime, *, limit: int = 100, before: UUID | None = None
    ) -> list[Entry]:
        """What was current at a moment, each entry as it stood then, newest first."""
        said = moment.isoformat() if isinstance(moment, datetime) else moment
        page = await self._line.read(
            "/v1/as-of", Page, {"moment": said, "limit": limit, "cursor": before}
        )
        return [*page.entries]

    async def overdue(self, *, limit: int = 50) -> list[Overdue]:
        """The persistent entries that time presses on most: what waits for a disposition."""
        return await self._line.read("/v1/overdue", list[Overdue], {"limit": limit})

    async def link_action(
        self,
        action_id: UUID,
        kind: str,
        entries: Iterable[UUID],
        *,
        reason: str = "the action rested on these entries",
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Record that an action rested on entries; they can then never be removed."""
        body = {"action_id": action_id, "kind": kind, "entries": list(entries), "reason": reason}
        return await self._line.write("/v1/actions", Receipt, body, idempotency_key)

    async def archive(
        self, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
    ) -> Receipt:
        """Take an entry out of the current view. The row and its history stay."""
        return await self._turn("archive", entry_id, reason, idempotency_key)

    async def exempt(
        self, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
    ) -> Receipt:
        """Mark an entry exempt from decay and disposition."""
        return await self._turn("exempt", entry_id, reason, idempotency_key)

    async def tombstone(
        self, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
    ) -> Receipt:
        """Mark a persistent entry as deleted. `undo` brings it back until it is disposed of."""
        return await self._turn("tombstone", entry_id, reason, idempotency_key)

    async def _turn(self, verb: str, entry_id: UUID, reason: str, key: str | None) -> Receipt:
        path = f"/v1/entries/{part(entry_id)}/{verb}"
        return await self._line.write(path, Receipt, {"reason": reason}, key)

    async def key_scope(self) -> dict[str, Any]:
        """What the key stands for: agent, version, anchor, principal, capabilities."""
        return await self._line.read("/v1/scope", dict[str, Any])


class _RemoteOpened(RemotePlace):
    """A place with a beginning and an end."""

    _open = False

    def _address(self) -> str:
        place, session = self.place, f"/v1/sessions/{self.place.session_id}"
        inner = place.interaction_id
        return session if inner is None else f"{session}/interactions/{inner}"

    async def open(self) -> Self:
        """Begin the scope, or resume one that is open; `async with` does this and closes it too."""
        parent, _, chosen = self._address().rpartition("/")
        await self._line.ask(parent, dict[str, Any], {"id": chosen})
        self._open = True
        return self

    def resume(self) -> Self:
        """Go on with a scope that was opened elsewhere; a write finds out whether it still is."""
        self._open = True
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            await self.close("closed" if kind is None else f"closed after {kind.__name__}")

    async def close(self, reason: str = "closed") -> Closed:
        """End the scope: what it holds is compounded or promoted, the rest goes."""
        closed = await self._line.do(f"{self._address()}/close", Closed, {"reason": reason})
        self._open = False
        return closed

    async def renew(self) -> None:
        """Say that this scope is alive although nothing is written; else its lease runs out."""
        self._check_open()
        await self._line.ask(f"{self._address()}/renew", NoneType)

    def _check_open(self) -> None:
        if not self._open:
            raise ScopeClosed


class RemoteSession(_RemoteOpened):
    """One agent session: what its interactions compound into."""

    def __init__(self, memory: RemoteMemory, line: Line, place: Place):
        super().__init__(line, place)
        self.memory = memory

    @property
    def id(self) -> UUID | None:
        """The session's id."""
        return self.place.session_id

    def interaction(self, interaction_id: UUID | None = None) -> RemoteInteraction:
        """One chat thread or pass within this session. An id resumes an open one."""
        chosen = uuid7() if interaction_id is None else check_uuid(interaction_id, "interaction_id")
        return RemoteInteraction(self, self._line, Place(self.place.session_id, chosen))


class RemoteInteraction(_RemoteOpened):
    """One chat thread or pass: the shortest-lived tier."""

    def __init__(self, session: RemoteSession, line: Line, place: Place):
        super().__init__(line, place)
        self.session = session

    @property
    def id(self) -> UUID | None:
        """The interaction's id."""
        return self.place.interaction_id
