"""What a user holds: an agent, its memory within one scope, a session, an interaction.

The same handles serve in process and over HTTP; only their transport differs. A verb is a method
here by being named in `PlaceVerbs` or `MemoryVerbs`, for the sync handles too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Self, cast
from uuid import UUID

from idetic.assistant import extraction, facts, intake
from idetic.assistant import profile as profile_verbs
from idetic.assistant import why as why_verbs
from idetic.audit import explanation as action_verbs
from idetic.audit import transcript as transcript_verbs
from idetic.audit import verify as chain_verbs
from idetic.engine import Binding, Engine
from idetic.errors import CapabilityRefused, InputError, ScopeClosed
from idetic.evidence import Closed
from idetic.ids import uuid7
from idetic.library import answers, questions
from idetic.library.showing import record_shown
from idetic.lifecycle import (
    anchor_erasure,
    canonical_rescan,
    close_scope,
    consolidation,
    core_memory,
    dispositions,
    entry_evidence,
    erasure,
    escalation,
    forgetting,
    observations,
    tombstones,
)
from idetic.lifecycle import anchors as anchors_verbs
from idetic.lifecycle import contradictions as contradictions_verbs
from idetic.lifecycle import corroborations as corroborations_verbs
from idetic.lifecycle import outbox as outbox_verbs
from idetic.lifecycle import overview as overview_verbs
from idetic.lifecycle import proposals as proposals_verbs
from idetic.lifecycle import quarantine as quarantine_verbs
from idetic.lifecycle import retention as retention_verbs
from idetic.lifecycle import undo as undo_verbs
from idetic.model import Capability, Observation, Place, Principal, Scope, Tier, Typology
from idetic.telemetry import receipt_facts, recording, span
from idetic.transfer import adoption, exports, imports
from idetic.transfer import disclosure as disclosure_verbs
from idetic.verbs.arguments import check_uuid, member_of
from idetic.verbs.authorization import allows, bind, check_authorized, within
from idetic.verbs.declaration import Verb
from idetic.verbs.handle import AsyncHandle, Transport


class Agent:
    """An agent whose spec is in this database. Bind it to a scope to use its memory."""

    def __init__(self, engine: Engine, *, steward: Engine | None = None):
        self.engine = engine
        self.spec = engine.spec
        self.version = engine.version
        # The same family with the rights of those who govern it, where a persona has fewer.
        self._steward = steward

    def bind(self, /, *, principal: Principal, **anchor: Any) -> Memory:
        """This agent's memory for one anchor and one principal; the scope is immutable."""
        return self.within(bind(self.spec, anchor, principal))

    def within(self, scope: Scope) -> Memory:
        """This agent's memory within a scope; operators, auditors and maintenance act as steward.

        A memory of the Actor has no access to the engine of the steward.
        """
        if self._steward is None:
            return Memory(InProcess(self, scope))
        governs = allows(self.spec, scope, Capability.READ_ACROSS)
        if not governs and self.engine is self._steward:
            raise CapabilityRefused(
                "This principal may read only the Actor's memory.",
                remedy="Leave `persona` out, or bind a principal that may `read_across`.",
            )
        alone = Agent(self._steward if governs else self.engine)
        return Memory(InProcess(alone, scope))

    def embedding_inline(self) -> Agent:
        """The same agent, which computes each entry's vector during the write."""
        return Agent(replace(self.engine, embed_inline=True))

    def __repr__(self) -> str:
        return f"Agent({self.spec.agent!r}, version {self.version})"


