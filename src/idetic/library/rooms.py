"""The rooms of one agent (interim): names of the former classes over the new functions."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

from idetic.audit.explaining import Explaining
from idetic.audit.verify import Verifier
from idetic.engine import Binding, Engine, ReasonerFactory
from idetic.gates.gate import Gates
from idetic.gateway.gateway import Gateway
from idetic.lifecycle import (
    aggregation,
    canonical_rescan,
    close_scope,
    consolidation,
    contradictions,
    corroborations,
    dispositions,
    entry_evidence,
    erasure,
    observations,
    overview,
    promotion,
    quarantine,
    retention,
    undo,
)
from idetic.lifecycle.echoes import echo_check
from idetic.model import Place, Scope
from idetic.ports import Clock
from idetic.recall.embedding import EmbeddingRun
from idetic.recall.engine import RecallEngine
from idetic.recall.model import Model
from idetic.recall.rerank import Reranker
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Persona
from idetic.store.anchor_transaction import Anchors
from idetic.store.audit import Auditing
from idetic.store.compiler import Extensions
from idetic.store.database import Database
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.moving import Moving
from idetic.store.queue import Marks, Queue
from idetic.store.recalls import Recalls
from idetic.store.shown import Showing
from idetic.transfer.adopting import Adopting
from idetic.transfer.exporting import Exporting
from idetic.transfer.importing import Importing

Rooms = Any


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
    family = Family(spec, persona)
    entries = Entries(database, family)
    embeddings = Embeddings(database, family, extensions.vector)
    recalls = Recalls(database, family, entries, extensions.vector)
    recall = RecallEngine(spec, recalls, embeddings, model, clock, reranker)
    embedding = EmbeddingRun(spec, recall, embeddings, model, clock)
    gates = Gates(spec)
    check = echo_check(spec, Showing(database, family))
    engine = Engine(
        spec=spec,
        version=version,
        clock=clock,
        gates=gates,
        anchors=Anchors(database, family, entries, extensions, clock),
        gateway=Gateway(spec, version, database, family, check, gates, clock),
        recall=recall,
        embedding=embedding,
        embeddings=embeddings,
        queue=Queue(jobs or database),
        marks=Marks(database, family),
        reasoner=reasoner,
    )
    auditing = Auditing(database, family, entries, extensions)
    moving = Moving(database, family, entries, extensions)
    verifier = Verifier(spec, auditing, clock)

    def room(**functions: Any) -> Any:
        def method(function: Any) -> Any:
            names = list(inspect.signature(function).parameters)[1:]

            def call(scope: Scope, *args: Any, **kw: Any) -> Any:
                place = Place()
                if args and isinstance(args[0], Place):
                    place, *args = args  # type: ignore[assignment]
                if "key" in kw and "key" not in names:
                    kw["idempotency_key"] = kw.pop("key")
                given = dict(zip(names, args, strict=False)) | kw
                return function(Binding(engine, scope, place), **given)

            return call

        return SimpleNamespace(**{n: method(f) for n, f in functions.items()})

    o = observations

    def one(binding: Any, seen: Any, typology: Any) -> Any:
        async def run() -> Any:
            from idetic.gateway.gateway import raise_if_rejected

            return raise_if_rejected((await o.observe_many(binding, [seen], typology=typology))[0])

        return run()

    async def prefer(binding: Any, stated: Any) -> Any:
        from idetic.gateway.gateway import raise_if_rejected

        return raise_if_rejected((await o.prefer_many(binding, [stated]))[0])

    gateway = room(
        observe=one,
        observe_many=o.observe_many,
        prefer=prefer,
        prefer_many=o.prefer_many,
        link_action=o.link_action,
        archive=o.archive,
        exempt=o.exempt,
        open_scope=o.open_scope,
    )
    gateway.said = engine.gateway.gated_reason
    return SimpleNamespace(
        core=engine,
        gateway=gateway,
        entries=entries,
        engine=recall,
        embedding=embedding,
        embeddings=embeddings,
        closer=room(close=close_scope.close),
        recovery=room(renew=close_scope.renew, recover=close_scope.recover),
        testimony=room(corroborate=corroborations.corroborate),
        contradictions=room(
            contradict=contradictions.contradict,
            queue=contradictions.contradictions,
            resolve=contradictions.resolve,
        ),
        dispositions=room(
            queue=dispositions.disposition, mark=dispositions.mark_due, dispose=dispositions.dispose
        ),
        undoing=room(undo=undo.undo),
        candidates=room(weigh=promotion.promote),
        canon=room(rescan=canonical_rescan.rescan),
        retention=room(
            tombstone=retention.tombstone,
            dispose_tombstones=retention.dispose_tombstones,
            reconcile=retention.reconcile,
        ),
        erasure=room(erase=erasure.erase),
        quarantine=room(
            quarantine=quarantine.quarantine,
            records=quarantine.quarantines,
            release=quarantine.release,
        ),
        consolidation=room(run=consolidation.consolidate),
        evidence=room(
            corroborations=entry_evidence.corroborations,
            lineage=entry_evidence.lineage,
            references=entry_evidence.references,
            gates=entry_evidence.gates,
            candidates=entry_evidence.candidates,
        ),
        overviews=room(overview=overview.overview),
        listings=room(
            kept=overview.kept,
            written=overview.written,
            unembedded=overview.unembedded,
            refusals=overview.refusals,
            sessions=overview.sessions,
            jobs=overview.jobs,
        ),
        aggregation=room(patterns=aggregation.patterns),
        verifier=verifier,
        explaining=Explaining(spec, auditing, clock),
        exporting=Exporting(spec, version, moving, clock),
        importing=Importing(spec, version, moving, verifier, clock),
        adopting=Adopting(engine),
        gates=gates,
        marks=Marks(database, family),
        clock=clock,
    )
