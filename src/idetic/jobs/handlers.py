"""The jobs by name, and the sweeps that find what is due.

A handler does its work through the library, as any other caller would. A job may run more than once
(its worker was killed, its lease was lost), so doing it twice has the effect of once. An enqueue
makes work prompt; a sweep, by what the database holds, makes it certain.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from idetic.errors import SpecNotFound
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.lifecycle.escalation import NOMINATE
from idetic.lifecycle.proposals import DELIVER
from idetic.model import Principal
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store import word_index
from idetic.store.queue import Queue
from idetic.store.word_index import INDEX_WORDS

log = logging.getLogger("idetic.jobs")
Anchor = dict[str, Any]
Result = dict[str, Any]
Handler = Callable[..., Awaitable[Result]]
Sweep = Callable[[Idetic], Awaitable[int]]
# A scope that is old and lives is looked at again after this.
_AGAIN = timedelta(minutes=5)


async def embed(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Give every pending entry of one anchor its vector; without a model they stay pending."""
    if await db.model.get() is None:
        return {"skipped": "no embedding model"}
    memory = await _bound(db, agent, anchor)
    marks = memory.agent.engine.marks
    # Read first: what is written while this runs is then looked at once more, never missed.
    position = await marks.position(memory.scope)
    report = await memory.embed()
    await marks.mark(memory.scope, "embed", position, db.clock.now())
    return {"embedded": report.embedded}


