"""Composition: the one place where the parts of an agent's engine meet."""

from __future__ import annotations

from idetic.engine import Engine, ExtractorFactory, ReasonerFactory
from idetic.gates.gate import Gates
from idetic.gateway.gateway import Gateway
from idetic.ids import Clock
from idetic.lifecycle.echoes import echo_check
from idetic.recall.embedding import EmbeddingRun, Model
from idetic.recall.engine import RecallEngine
from idetic.recall.floors import FloorOverride
from idetic.recall.rerank import Reranker
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Persona
from idetic.store.anchor_transaction import Anchors
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.queue import Marks, Queue
from idetic.store.recall_query import Recalls
from idetic.store.word_index import WordIndex


def compose(  # noqa: PLR0913 - each part by its own name
    spec: MemorySpec,
    version: int,
    database: Database,
    extensions: Extensions,
    model: Model,
    clock: Clock,
    reranker: Reranker | None,
    reasoner: ReasonerFactory | None,
    *,
    extractor: ExtractorFactory | None = None,
    floors: FloorOverride | None = None,
    persona: Persona | None = None,
    jobs: Database | None = None,
    embed_inline: bool = False,
) -> Engine:
    """The engine of one agent.

    `persona` says whose family, where there are two; `jobs` is the pool that sees the queue.
    """
    family = Family(spec, persona)
    entries = Entries(database, family)
    embeddings = Embeddings(database, family, extensions.vector)
    recalls = Recalls(database, family, entries, extensions.vector)
    recall = RecallEngine(spec, recalls, embeddings, model, clock, reranker, floors)
    gates = Gates(spec)
    echoes = echo_check(spec, entries)
    return Engine(
        spec=spec,
        version=version,
        clock=clock,
        gates=gates,
        anchors=Anchors(database, family, entries, extensions, clock),
        gateway=Gateway(spec, version, database, family, echoes, gates, clock),
        recall=recall,
        embedding=EmbeddingRun(spec, recall, embeddings, model, clock),
        embeddings=embeddings,
        queue=Queue(jobs or database),
        marks=Marks(database, family),
        words=WordIndex(database, family),
        reasoner=reasoner,
        extractor=extractor,
        embed_inline=embed_inline,
    )
