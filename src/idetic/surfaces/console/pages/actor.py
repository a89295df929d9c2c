"""Loops: what an agent's own key sees of its memory. It is made of the Actor's view alone."""

from __future__ import annotations

from uuid import UUID

from starlette.requests import Request

from idetic.library.persona import persona_access
from idetic.surfaces.console import loops, parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk

PATH = "/loops"


async def build(desk: Desk, request: Request) -> None:
    """The page: notes, the timeline of loops or one of them, and what is covered."""
    view = (await persona_access(desk.db, await desk.memory())).actor
    chosen = loops.loop_id(request.query_params.get("loop"))
    if chosen is not None:
        parts.link("All loops", at(PATH))
        with parts.card("One loop"):
            loops.events(await view.loop(chosen))
        return
    if found := await view.operational_notes():
        with parts.card("Notes"):
            loops.notes(found)
    with parts.card("Loops"):
        loops.timeline(await view.window(loops.WINDOW), _address)
    with parts.card("Coverage"):
        loops.coverage(await view.coverage())


def _address(loop_id: UUID) -> str:
    return at(PATH, loop=loop_id)
