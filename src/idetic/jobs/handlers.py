"""The jobs by name. A handler does its work through the library, as any other caller would.

A job may run more than once (its worker was killed, its lease was lost), so a handler is
something that can be done twice with the effect of once.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from idetic.errors import SpecNotFound
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.model import Principal
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store.queue import Queue

log = logging.getLogger("idetic.jobs")
Handler = Callable[..., Awaitable[dict[str, Any]]]


async def embed(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Give every pending entry of one anchor its vector; without a model they stay pending."""
    if await db.model.get() is None:
        return {"skipped": "no embedding model"}
    memory = await bound(db, agent, anchor)
    marks = memory.agent.engine.marks
    # Read first: what is written while this runs is then looked at once more, never missed.
    position = await marks.position(memory.scope)
    done = await memory.embed()
    await marks.mark(memory.scope, "embed", position, db.clock.now())
    return {"embedded": done.embedded}


async def reembed(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Embed a whole tenant with the loaded model, then switch its recalls to it."""
    done = await (await bound(db, agent, anchor)).reembed()
    return {"embedded": done.embedded, "switched": done.switched}


async def recover(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Close the scopes of one anchor whose process went away."""
    memory = await bound(db, agent, anchor)
    closed = await memory.recover()
    await _mark(db, memory, "recover")
    return {"closed": len(closed)}


async def promote(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Promote the candidates of one anchor whose gates pass by now."""
    memory = await bound(db, agent, anchor)
    decided = await memory.promote()
    await _mark(db, memory, "promote")
    return {"promoted": sum(one.transition == "promoted" for one in decided)}


async def disposition(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Say in the history of what fell due that it waits, and let tombstones past grace go."""
    memory = await bound(db, agent, anchor)
    due = await memory.mark_due()
    disposed = await memory.dispose_tombstones()
    await _mark(db, memory, "disposition")
    return {"due": due, "disposed": len(disposed.disposed)}


async def reconcile(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Report what is orphaned in one anchor; nothing is cleaned."""
    memory = await bound(db, agent, anchor)
    found = await memory.reconcile()
    await _mark(db, memory, "reconcile")
    if found.orphaned:
        log.warning("orphaned entries", extra={"agent": agent, "orphaned": len(found.orphaned)})
    return {"orphaned": len(found.orphaned)}


async def consolidate(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Merge the facts of one anchor that changed since the last run."""
    done = await (await bound(db, agent, anchor)).consolidate()
    cost = None if done.usage.cost is None else str(done.usage.cost)
    return {"decided": len(done.decided), "asked": done.asked, "tokens": done.usage.tokens,
            "cost": cost, "failures": list(done.failures)}  # fmt: skip


async def rescan(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
    """Bring one anchor in line with the canonical content it refers to."""
    memory = await bound(db, agent, anchor)
    found = await memory.rescan()
    await _mark(db, memory, "rescan")
    return {"outdated": len(found.outdated), "shadows": len(found.shadows)}


async def canon(
    db: Idetic, agent: str, anchor: dict[str, Any], table: str, ref_id: str
) -> dict[str, Any]:
    """A canonical row changed: look again at every anchor of its tenant that may refer to it."""
    tenant = next(iter(anchor.values()))
    outdated = shadows = 0
    for spec in await applied_specs(db):
        for canonical in spec.references.canonical:
            if canonical.table != table:
                continue
            for key in await Queue(db.database).anchors_of(spec, tenant):
                memory = await bound(db, spec.agent, key)
                found = await memory.rescan(canonical.noun, UUID(ref_id))
                outdated += len(found.outdated)
                shadows += len(found.shadows)
    return {"outdated": outdated, "shadows": shadows}


HANDLERS: dict[str, Handler] = {
    "embed": embed,
    "reembed": reembed,
    "recover": recover,
    "promote": promote,
    "disposition": disposition,
    "reconcile": reconcile,
    "consolidate": consolidate,
    "rescan": rescan,
    "canon": canon,
}


async def _mark(db: Idetic, memory: Memory, task: str) -> None:
    marks = memory.agent.engine.marks
    position = await marks.position(memory.scope)
    await marks.mark(memory.scope, task, position, db.clock.now())


async def applied_specs(db: Idetic) -> list[MemorySpec]:
    """The spec of every agent that the database holds, in its latest version."""
    latest = {version.agent: version for version in await db.spec_versions()}
    return [load(version.spec) for version in latest.values()]


async def bound(db: Idetic, agent: str, anchor: dict[str, Any]) -> Memory:
    """An agent's memory for one anchor, under the spec that the database holds of it."""
    held = await db.spec_versions(agent)
    if not held:
        raise SpecNotFound(
            f"This database holds no agent called {agent!r}.",
            remedy="Apply its spec with `idetic spec apply`, or let the job go.",
        )
    found = await db.agent(load(held[-1].spec))
    return found.bind(principal=Principal.maintenance("worker"), **anchor)
