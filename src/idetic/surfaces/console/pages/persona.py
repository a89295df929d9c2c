"""Persona: the loops of persona memory, what is covered, and the dream that adds what is missing.

An Actor's own key has a page that is made of the Actor's view alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from idetic.errors import CapabilityRefused
from idetic.library.persona import persona_access
from idetic.persona.events import Persona
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import words

_WINDOW = 25


async def build(context: PageContext) -> None:
    """Build the page of both personas: coverage and the dream, notes, and a timeline for each."""
    access = await persona_access(context.db, await context.memory())
    whole = access.whole
    if whole is None:
        raise CapabilityRefused("This key is the Actor's.", remedy="Open Loops from the menu.")
    if (loop_id := _loop_id(context)) is not None:
        show("loop.html", found=await whole.subconscious.loop(loop_id), path="/persona")
        return
    notes = await access.actor.operational_notes()

    async def draw() -> None:
        """Show both personas as they are now; a dream changes them."""
        found = await whole.subconscious.coverage()
        windows = {each: await whole.subconscious.window(each, _WINDOW) for each in Persona}
        covered.clear()
        with covered:
            show("both_coverages.html", found=found)
        timelines.clear()
        with timelines:
            show("both_loops.html", left=notes, windows=windows)

    with el.card("Coverage"):
        covered = el.text("div", cls="columns")
        if access.may_dream:
            _DreamButton(context, draw)
    timelines = el.text("div", cls="page")
    await draw()


async def build_actor(context: PageContext) -> None:
    """Build the page of an Actor: notes, the timeline of loops or one of them, and coverage."""
    actor = (await persona_access(context.db, await context.memory())).actor
    if (loop_id := _loop_id(context)) is not None:
        show("loop.html", found=await actor.loop(loop_id), path="/loops")
        return
    left, window = await actor.operational_notes(), await actor.window(_WINDOW)
    show("actor.html", left=left, window=window, found=await actor.coverage())


def _loop_id(context: PageContext) -> UUID | None:
    """Return the loop that the address names; None if it names none."""
    wrong = ("This address names no loop.", "Choose one from the timeline.")
    return context.parsed("loop", UUID, *wrong)


class _DreamButton:
    """The button for a dream, its progress and its outcome; `changed` is called afterwards."""

    def __init__(self, context: PageContext, changed: Callable[[], Awaitable[None]]):
        self._context = context
        self._changed = changed
        with el.row():
            self._button = el.button("Dream", self._run, "primary")
            said = "A dream derives missing entries, gives them vectors, and summarises loops."
            el.text("span", said, "quiet small")
        self._said = el.text("p", "", "quiet", role="status")

    async def _run(self) -> None:
        """Dream, tell the outcome beside the button, and have the page drawn anew."""
        context = self._context
        access = await persona_access(context.db, await context.memory())
        # Checked anew: what the key may do can have changed since the button was shown.
        if access.whole is None or not access.may_dream:
            raise CapabilityRefused("This key may not dream.", remedy="Use one with `maintain`.")
        el.clear_notices()
        self._said.set_text("Dreaming…")
        try:
            with el.disabled(self._button):
                done = await access.whole.dream(self._progress)
        finally:
            self._said.set_text("")
        counts = f"{done.derived:,}, embedded {done.embedded:,}, summarised {done.summarised:,}"
        rest = "Nothing is missing." if done.equal else "Some entries are still missing."
        self._said.set_text(f"The dream derived {counts}. {rest}")
        await self._changed()

    def _progress(self, what: str, done: int, total: int) -> None:
        """Show which step of the dream is under way, and how far it is."""
        self._said.set_text(f"Dreaming… {words(what)}: {done:,} of {total:,}")
