"""Scope change: whoever goes on at another anchor has left the one where they were.

A boundary that some tier models declare in the place of a close by hand. What it ends is closed as
any other scope is, with its compounding and promotion.
"""

from __future__ import annotations

from dataclasses import replace

from idetic.engine import Binding
from idetic.lifecycle.close_scope import close_at
from idetic.model import Place, Tier
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.tiers import BoundaryKind

_WHY = "its principal went on at another anchor"


def ended_by_change(spec: MemorySpec) -> list[Tier]:
    """The tiers that a scope change ends."""
    models = spec.tiers.transient.items()
    return [tier for tier, model in models if model.boundary is BoundaryKind.SCOPE_CHANGE]


async def end_elsewhere(binding: Binding) -> None:
    """Close the scopes that this principal has open at other anchors of the tenant.

    Only of tiers that a scope change ends. A session takes its interactions along.
    """
    ending = ended_by_change(binding.spec)
    if not ending:
        return
    found = await binding.engine.queue.opened_elsewhere(binding.spec, binding.scope, ending)
    for anchor, session_id, scope_id in found:
        inner = None if scope_id == session_id else scope_id
        there = replace(binding, scope=replace(binding.scope, anchor=anchor))
        await close_at(replace(there, place=Place(session_id, inner)), _WHY, own=True)
