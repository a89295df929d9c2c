"""What a user holds: an agent, its memory within one scope, a session, an interaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from idetic.errors import CapabilityRefused, EntryNotFound, InputError, ScopeClosed
from idetic.evidence import Closed
from idetic.gateway.binding import allows, bind, require
from idetic.gateway.content import check_uuid
from idetic.gateway.write_items import check_moment
from idetic.ids import uuid7
from idetic.library.answering import Answered, answer
from idetic.library.auditing import Auditable
from idetic.library.governing import Governing
from idetic.library.lookups import Lookups
from idetic.library.maturing import Maturing
from idetic.library.overseeing import Overseeable
from idetic.library.questions import Questions
from idetic.library.rooms import Rooms
from idetic.library.transferring import Movable
from idetic.model import (
    Capability,
    Claim,
    Decision,
    Entry,
    LedgerRecord,
    Observation,
    Origin,
    Overdue,
    Place,
    Principal,
    Receipt,
    Ref,
    Scope,
    Tier,
    Typology,
)
from idetic.recall.embedding import Embedded, Progress
from idetic.spec.memory_spec import MemorySpec

MAX_PAGE = 1_000
_WROTE = (Decision.ADD, Decision.UPDATE)


class Agent:
    """An agent whose spec this database holds. Bind it to a scope to use its memory."""

    def __init__(
        self,
        spec: MemorySpec,
        version: int,
        rooms: Rooms,
        *,
        embed_inline: bool = False,
        steward: Rooms | None = None,
    ):
        self.spec = spec
        self.version = version
        self.rooms = rooms
        self.embed_inline = embed_inline
        # The same family with the rights of those who govern it, where a persona has fewer.
        self._steward = steward

    def bind(self, /, *, principal: Principal, **anchor: Any) -> Memory:
        """This agent's memory for one anchor and one principal; the scope is immutable."""
        return self.within(bind(self.spec, anchor, principal))

    def within(self, scope: Scope) -> Memory:
        """This agent's memory within a scope; those who govern a persona act as its steward.

        A memory holds the rooms of one of them: from the Actor's nothing leads to the steward's.
        """
        if self._steward is None:
            return Memory(self, scope)
        governs = allows(self.spec, scope, Capability.READ_ACROSS)
        if not governs and self.rooms is self._steward:
            raise CapabilityRefused(
                "This principal has the Actor's memory alone.",
                remedy="Leave `persona` out, or bind a principal that may `read_across`.",
            )
        rooms = self._steward if governs else self.rooms
        return Memory(Agent(self.spec, self.version, rooms, embed_inline=self.embed_inline), scope)

    def __repr__(self) -> str:
        return f"Agent({self.spec.agent!r}, version {self.version})"


