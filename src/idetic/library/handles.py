"""What a user holds: an agent, its memory within one scope, a session, an interaction.

The same handles serve in process and over HTTP; only their transport differs. A verb is a method
here by being named in `PlaceVerbs` or `MemoryVerbs`, for the sync handles too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from idetic.errors import CapabilityRefused, InputError, ScopeClosed
from idetic.evidence import Closed
from idetic.ids import uuid7
from idetic.library import (
    about_verbs,
    asking_verbs,
    audit_verbs,
    maturing_verbs,
    reading_verbs,
    writing_verbs,
)
from idetic.library.binding import Binding
from idetic.library.rooms import Rooms
from idetic.model import Capability, Observation, Place, Principal, Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import allows, bind, check_authorized
from idetic.verbs.declaration import Verb
from idetic.verbs.handle import AsyncHandle, Transport


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
            return Memory(InProcess(self, scope))
        governs = allows(self.spec, scope, Capability.READ_ACROSS)
        if not governs and self.rooms is self._steward:
            raise CapabilityRefused(
                "This principal has the Actor's memory alone.",
                remedy="Leave `persona` out, or bind a principal that may `read_across`.",
            )
        rooms = self._steward if governs else self.rooms
        alone = Agent(self.spec, self.version, rooms, embed_inline=self.embed_inline)
        return Memory(InProcess(alone, scope))

    def embedding_inline(self) -> Agent:
        """The same agent, which gives each entry its vector as it is written."""
        return Agent(self.spec, self.version, self.rooms, embed_inline=True)

    def __repr__(self) -> str:
        return f"Agent({self.spec.agent!r}, version {self.version})"


class InProcess:
    """The transport to an engine in this process: checks the scope, then runs the verb."""

    def __init__(self, agent: Agent, scope: Scope):
        self.agent = agent
        self.scope = scope

    async def perform(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> Any:
        """Run a verb at the place of a handle."""
        if verb.needs_open:
            handle.check_open()
        check_authorized(self.agent.spec, self.scope, verb)
        values = verb.values(args, kwargs)
        return await verb.function(self.bound_at(handle.place), **values)

    async def stream(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> AsyncIterator[bytes]:
        """Run a verb whose answer comes in pieces."""
        check_authorized(self.agent.spec, self.scope, verb)
        values = verb.values(args, kwargs)
        async for chunk in verb.function(self.bound_at(handle.place), **values):
            yield chunk

    async def close(self) -> None:
        """The database is its opener's to close."""

    def bound_at(self, place: Place) -> Binding:
        """The agent, bound to this scope and a place."""
        agent = self.agent
        return Binding(
            agent.spec, agent.version, agent.rooms, self.scope, place, agent.embed_inline
        )


class PlaceVerbs:
    """The verbs of every place: persistent memory, a session, an interaction."""

    observe = writing_verbs.observe
    observe_many = writing_verbs.observe_many
    prefer = writing_verbs.prefer
    prefer_many = writing_verbs.prefer_many
    recall = asking_verbs.recall
    context = asking_verbs.context
    list = reading_verbs.list_