class InProcess:
    """The transport to an engine in this process: checks the scope, then runs the verb."""

    def __init__(self, agent: Agent, scope: Scope):
        self.agent = agent
        self.scope = scope

    def __str__(self) -> str:
        return str(self.scope)

    async def perform(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> Any:
        """Run a verb at the place of a handle."""
        with span(verb.operation, scope=self.scope) as operation:
            if verb.needs_open:
                handle.check_open()
            check_authorized(self.agent.spec, self.scope, verb)
            values = verb.values(args, kwargs)
            binding = Binding(self.agent.engine, self.scope, handle.place)
            answer = await verb.function(binding, **values)
            await record_shown(binding, verb, answer)
            if verb.gated:
                answer = await binding.shown(answer)
            if verb.operation and recording():
                operation.tell(**receipt_facts(answer))
            return answer

    async def stream(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> AsyncIterator[bytes]:
        """Run a verb whose answer comes in pieces."""
        check_authorized(self.agent.spec, self.scope, verb)
        values = verb.values(args, kwargs)
        bound = Binding(self.agent.engine, self.scope, handle.place)
        # Closed with its reader: what nobody reads on would keep its connection.
        async with aclosing(cast("AsyncGenerator[Any]", verb.function(bound, **values))) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        """The database is its opener's to close."""


class PlaceVerbs:
    """The verbs of every place: persistent memory, a session, an interaction."""

    observe = observations.observe
    observe_many = observations.observe_many
    prefer = observations.prefer
    prefer_many = observations.prefer_many
    recall = questions.recall
    context = questions.context
    list = entry_evidence.list_


class MemoryVerbs(PlaceVerbs):
    """The verbs of a whole memory."""

    add = intake.add
    fact = facts.fact
    extract = extraction.extract
    profile = profile_verbs.profile
    why = why_verbs.why
    ask = answers.ask
    key_scope = questions.key_scope
    spec = questions.spec
    link_action = observations.link_action
    archive = observations.archive
    exempt = observations.exempt
    core = core_memory.core
    page_in = core_memory.page_in
    page_out = core_memory.page_out

    get = entry_evidence.get_
    history = entry_evidence.history
    as_of = entry_evidence.as_of
    overdue = entry_evidence.overdue
    about = entry_evidence.about
    tally = entry_evidence.tally
    note_read = entry_evidence.note_read
    last_read = entry_evidence.last_read
    corroborations = entry_evidence.corroborations
    lineage = entry_evidence.lineage
    references = entry_evidence.references
    gates = entry_evidence.gates
    candidates = entry_evidence.candidates

    anchors = anchors_verbs.anchors
    overview = overview_verbs.overview
    kept = overview_verbs.kept
    retention = retention_verbs.retention
    written = overview_verbs.written
    unembedded = overview_verbs.unembedded
    refusals = overview_verbs.refusals
    refused_over = overview_verbs.refused_over
    erasures = overview_verbs.erasures
    jobs = overview_verbs.jobs
    sessions = overview_verbs.sessions

    corroborate = corroborations_verbs.corroborate
    contradict = contradictions_verbs.contradict
    contradictions = contradictions_verbs.contradictions
    resolve = contradictions_verbs.resolve
    disposition = dispositions.disposition
    dispose = dispositions.dispose
    undo = undo_verbs.undo
    tombstone = tombstones.tombstone
    dispose_tombstones = tombstones.dispose_tombstones
    reconcile = tombstones.reconcile
    recover = close_scope.recover
    rescan = canonical_rescan.rescan
    consolidate = consolidation.consolidate
    promote = corroborations_verbs.promote
    escalate = escalation.escalate
    nominate = escalation.nominate
    mark_due = dispositions.mark_due
    embed = observations.embed
    index_words = observations.index_words
    reembed = observations.reembed
    erase = erasure.erase
    erase_anchor = anchor_erasure.erase_anchor
    forget = forgetting.forget
    propose = proposals_verbs.propose
    proposals = proposals_verbs.proposals
    proposal_entries = proposals_verbs.proposal_entries
    decide = proposals_verbs.decide
    outbox = outbox_verbs.outbox
    acknowledge = outbox_verbs.acknowledge
    quarantine = quarantine_verbs.quarantine
    quarantines = quarantine_verbs.quarantines
    release = quarantine_verbs.release

    head = chain_verbs.head
    verify = chain_verbs.verify
    explain_action = action_verbs.explain_action
    actions = action_verbs.actions
    readers = action_verbs.readers
    transcript = transcript_verbs.transcript
    export = exports.export
    export_to = exports.export_to
    disclosure = disclosure_verbs.disclosure
    disclose_to = disclosure_verbs.disclose_to
    import_from = imports.import_from
    adopt = adoption.adopt


class _Handle(AsyncHandle):
    """What every handle knows of where it is."""

    @property
    def agent(self) -> Agent:
        """The agent whose memory this is, in this process."""
        return self._local.agent

    @property
    def scope(self) -> Scope:
        """The scope: agent, anchor and principal."""
        return self._local.scope

    @property
    def _local(self) -> InProcess:
        """The transport within this process; a server's memory has none and says where to ask."""
        if not isinstance(self.transport, InProcess):
            raise InputError(
                "This memory is on a server: its agent and scope are not known in this process.",
                remedy="Ask the server: `await memory.key_scope()`.",
            )
        return self.transport


class Memory(_Handle, MemoryVerbs):
    """One agent's memory within one scope: in this process, or behind a server and a key."""

    def __init__(self, transport: Transport):
        super().__init__(transport, Place())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections to a server; in process there are none to close."""
        await self.transport.close()

    def narrowed(self, *capabilities: Capability) -> Memory:
        """The same memory, limited to these capabilities."""
        scope = self.scope.narrowed(frozenset(capabilities))
        return Memory(InProcess(self.agent, scope))

    def broader(self) -> Memory:
        """The memory of the broader anchor, with the escalated entries, for the same principal."""
        above = self.agent.spec.broader_anchor(self.scope.anchor)
        if above is None:
            raise InputError(
                f"The tier model of {self.agent.spec.agent} has no broader tier above this anchor.",
                remedy="Declare `tiers.broader` in its spec.",
            )
        return Memory(InProcess(self.agent, replace(self.scope, anchor=above)))

    def within(self, anchor: Mapping[str, Any]) -> Memory:
        """The same memory in one of the anchors that it covers; give a value for each open key."""
        scope = within(self.agent.spec, self.scope, anchor)
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
        """Check an observation without the database; raises what `observe` would raise.

        Use it before you open a session for one observation, so that an invalid one opens none.
        """
        check_authorized(self.agent.spec, self.scope, observations.observe)
        cell = (member_of(Tier, tier, "tier"), member_of(Typology, typology, "typology"))
        self.agent.engine.gateway.items(self.scope, *cell, [seen])


class _Opened(_Handle, PlaceVerbs):
    """A place with a beginning and an end."""

    _open = False

    def check_open(self) -> None:
        """Refuse what is not open; whether it still is, the write finds out."""
        if not self._open:
            raise ScopeClosed

    async def open(self) -> Self:
        """Open the scope, or resume an open one; `async with` does this and closes it too."""
        await self.bound(observations.open_scope)()
        self._open = True
        return self

    def resume(self) -> Self:
        """Continue a scope that was opened elsewhere; a write raises an error if it is closed."""
        self._open = True
        return self

    async def close(self, reason: str = "closed") -> Closed:
        """Close a session or interaction: promote or merge its notes, and drop the rest.

        It takes no more writes. A second close changes nothing.
        """
        closed: Closed = await self.bound(close_scope.close_scope)(reason)
        self._open = False
        return closed

    async def renew(self) -> None:
        """Renew the lease of this scope, which ends if nothing is written for long."""
        await self.bound(close_scope.renew_scope)()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if self._open:
            await self.close("closed" if kind is None else f"closed after {kind.__name__}")


class Session(_Opened):
    """One session of an agent; the merged entries of a closed interaction belong to it."""

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
