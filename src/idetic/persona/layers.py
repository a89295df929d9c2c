"""The three layers of one persona's memory, put together for one agent."""

from __future__ import annotations

from dataclasses import dataclass

from idetic.gates.gate import Pipeline
from idetic.model import Principal, Scope
from idetic.persona.deriving import Deriver
from idetic.persona.drafts import DraftCheck
from idetic.persona.events import Persona
from idetic.persona.log import Log, LogWriter
from idetic.persona.ltm import Ltm
from idetic.persona.mirror import DerivedEntries
from idetic.persona.stm import Stm
from idetic.ports import Clock
from idetic.recall.embedding import EmbeddingRun, Model
from idetic.recall.engine import RecallEngine
from idetic.spec.memory_spec import MemorySpec
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.log import LogStore
from idetic.store.recall_query import Recalls


@dataclass(frozen=True, slots=True)
class Common:
    """What all personas of an agent share: whose memory it is, and the tools to derive it."""

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
        """Whose anchor it is; for both personas the same, but for who acts."""
        keys = (key.name for key in self.spec.anchor.keys)
        anchor = dict(zip(keys, (self.tenant, self.agent_id), strict=True))
        actor = persona is Persona.ACTOR
        who = Principal.agent(self.agent_id) if actor else Principal.maintenance(self.agent_id)
        return Scope(self.spec.agent, anchor, who)


@dataclass(frozen=True, slots=True)
class Layers:
    """One persona's memory, as far as the role behind its pool may reach it."""

    persona: Persona
    log: Log
    ltm: Ltm
    stm: Stm
    store: LogStore
    derived: DerivedEntries
    embedding: EmbeddingRun
    engine: RecallEngine
    writer: LogWriter
    common: Common


def layers(common: Common, persona: Persona, database: Database) -> Layers:
    """The layers of one persona, through one pool."""
    spec, clock, extensions = common.spec, common.clock, common.extensions
    family = Family(spec, persona)
    scope = common.scope(persona)
    entries = Entries(database, family)
    store = LogStore(database, family, entries, extensions, scope)
    embeddings = Embeddings(database, family, extensions.vector)
    recalls = Recalls(database, family, entries, extensions.vector)
    engine = RecallEngine(spec, recalls, embeddings, common.model, clock, patience=common.patience)
    embedding = EmbeddingRun(spec, engine, embeddings, common.model, clock, common.patience)
    derived = DerivedEntries(store, common.deriver, common.version, clock)
    log = Log(store, common.agent_id, persona)
    deriver = common.deriver if common.derive else None
    check = DraftCheck(common.agent_id, persona, common.ingest)
    return Layers(
        persona=persona,
        log=log,
        ltm=Ltm(store, engine, common.agent_id, persona),
        stm=Stm(store, derived, log, common.agent_id, persona, clock),
        store=store,
        derived=derived,
        embedding=embedding,
        engine=engine,
        writer=LogWriter(store, check, deriver, common.version, clock),
        common=common,
    )
