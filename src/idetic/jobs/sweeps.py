"""Finding work by what the database holds. An enqueue makes it prompt; a sweep makes it certain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from idetic.jobs.handlers import applied_specs
from idetic.library.idetic import Idetic
from idetic.model import Tier
from idetic.store.queue import Queue

# A scope that is old and lives is looked at again after this.
_AGAIN = timedelta(minutes=5)
Sweep = Callable[[Idetic], Awaitable[int]]


async def pending_embeddings(db: Idetic) -> int:
    """Anchors that were written to since their last embedding. Without a model, none: the jobs
    could only fail here, and another worker may have one."""
    if await db.model.get() is None:
        return 0
    return await moved(db, "embed")


async def silent_scopes(db: Idetic) -> int:
    """Anchors with a scope that was opened longer ago than its lease; the job looks closer."""
    queue, now = Queue(db.database), db.clock.now()
    found = 0
    for spec in await applied_specs(db):
        lease = min(spec.tiers.at(tier).lease_minutes for tier in (Tier.SESSION, Tier.INTERACTION))
        opened = now - timedelta(minutes=lease)
        found += await queue.sweep_open(spec, "recover", opened, now - _AGAIN)
    return found


async def merging(db: Idetic) -> int:
    """Anchors whose chain moved since their facts were last consolidated."""
    return await moved(db, "consolidate")


async def daily(db: Idetic) -> int:
    """What time alone makes due, once a day in every anchor."""
    queue, before = Queue(db.database), db.clock.now() - timedelta(days=1)
    found = 0
    for spec in await applied_specs(db):
        for task in ("promote", "disposition", "reconcile", "rescan"):
            found += await queue.sweep_aged(spec, task, before)
    return found


SWEEPS: list[Sweep] = [pending_embeddings, silent_scopes, merging, daily]


async def moved(db: Idetic, task: str) -> int:
    """Enqueue a task wherever a chain has moved since the task last marked it."""
    queue = Queue(db.database)
    return sum([await queue.sweep_moved(spec, task) for spec in await applied_specs(db)])