class MemoryVerbs(PlaceVerbs):
    """The verbs of a whole memory."""

    ask = asking_verbs.ask
    key_scope = about_verbs.key_scope
    spec = about_verbs.spec
    link_action = writing_verbs.link_action
    archive = writing_verbs.archive
    exempt = writing_verbs.exempt

    get = reading_verbs.get_
    history = reading_verbs.history
    as_of = reading_verbs.as_of
    overdue = reading_verbs.overdue
    about = reading_verbs.about
    tally = reading_verbs.tally
    note_read = reading_verbs.note_read
    last_read = reading_verbs.last_read
    corroborations = reading_verbs.corroborations
    lineage = reading_verbs.lineage
    references = reading_verbs.references
    gates = reading_verbs.gates
    candidates = reading_verbs.candidates

    overview = reading_verbs.overview
    kept = reading_verbs.kept
    written = reading_verbs.written
    unembedded = reading_verbs.unembedded
    refusals = reading_verbs.refusals
    jobs = reading_verbs.jobs
    sessions = reading_verbs.sessions

    corroborate = maturing_verbs.corroborate
    contradict = maturing_verbs.contradict
    contradictions = maturing_verbs.contradictions
    resolve = maturing_verbs.resolve
    disposition = maturing_verbs.disposition
    dispose = maturing_verbs.dispose
    undo = maturing_verbs.undo
    tombstone = maturing_verbs.tombstone
    dispose_tombstones = maturing_verbs.dispose_tombstones
    reconcile = maturing_verbs.reconcile
    recover = maturing_verbs.recover
    rescan = maturing_verbs.rescan
    consolidate = maturing_verbs.consolidate
    promote = maturing_verbs.promote
    mark_due = maturing_verbs.mark_due
    embed = maturing_verbs.embed
    reembed = maturing_verbs.reembed
    erase = maturing_verbs.erase
    patterns = maturing_verbs.patterns
    quarantine = maturing_verbs.quarantine
    quarantines = maturing_verbs.quarantines
    release = maturing_verbs.release

    head = audit_verbs.head
    verify = audit_verbs.verify
    explain_action = audit_verbs.explain_action
    actions = audit_verbs.actions
    readers = audit_verbs.readers
    export = audit_verbs.export
    export_to = audit_verbs.export_to
    import_from = audit_verbs.import_from
    adopt = audit_verbs.adopt


class _Handle(AsyncHandle):
    """What every handle knows of where it is."""

    @property
    def agent(self) -> Agent:
        """The agent whose memory this is, in this process."""
        return self._local.agent

    @property
    def scope(self) -> Scope:
        """Whose memory this is, and who asks."""
        return self._local.scope

    @property
    def _local(self) -> InProcess:
        if not isinstance(self.transport, InProcess):
            raise InputError(
                "This memory is a server's: its agent and scope are not in this process.",
                remedy="Ask the server: `await memory.key_scope()`.",
            )
        return self.transport


class Memory(_Handle, MemoryVerbs):
    """One agent's memory within one scope: in this process, or behind a server and a key."""

    def __init__(self, transport: Transport):
        super().__init__(transport, Place())

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
        """Give back the connections to a server; in process there are none. Twice is fine."""
        await self.transport.close()

    def narrowed(self, *capabilities: Capability) -> Memory:
        """The same memory for somebody who may do no more than this."""
        scope = self.scope.narrowed(frozenset(capabilities))
        return Memory(InProcess(self.agent, scope))

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
        self.agent.rooms.gateway.check(self.scope, tier, seen, typology)


class _Opened(_Handle, PlaceVerbs):
    """A place with a beginning and an end."""

    _open = False

    def check_open(self) -> None:
        """Refuse what is not open; whether it still is, the write finds out."""
        if not self._open:
            raise ScopeClosed

    async def open(self) -> Self:
        """Begin the scope, or resume one that is open; `async with` does this and closes it too."""
        await self.bound(writing_verbs.open_scope)()
        self._open = True
        return self

    def resume(self) -> Self:
        """Go on with a scope that was opened elsewhere; a write finds out whether it still is."""
        self._open = True
        return self

    async def close(self, reason: str = "closed") -> Closed:
        """End the scope: what it holds is compounded or promoted, the rest goes.

        It takes no more writes. Closing twice is fine: the second finds nothing to do.
        """
        closed: Closed = await self.bound(writing_verbs.close_scope)(reason)
        self._open = False
        return closed

    async def renew(self) -> None:
        """Say that this scope is alive although nothing is written; else its lease runs out."""
        await self.bound(writing_verbs.renew_scope)()

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


class Session(_Opened):
    """One agent session: what its interactions compound into."""

    def __init__(self, memory: Memory, place: Place):
        super().__init__(memory.transport, place)
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
        super().__init__(session.transport, place)
        self.session = session

    @property
    def id(self) -> UUID | None:
        """The interaction's id."""
        return self.place.interaction_id