class _Writable(Questions):
    """What every place can do: observe, ask, read. The tier follows from the place."""

    def __init__(self, agent: Agent, scope: Scope, place: Place):
        super().__init__(agent.spec, agent.rooms, scope, place)
        self.agent = agent

    def _check_open(self) -> None:
        """Persistent memory is always open; sessions and interactions override this."""

    async def observe(
        self,
        text: str,
        *,
        envelope: Mapping[str, Any] | None = None,
        refs: Iterable[Ref] = (),
        claim: Claim | None = None,
        provenance: Mapping[str, str] | None = None,
        valid_at: datetime | None = None,
        heard_from: Origin | None = None,
        typology: Typology = Typology.EPISODIC,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Write down what happened. Returns a durable receipt."""
        seen = Observation(
            text, envelope, _refs(refs), claim, provenance, valid_at, heard_from, idempotency_key
        )
        self._check_open()
        kind = _typology(typology)
        receipt = await self.agent.rooms.gateway.observe(self.scope, self.place, seen, kind)
        await self._embed_inline([(receipt, text)], self.place.tier, kind)
        return receipt

    async def observe_many(
        self, seen: Sequence[Observation], *, typology: Typology = Typology.EPISODIC
    ) -> list[Receipt]:
        """Write many observations in one transaction: all of them, but for what is refused."""
        self._check_open()
        kind, many = _typology(typology), _observations(seen)
        gateway = self.agent.rooms.gateway
        receipts = await gateway.observe_many(self.scope, self.place, many, kind)
        written = [(r, o.text) for r, o in zip(receipts, many, strict=True)]
        await self._embed_inline(written, self.place.tier, kind)
        return receipts

    async def prefer(
        self,
        text: str,
        *,
        claim: Claim | None = None,
        envelope: Mapping[str, Any] | None = None,
        refs: Iterable[Ref] = (),
        provenance: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """State how to do things. A preference supersedes the one with the same claim key."""
        stated = Observation(
            text, envelope, _refs(refs), claim, provenance, idempotency_key=idempotency_key
        )
        self._check_open()
        receipt = await self.agent.rooms.gateway.prefer(self.scope, self.place, stated)
        await self._embed_inline([(receipt, text)], Tier.PERSISTENT, Typology.PROCEDURAL)
        return receipt

    async def prefer_many(self, stated: Sequence[Observation]) -> list[Receipt]:
        """State many preferences in one transaction: all of them, but for what is refused."""
        self._check_open()
        many = _observations(stated)
        receipts = await self.agent.rooms.gateway.prefer_many(self.scope, self.place, many)
        written = [(r, o.text) for r, o in zip(receipts, many, strict=True)]
        await self._embed_inline(written, Tier.PERSISTENT, Typology.PROCEDURAL)
        return receipts

    async def _embed_inline(
        self, written: Sequence[tuple[Receipt, str]], tier: Tier, typology: Typology
    ) -> None:
        """Embed what was just written, if the agent was opened so. The write stands either way."""
        if self.agent.embed_inline:
            new = [(r.entry_id, text) for r, text in written if r.decision in _WROTE]
            await self.agent.rooms.embedding.written(self.scope, new, tier, typology)

    async def list(
        self,
        *,
        tier: Tier | None = None,
        typology: Typology | None = None,
        limit: int = 100,
        before: UUID | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Entry]:
        """The current view of this place, newest first; `before` is the last id of a page.

        `where` leaves only entries whose envelope matches every key of it, as recall matches.
        """
        require(self.agent.spec, self.scope, Capability.READ)
        return await self.agent.rooms.entries.current(
            self.scope,
            tier=None if tier is None else _tier(tier).value,
            typology=None if typology is None else _typology(typology).value,
            limit=_limit(limit),
            where=self._about(where),
            before=None if before is None else check_uuid(before, "before"),
            session_id=self.place.session_id,
            interaction_id=self.place.interaction_id,
        )


class Memory(_Writable, Lookups, Maturing, Overseeable, Governing, Auditable, Movable):
    """One agent's memory within one scope."""

    def __init__(self, agent: Agent, scope: Scope):
        super().__init__(agent, scope, Place())

    def session(self, session_id: UUID | None = None) -> Session:
        """A session: `async with memory.session() as session`. An id resumes an open one."""
        chosen = uuid7() if session_id is None else check_uuid(session_id, "session_id")
        return Session(self, Place(chosen))

    def check(
        self,
        seen: Observation,
        *,
        tier: Tier = Tier.SESSION,
        typology: Typology = Typology.EPISODIC,
    ) -> None:
        """Raise what observing this would raise before the database is asked; writes nothing.

        For whoever opens a session for one observation: a bad one then opens none.
        """
        self.agent.rooms.gateway.check(self.scope, _tier(tier), seen, _typology(typology))

    async def ask(self, question: str) -> Answered:
        """A hedged answer with its evidence, behind the gate of whoever asks; or "I don't know"."""
        return await answer(self.agent.spec, self.agent.rooms, self.scope, self.place, question)

    async def get(self, entry_id: UUID) -> Entry:
        """One entry, whatever became of it; raises EntryNotFound outside this scope."""
        require(self.agent.spec, self.scope, Capability.READ)
        entry_id = check_uuid(entry_id, "entry_id")
        found = await self.agent.rooms.entries.get(self.scope, entry_id)
        if found is None:
            raise _missing(await self.agent.rooms.entries.history(self.scope, entry_id))
        return found

    async def history(self, entry_id: UUID) -> list[LedgerRecord]:
        """Every transition of one entry, oldest first."""
        require(self.agent.spec, self.scope, Capability.READ)
        found = await self.agent.rooms.entries.history(self.scope, check_uuid(entry_id, "entry_id"))
        if not found:
            raise EntryNotFound
        return found

    async def as_of(
        self, moment: datetime, *, limit: int = 100, before: UUID | None = None
    ) -> list[Entry]:
        """What was current at a moment, each entry as it stood then, newest first."""
        require(self.agent.spec, self.scope, Capability.READ)
        if check_moment(moment, "moment") is None:
            raise InputError("as_of needs a moment.")
        before = None if before is None else check_uuid(before, "before")
        return await self.agent.rooms.entries.as_of(
            self.scope, moment, limit=_limit(limit), before=before
        )

    async def overdue(self, *, limit: int = 50) -> list[Overdue]:
        """The persistent entries that time presses on most: what waits for a disposition."""
        require(self.agent.spec, self.scope, Capability.READ)
        now = self.agent.rooms.clock.now()
        return await self.agent.rooms.entries.overdue(self.scope, now, limit=_limit(limit))

    async def embed(self, progress: Progress | None = None) -> Embedded:
        """Give every pending entry of this anchor its vector, in batches that each commit.

        For whoever may write, which it completes, and for upkeep.
        """
        if not allows(self.agent.spec, self.scope, Capability.MAINTAIN):
            require(self.agent.spec, self.scope, Capability.OBSERVE)
        return await self.agent.rooms.embedding.pending(self.scope, progress)

    async def reembed(self, progress: Progress | None = None) -> Embedded:
        """Embed the whole tenant with the loaded model, then switch recalls to it."""
        require(self.agent.spec, self.scope, Capability.MAINTAIN)
        return await self.agent.rooms.embedding.tenant(self.scope, progress)

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
        return await self.agent.rooms.gateway.link_action(
            self.scope, action_id, kind, entries, reason=reason, key=idempotency_key
        )

    async def archive(
        self, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
    ) -> Receipt:
        """Take an entry out of the current view. The row and its history stay."""
        return await self.agent.rooms.gateway.archive(
            self.scope, entry_id, reason=reason, key=idempotency_key
        )

    async def exempt(
        self, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
    ) -> Receipt:
        """Mark an entry exempt from decay and disposition."""
        return await self.agent.rooms.gateway.exempt(
            self.scope, entry_id, reason=reason, key=idempotency_key
        )


class _Opened(_Writable):
    """A place with a beginning and an end."""

    _open = False

    async def open(self) -> Self:
        """Begin the scope, or resume one that is open; `async with` does this and closes it too."""
        await self.agent.rooms.gateway.open_scope(self.scope, self.place)
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
        """End the scope: what it holds is compounded or promoted, the rest goes.

        It takes no more writes. Closing twice is fine: the second finds nothing to do.
        """
        reason = self.agent.rooms.gateway.said(reason)
        closed = await self.agent.rooms.closer.close(self.scope, self.place, reason)
        self._open = False
        return closed

    async def renew(self) -> None:
        """Say that this scope is alive although nothing is written; else its lease runs out."""
        self._check_open()
        await self.agent.rooms.recovery.renew(self.scope, self.place)

    def _check_open(self) -> None:
        if not self._open:
            raise ScopeClosed


class Session(_Opened):
    """One agent session: what its interactions compound into."""

    def __init__(self, memory: Memory, place: Place):
        super().__init__(memory.agent, memory.scope, place)
        self.memory = memory

    @property
    def id(self) -> UUID | None:
        """The session's id."""
        return self.place.session_id

    def interaction(self, interaction_id: UUID | None = None) -> Interaction:
        """One chat thread or pass within this session. An id resumes an open one."""
        chosen = uuid7() if interaction_id is None else check_uuid(interaction_id, "interaction_id")
        return Interaction(self, Place(self.place.session_id, chosen))


class Interaction(_Opened):
    """One chat thread or pass: the shortest-lived tier."""

    def __init__(self, session: Session, place: Place):
        super().__init__(session.agent, session.scope, place)
        self.session = session

    @property
    def id(self) -> UUID | None:
        """The interaction's id."""
        return self.place.interaction_id


def _missing(history: Sequence[LedgerRecord]) -> EntryNotFound:
    """Why there is no entry: unknown here, or gone with its scope, and then into what."""
    if not history or history[-1].transition != "dropped":
        return EntryNotFound()
    into = history[-1].detail.get("into")
    went = f"What it said is in entry {into}." if into else "Nothing was made of it."
    return EntryNotFound(
        f"The entry went with its scope on {history[-1].at:%Y-%m-%d %H:%M} UTC.", remedy=went
    )


def _refs(refs: Iterable[Ref]) -> tuple[Ref, ...]:
    if isinstance(refs, str | bytes) or not isinstance(refs, Iterable):
        raise InputError(f"refs is a {type(refs).__name__}, not a list of references.")
    return tuple(refs)


def _observations(seen: Sequence[Observation]) -> list[Observation]:
    if isinstance(seen, str | bytes) or not isinstance(seen, Iterable):
        raise InputError(f"A {type(seen).__name__} is not a list of observations.")
    return list(seen)


def _tier(value: object) -> Tier:
    try:
        return Tier(value)  # type: ignore[arg-type]
    except ValueError:
        raise InputError(f"tier is one of {', '.join(Tier)}.") from None


def _typology(value: object) -> Typology:
    try:
        return Typology(value)  # type: ignore[arg-type]
    except ValueError:
        raise InputError(f"typology is one of {', '.join(Typology)}.") from None


def _limit(limit: object) -> int:
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE:
        raise InputError(f"limit is a whole number from 1 to {MAX_PAGE:,}.")
    return limit
