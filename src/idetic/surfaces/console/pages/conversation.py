"""A conversation again: each turn, and beside it what was recalled and what was written."""

from __future__ import annotations

from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext


async def build(context: PageContext) -> None:
    """Build the replay of the conversation that the address names."""
    wrong = ("This address names no conversation.", "Choose one from the page of what is known.")
    session_id = context.path_id("session_id", *wrong)
    found = await (await context.memory()).transcript(session_id)
    show("conversation.html", found=found, whose=context.whose)