async def index_words(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Bring the word index of one large anchor up to its chain."""
    report = await (await _bound(db, agent, anchor)).index_words()
    return {"segments": report.segments}


async def reembed(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Embed a whole tenant with the loaded model, then switch its recalls to it."""
    report = await (await _bound(db, agent, anchor)).reembed()
    return {"embedded": report.embedded, "switched": report.switched}


async def recover(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Close the scopes of one anchor whose process went away."""
    async with _marked(db, agent, anchor, "recover") as memory:
        return {"closed": len(await memory.recover())}


async def promote(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Promote the candidates of one anchor whose gates pass by now."""
    async with _marked(db, agent, anchor, "promote") as memory:
        decided = await memory.promote()
        return {"promoted": sum(one.transition == "promoted" for one in decided)}


async def disposition(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Let go what is past its time, and say in the history of what fell due that it waits."""
    async with _marked(db, agent, anchor, "disposition") as memory:
        disposed = await memory.dispose_tombstones()
        due = await memory.mark_due()
        return {"due": due, "disposed": len(disposed.disposed)}


async def nominate(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Nominate what one anchor knows to the broader anchor of its tenant."""
    return {"nominated": len(await (await _bound(db, agent, anchor)).nominate())}


async def reconcile(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Report what is orphaned in one anchor; nothing is cleaned."""
    async with _marked(db, agent, anchor, "reconcile") as memory:
        report = await memory.reconcile()
    if report.orphaned:
        log.warning("orphaned entries", extra={"agent": agent, "orphaned": len(report.orphaned)})
    return {"orphaned": len(report.orphaned)}


async def consolidate(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Merge the facts of one anchor that changed since the last run."""
    report = await (await _bound(db, agent, anchor)).consolidate()
    return {
        "decided": len(report.decided),
        "asked": report.asked,
        "tokens": report.usage.tokens,
        "cost": None if report.usage.cost is None else str(report.usage.cost),
        "failures": list(report.failures),
    }


async def extract(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Draw claims out of what was said in one anchor since the last run."""
    memory = await _bound(db, agent, anchor)
    if not memory.agent.spec.backend.conversation:
        return {"skipped": "no log of a conversation"}
    report = await memory.extract()
    return {
        "turns": report.turns,
        "claims": report.claims,
        "refused": len(report.refused),
        "cost": None if report.usage.cost is None else str(report.usage.cost),
        "stopped": report.stopped,
    }


async def deliver(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Hand what waits in the outbox of one anchor to its receiver, in order, each until taken."""
    if db.receiver is None:
        return {"skipped": "no receiver"}
    memory = await _bound(db, agent, anchor)
    marks, delivered = memory.agent.engine.marks, 0
    # Read first, as for vectors: what is proposed while this runs is looked at once more.
    position = await marks.position(memory.scope)
    while messages := await memory.outbox():
        for message in messages:
            await db.receiver.receive(message)
            await memory.acknowledge(message.position)
            delivered += 1
    await marks.mark(memory.scope, DELIVER, position, db.clock.now())
    return {"delivered": delivered}


async def rescan(db: Idetic, agent: str, anchor: Anchor) -> Result:
    """Bring one anchor in line with the canonical content it refers to."""
    async with _marked(db, agent, anchor, "rescan") as memory:
        report = await memory.rescan()
        return {"outdated": len(report.outdated), "shadows": len(report.shadows)}


async def canon(db: Idetic, agent: str, anchor: Anchor, table: str, ref_id: str) -> Result:
    """Look again at every anchor of a tenant that may refer to a canonical row that changed."""
    tenant = next(iter(anchor.values()))
    outdated = shadows = 0
    for spec in await _applied_specs(db):
        for canonical in spec.references.canonical:
            if canonical.table != table:
                continue
            for key in await Queue(db.database).anchors_of(spec, tenant):
                memory = await _bound(db, spec.agent, key)
                report = await memory.rescan(canonical.noun, UUID(ref_id))
                outdated += len(report.outdated)
                shadows += len(report.shadows)
    return {"outdated": outdated, "shadows": shadows}


HANDLERS: dict[str, Handler] = {
    "embed": embed,
    INDEX_WORDS: index_words,
    "reembed": reembed,
    "recover": recover,
    "promote": promote,
    "disposition": disposition,
    NOMINATE: nominate,
    "reconcile": reconcile,
    "consolidate": consolidate,
    "extract": extract,
    "rescan": rescan,
    DELIVER: deliver,
    "canon": canon,
}


@asynccontextmanager
async def _marked(db: Idetic, agent: str, anchor: Anchor, task: str) -> AsyncIterator[Memory]:
    """One anchor's memory; once the block has ended well, the task is marked as done there."""
    memory = await _bound(db, agent, anchor)
    yield memory
    marks = memory.agent.engine.marks
    position = await marks.position(memory.scope)
    await marks.mark(memory.scope, task, position, db.clock.now())


async def _bound(db: Idetic, agent: str, anchor: Anchor) -> Memory:
    """An agent's memory for one anchor, under the spec that the database holds of it."""
    versions = await db.spec_versions(agent)
    if not versions:
        raise SpecNotFound(
            f"This database holds no agent called {agent!r}.",
            remedy="Apply its spec with `idetic spec apply`, or delete the job.",
        )
    bound = await db.agent(load(versions[-1].spec))
    return bound.bind(principal=Principal.maintenance("worker"), **anchor)


async def _applied_specs(db: Idetic) -> list[MemorySpec]:
    """The spec of every agent that the database holds, in its latest version."""
    latest = {version.agent: version for version in await db.spec_versions()}
    return [load(version.spec) for version in latest.values()]


async def pending_embeddings(db: Idetic) -> int:
    """Enqueue the anchors that were written to since their last embedding.

    Without a model there are none: the jobs could only fail here, and another worker may have one.
    """
    return 0 if await db.model.get() is None else await _moved(db, "embed")


async def unindexed_words(db: Idetic) -> int:
    """Enqueue the large anchors that were written to since their words were last indexed."""
    queue, specs = Queue(db.database), await _applied_specs(db)
    return sum(
        [await queue.sweep_grown(spec, INDEX_WORDS, word_index.INDEXED_FROM) for spec in specs]
    )


async def silent_scopes(db: Idetic) -> int:
    """Enqueue the anchors with a scope that was opened longer ago than its lease."""
    queue, now = Queue(db.database), db.clock.now()
    enqueued = 0
    for spec in await _applied_specs(db):
        lease = min(tier.lease_minutes for tier in spec.tiers.transient.values())
        opened = now - timedelta(minutes=lease)
        enqueued += await queue.sweep_open(spec, "recover", opened, now - _AGAIN)
    return enqueued


async def unmerged_facts(db: Idetic) -> int:
    """Enqueue the anchors whose chain moved since their facts were last consolidated."""
    return await _moved(db, "consolidate")


async def unread_turns(db: Idetic) -> int:
    """Enqueue the anchors in which something was said since claims were last drawn."""
    queue = Queue(db.database)
    specs = [one for one in await _applied_specs(db) if one.backend.conversation]
    return sum([await queue.sweep_moved(spec, "extract") for spec in specs])


async def undelivered(db: Idetic) -> int:
    """Enqueue the anchors that may have something for the receiver; without one there are none."""
    if db.receiver is None:
        return 0
    queue, specs = Queue(db.database), [one for one in await _applied_specs(db) if one.proposes]
    return sum([await queue.sweep_moved(spec, DELIVER) for spec in specs])


async def daily(db: Idetic) -> int:
    """Enqueue what time alone makes due, once a day in every anchor."""
    queue, before = Queue(db.database), db.clock.now() - timedelta(days=1)
    enqueued = 0
    for spec in await _applied_specs(db):
        above = () if spec.tiers.broader is None else (NOMINATE,)
        for task in ("promote", "disposition", "reconcile", "rescan", *above):
            enqueued += await queue.sweep_aged(spec, task, before)
    return enqueued


SWEEPS: list[Sweep] = [
    *(pending_embeddings, unindexed_words, silent_scopes),
    *(unread_turns, unmerged_facts, undelivered, daily),
]


async def _moved(db: Idetic, task: str) -> int:
    """Enqueue a task wherever a chain has moved since the task last marked it."""
    queue = Queue(db.database)
    return sum([await queue.sweep_moved(spec, task) for spec in await _applied_specs(db)])
