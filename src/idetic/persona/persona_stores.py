"""The stores of one persona: append events, derive entries, close loops, through one pool.

Entries and loop summaries are decided while the anchor is locked, so that an erasure and a dream
cannot pass each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from uuid import UUID

from idetic.audit.chain import EMPTIED
from idetic.errors import InputError
from idetic.evidence import Lineage, Relation
from idetic.gates.gate import Pipeline
from idetic.ids import Clock, random_bytes
from idetic.model import Origin, Principal, Scope
from idetic.persona.events import Event, EventDraft, EventValidation, Persona
from idetic.persona.ltm_derivation import Deriver
from idetic.recall.embedding import EmbeddingRun, Model
from idetic.recall.engine import RecallEngine
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import DERIVATION
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.log import HeldLog, LogStore, Mirror
from idetic.store.recall_query import Recalls
from idetic.store.steps import AddStep, Step, TurnStep

APPEND_MAX = 10_000
TRANSACTION_MAX = 1_000
LISTED = 100


@dataclass(frozen=True, slots=True)
class Common:
    """What all personas of an agent share: whose memory it is, and how it is derived."""

    spec: MemorySpec
    version: int
    extensions: Extensions
    tenant: str
    agent_id: str
    clock: Clock
    model: Model
    patience: float
    deriver: Deriver
    ingest: Pipeline
    derive: bool = True

    def scope(self, persona: Persona) -> Scope:
        """The scope of one persona: the agent's anchor, with the principal that acts."""
        keys = (key.name for key in self.spec.anchor.keys)
        anchor = dict(zip(keys, (self.tenant, self.agent_id), strict=True))
        actor = persona is Persona.ACTOR
        who = Principal.agent(self.agent_id) if actor else Principal.maintenance(self.agent_id)
        return Scope(self.spec.agent, anchor, who)


