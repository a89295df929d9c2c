"""Overview: what there is, what waits, and whether everything is well."""

from __future__ import annotations

from starlette.requests import Request

from idetic.surfaces.console import parts
from idetic.surfaces.console.desk import Desk


async def build(desk: Desk, _: Request) -> None:
    """The page."""
    memory = await desk.memory()
    with parts.card("Newest"):
        found = await memory.list(limit=10)
        if not found:
            parts.empty("Nothing is remembered yet.", "What the agent observes appears here.")
        for entry in found:
            parts.note(entry.body_text)
