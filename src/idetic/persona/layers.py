"""The three layers of one persona's memory, put together for one agent."""

from __future__ import annotations

from dataclasses import dataclass

from idetic.gates.gate import Pipeline
from idetic.persona.deriving import Deriver
from idetic.persona.drafts import DraftCheck
from idetic.persona.embedding import PersonaEmbedder
from idetic.persona.events import Persona
from idetic.persona.log import Log, LogWriter
from idetic.persona.ltm import Ltm
from idetic.persona.stm import Stm
from idetic.ports import Clock
from idetic.spec.primitives import Retrieval
from idetic.store.database import Database
from idetic.store.persona_derived import DerivedRows
from idetic.store.persona_log import LogRows
from idetic.store.persona_notes import NoteRows
from idetic.store.persona_rag import RagRows
from idetic.store.persona_tables import PersonaTables, scope_of


@dataclass(frozen=True, slots=True)
class Common:
    """What both personas of an agent share: whose memory it is, and the tools to derive it."""

    tenant: str
    agent_id: str
    clock: Clock
    embedder: PersonaEmbedder
    deriver: Deriver
    ingest: Pipeline
    retrieval: Retrieval
    vector_schema: str
    derive: bool = True


@dataclass(frozen=True, slots=True)
class Layers:
    """One persona's memory, as far as the role behind `database` may reach it."""

    persona: Persona
    log: Log
    ltm: Ltm
    stm: Stm
    rows: DerivedRows
    notes: NoteRows
    writer: LogWriter
    common: Common


def layers(common: Common, persona: Persona, database: Database) -> Layers:
    """The layers of one persona, through one pool."""
    agent_id, clock = common.agent_id, common.clock
    tables = PersonaTables(database, persona, scope_of(common.tenant, agent_id))
    rows = DerivedRows(tables, common.vector_schema)
    events = LogRows(tables)
    log = Log(events, agent_id, persona, common.tenant)
    asking = RagRows(tables, common.vector_schema)
    check = DraftCheck(agent_id, persona, common.ingest)
    deriver = common.deriver if common.derive else None
    return Layers(
        persona=persona,
        log=log,
        ltm=Ltm(rows, asking, common.embedder, common.retrieval, agent_id, persona),
        stm=Stm(rows, log, agent_id, persona, clock),
        rows=rows,
        notes=NoteRows(tables),
        writer=LogWriter(events, check, deriver, clock),
        common=common,
    )