@dataclass(frozen=True, slots=True)
class Coverage:
    """One persona's log and its derived entries, with up to 100 missing ids of each kind."""

    persona: Persona
    events: int
    ltm: int
    vectors: int
    loops: int
    stm: int
    without_ltm: tuple[UUID, ...] = ()
    without_vector: tuple[UUID, ...] = ()
    without_stm: tuple[UUID, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether every event has its entry and its vector, and every loop its summary."""
        return (
            self.events == self.ltm == self.vectors
            and self.loops == self.stm
            and not (self.without_ltm or self.without_vector or self.without_stm)
        )


@dataclass(frozen=True, slots=True)
class PersonaStores:
    """One persona's memory, as far as the role behind its pool may reach it."""

    persona: Persona
    common: Common
    store: LogStore
    engine: RecallEngine
    embedding: EmbeddingRun
    validation: EventValidation

    @classmethod
    def through(cls, database: Database, common: Common, persona: Persona) -> PersonaStores:
        """The stores of one persona, through one pool."""
        spec, clock, extensions = common.spec, common.clock, common.extensions
        family = Family(spec, persona)
        entries = Entries(database, family)
        embeddings = Embeddings(database, family, extensions.vector)
        recalls = Recalls(database, family, entries, extensions.vector)
        model, patience = common.model, common.patience
        engine = RecallEngine(spec, recalls, embeddings, model, clock, patience=patience)
        return cls(
            persona,
            common,
            LogStore(database, family, entries, extensions, common.scope(persona)),
            engine,
            EmbeddingRun(spec, engine, embeddings, model, clock, patience),
            EventValidation(common.agent_id, persona, common.ingest),
        )

    def event(self, row: tuple[Any, ...]) -> Event:
        """The event that a row of the log holds."""
        return Event(*row, agent_id=self.common.agent_id, persona=self.persona)

    async def events(self, query: str, **values: Any) -> list[Event]:
        """The events that a named query finds: event, events, range, tail, loop, underived, …"""
        return [self.event(row) for row in await self.store.rows(query, **values)]

    async def append(self, loop_id: UUID, drafts: Iterable[EventDraft]) -> list[Event]:
        """Write events of one loop; they are committed when this returns.

        All are checked before the first is written. Every 1,000 of them are one transaction.
        """
        listed = list(islice(drafts, APPEND_MAX + 1))
        if len(listed) > APPEND_MAX:
            raise InputError(f"At most {APPEND_MAX:,} events are written at once.")
        now = self.common.clock.now()
        events = await self.validation.events(listed, lambda: loop_id, now)
        written: list[Event] = []
        for first in range(0, len(events), TRANSACTION_MAX):
            written += await self.record(events[first : first + TRANSACTION_MAX])
        return written

    async def record(self, events: Sequence[Event]) -> list[Event]:
        """Write events in one transaction, each with the long-term entry that can be derived."""
        items = self.items(events)
        recorded = await self.store.record(self.common.clock, self.common.version, items)
        return [
            replace(event, position=where.position, digest=where.digest, ts=where.ts)
            for event, where in zip(events, recorded, strict=True)
        ]

    def items(self, events: Sequence[Event]) -> list[dict[str, Any]]:
        """Events as the database's record function takes them, each with its long-term entry."""
        entry = self.common.deriver.entry if self.common.derive else lambda _: None
        return [_record_item(event, entry(event)) for event in events]

    async def put_entries(self, made: Sequence[AddStep]) -> int:
        """Write long-term entries of events that are in the log; how many were written.

        An entry of an older derivation is replaced; what was erased meanwhile stays erased.
        """
        async with self.store.hold(self.common.clock) as log:
            ids = [step.event for step in made if step.event is not None]
            emptied, known = await log.emptied(ids), await log.mirrors(ids)
            changed = [
                step
                for event_id, step in zip(ids, made, strict=True)
                if not emptied.get(event_id, True) and _changes(known.get(event_id), step)
            ]
            replaced = [known[s.event].entry_id for s in changed if s.event in known]
            archived = await _archived(log, replaced)
            await log.settle(self.common.version, [*archived, *changed])
        return len(changed)

    async def close_loop(self, loop_id: UUID) -> None:
        """Write the one short-term entry of a loop from its events. Twice is once.

        An event without a long-term entry is in the summary all the same; the dream that derives
        its entry writes this one again.
        """
        deriver = self.common.deriver
        async with self.store.hold(self.common.clock) as log:
            events = [self.event(row) for row in await log.loop(loop_id)]
            if not events:
                return
            mirrors = await log.mirrors([event.id for event in events])
            summary, made_by = deriver.summary(events)
            ended = max(event.ts for event in events)
            sources = {mirror.entry_id for mirror in mirrors.values()}
            known = await log.loop_summary(loop_id)
            if known and (known.ts, known.text, set(known.sources)) == (ended, summary, sources):
                return
            archived = await _archived(log, [known.entry_id] if known else [])
            parts = [
                Lineage(m.entry_id, Relation.SUMMARISED, Origin(m.origin), m.trust, e.ts, loop_id)
                for e in events
                if (m := mirrors.get(e.id)) is not None
            ]
            step = deriver.loop(loop_id, ended, summary, parts, made_by)
            await log.settle(self.common.version, [*archived, step])

    async def coverage(self) -> Coverage:
        """Count and compare. Vectors are those of the model at hand; without one there are none."""
        profile = await self.engine.profile()
        ((events, ltm, vectors, loops, stm),) = await self.store.rows("coverage", profile=profile)
        return Coverage(
            self.persona,
            events,
            ltm,
            vectors,
            loops,
            stm,
            without_ltm=tuple(event.id for event in await self.underived(0, LISTED)),
            without_vector=tuple(await self.store.ids("waiting", profile=profile, limit=LISTED)),
            without_stm=tuple((await self.store.ids("stray_loops"))[:LISTED]),
        )

    async def underived(self, after: int, limit: int) -> list[Event]:
        """Events whose long-term entry is missing, or of another derivation."""
        settled = list(self.common.deriver.settled)
        return await self.events("underived", derivations=settled, after=after, limit=limit)


def is_emptied(event: Event) -> bool:
    """Whether an erasure emptied an event."""
    return event.content == EMPTIED and not event.metadata


def _record_item(event: Event, step: AddStep | None) -> dict[str, Any]:
    """An event as the database's record function takes it, with its long-term entry."""
    item: dict[str, Any] = {
        "id": str(event.id),
        "ts": event.ts.isoformat(),
        "loop_id": str(event.loop_id),
        "kind": event.kind.value,
        "visibility": event.visibility.value,
        "content": event.content,
        "metadata": dict(event.metadata),
        "salt": random_bytes(16).hex(),
    }
    return item if step is None else item | {"step": step.encoded()}


def _changes(known: Mirror | None, step: AddStep) -> bool:
    """Whether an entry is to be written: none is there, or one of another derivation."""
    if known is None:
        return True
    return not known.erased and known.derivation != step.provenance[DERIVATION]


async def _archived(log: HeldLog, ids: Sequence[UUID]) -> list[Step]:
    """Steps that archive entries which new ones replace."""
    changes = {"archived_at": log.at}
    return [
        TurnStep("archived", "derived anew", changes, entry=one.entry)
        for one in await log.stored(ids)
    ]
