"""Composition: the one place where the parts of an agent's engine meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idetic.engine import Engine
from idetic.gates.gate import Gates
from idetic.gateway.gateway import Gateway
from idetic.lifecycle.echoes import echo_check
from idetic.recall.embedding import EmbeddingRun
from idetic.recall.engine import RecallEngine
from idetic.spec.primitives import Persona
from idetic.store.anchor_transaction import Anchors
from idetic.store.database import Database
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.plan import Plan
from idetic.store.queue import Marks, Queue
from idetic.store.recall_query import Recalls
from idetic.store.word_index import WordIndex

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic


def compose(
    db: Idetic,
    plan: Plan,
    database: Database,
    persona: Persona | None,
    *,
    alone: bool = False,
    embed_inline: bool = False,
) -> Engine:
    """The engine of one agent, on the pool of one role.

    `persona` says whose family, where there are two; `alone` keeps the application's pool out of
    the engine, through which one persona could become another.
    """
    spec, version, extensions = plan.spec, plan.to_version, plan.extensions
    model, clock = db.model, db.clock
    family = Family(spec, persona)
    entries = Entries(database, family)
    embeddings = Embeddings(database, family, extensions.vector)
    recalls = Recalls(database, family, entries, extensions.vector)
    recall = RecallEngine(spec, recalls, embeddings, model, clock, db.reranker, db.floors)
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
        queue=Queue(database if alone else db.database),
        marks=Marks(database, family),
        words=WordIndex(database, family),
        reasoner=db.reasoner,
        extractor=db.extractor,
        embed_inline=embed_inline,
    )
