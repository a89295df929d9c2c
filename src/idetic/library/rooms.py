"""The rooms of one agent, composed once and shared by its handles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from idetic.gates.gate import Gates
from idetic.gateway.echoes import EchoCheck
from idetic.gateway.gateway import Gateway
from idetic.lifecycle.aggregating import Aggregation
from idetic.lifecycle.candidates import Candidates
from idetic.lifecycle.canon import Canon
from idetic.lifecycle.closing import ScopeCloser
from idetic.lifecycle.consolidation import Consolidation, ReasonerFactory
from idetic.lifecycle.contradicting import Contradictions
from idetic.lifecycle.disposition import Dispositions
from idetic.lifecycle.echo import Echoes
from idetic.lifecycle.erasing import Erasure
from idetic.lifecycle.listings import Listings
from idetic.lifecycle.looking import Looking
from idetic.lifecycle.overview import Overviews
from idetic.lifecycle.quarantining import Quarantine
from idetic.lifecycle.recovery import Recovery
from idetic.lifecycle.retention import Retention
from idetic.lifecycle.testimony import Testimony
from idetic.lifecycle.undoing import Undoing
from idetic.ports import Clock
from idetic.recall.embedding import EmbeddingRun, Model
from idetic.recall.engine import RecallEngine
from idetic.recall.rerank import Reranker
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Persona
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries
from idetic.store.erasing import Searching
from idetic.store.export_rows import Moving
from idetic.store.family import Family
from idetic.store.holding import Holding
from idetic.store.listing import Listing
from idetic.store.overview import Overseeing
from idetic.store.quarantine import Sourcing
from idetic.store.queue import Marks, Queue
from idetic.store.read_receipts import ReadReceipts
from idetic.store.recall_query import Recalls
from idetic.store.retention import Retaining
from idetic.store.writes import Writes


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where an agent's handles send their work."""

    gateway: Gateway
    entries: Entries
    engine: RecallEngine
    embedding: EmbeddingRun
    embeddings: Embeddings
    closer: ScopeCloser
    recovery: Recovery
    testimony: Testimony
    contradictions: Contradictions
    dispositions: Dispositions
    undoing: Undoing
    canon: Canon
    candidates: Candidates
    retention: Retention
    erasure: Erasure
    quarantine: Quarantine
    consolidation: Consolidation
    evidence: Looking
    overviews: Overviews
    listings: Listings
    aggregation: Aggregation
    gates: Gates
    marks: Marks
    anchors: Moving
    version: int
    clock: Clock


def compose(
    spec: MemorySpec,
    version: int,
    database: Database,
    extensions: Extensions,
    model: Model,
    clock: Clock,
    reranker: Reranker | None,
    reasoner: ReasonerFactory | None,
    *,
    persona: Persona | None = None,
    jobs: Database | None = None,
) -> Rooms:
    """Every room of one agent, each given what it needs; nothing else wires them.

    `persona` says whose family, where there are two; `jobs` is the pool that sees the queue.
    """
    family = Family(spec, persona)
    entries = Entries(database, family)
    embeddings = Embeddings(database, family, extensions.vector)
    recalls = Recalls(database, family, entries, extensions.vector)
    engine = RecallEngine(spec, recalls, embeddings, model, clock, reranker)
    embedding = EmbeddingRun(spec, engine, embeddings, model, clock)
    gates = Gates(spec)
    echoes = EchoCheck(ReadReceipts(database, family), partial(Echoes, spec))
    gateway = Gateway(spec, version, Writes(database, family), echoes, gates, clock)
    holding = Holding(database, family, entries, extensions)
    closer = ScopeCloser(spec, gateway, holding, embedding, gates, clock)
    undoing = Undoing(spec, gateway, holding, clock)
    sourcing = Sourcing(database, family, entries, extensions)
    overseeing = Overseeing(database, family, entries, extensions)
    queue = Queue(jobs or database)
    return Rooms(
        gateway=gateway,
        entries=entries,
        engine=engine,
        embedding=embedding,
        embeddings=embeddings,
        closer=closer,
        recovery=Recovery(spec, holding, closer, clock),
        testimony=Testimony(spec, gateway, holding, gates, clock),
        contradictions=Contradictions(spec, gateway, holding, clock),
        dispositions=Dispositions(spec, gateway, holding, gates, clock),
        undoing=undoing,
        candidates=Candidates(spec, gateway, holding, gates, clock),
        canon=Canon(spec, gateway, holding, clock),
        retention=Retention(spec, gateway, Retaining(database, family, entries, extensions), clock),
        erasure=Erasure(spec, gateway, Searching(database, family, entries, extensions), clock),
        quarantine=Quarantine(spec, gateway, sourcing, undoing, gates, clock),
        consolidation=Consolidation(spec, gateway, holding, embeddings, gates, clock, reasoner),
        evidence=Looking(spec, holding, gates, clock),
        overviews=Overviews(spec, overseeing, sourcing, queue, clock),
        listings=Listings(spec, Listing(database, family, entries, extensions), queue, clock),
        aggregation=Aggregation(spec, gateway, holding, gates, clock),
        anchors=Moving(database, family, entries, extensions),
        version=version,
        gates=gates,
        marks=Marks(database, family),
        clock=clock,
    )
