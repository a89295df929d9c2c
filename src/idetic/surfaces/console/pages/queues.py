"""Queues: what waits for somebody's decision. Act in place, with a reason; undo."""

from __future__ import annotations

from uuid import UUID

from starlette.requests import Request

from idetic.errors import InputError
from idetic.lifecycle.overview import Overview
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.queues.candidates import candidates
from idetic.surfaces.console.queues.contradictions import contradictions
from idetic.surfaces.console.queues.disposition import disposition
from idetic.surfaces.console.queues.quarantine import quarantine

# Each queue by its address: what it is called, and its length in an overview.
TABS = {
    "disposition": ("Disposition", "due"),
    "contradictions": ("Contradictions", "contradictions"),
    "candidates": ("Candidates", "candidates"),
    "quarantine": ("Quarantine", "quarantines"),
}


async def build(desk: Desk, request: Request) -> None:
    """The page: one queue, and how long all of them are."""
    here = request.query_params.get("queue", "disposition")
    if here not in TABS:
        raise InputError("There is no such queue.", remedy=f"There are {', '.join(TABS)}.")
    tabs = _Tabs(desk, here)
    await tabs.count()
    if here == "disposition":
        await disposition(desk, tabs.count)
    elif here == "contradictions":
        await contradictions(desk, tabs.count, settled=request.query_params.get("settled") == "1")
    elif here == "candidates":
        await candidates(desk, tabs.count, _after(request))
    else:
        await quarantine(desk, tabs.count)


def _after(request: Request) -> UUID | None:
    given = request.query_params.get("after")
    try:
        return UUID(given) if given else None
    except ValueError:
        raise InputError(
            "This address names no candidate.", remedy="Begin again from the menu."
        ) from None


class _Tabs:
    """Which queues there are and how much waits in each, counted again after each decision."""

    def __init__(self, desk: Desk, here: str):
        self._desk = desk
        self._numbers = {}
        with parts.text("nav", cls="tabs", aria_label="Queues"):
            for name, (title, _) in TABS.items():
                current = "page" if name == here else None
                with parts.link("", at("/queues", queue=name), aria_current=current):
                    parts.text("span", title)
                    self._numbers[name] = parts.badge("")

    async def count(self) -> None:
        """Say how long each queue is now."""
        found: Overview = await (await self._desk.memory()).overview(days=1)
        for name, (_, length) in TABS.items():
            self._numbers[name].set_text(str(getattr(found, length)))
