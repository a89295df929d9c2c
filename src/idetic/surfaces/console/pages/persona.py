"""Persona: the loops of persona memory, what is covered, and the dream that adds what is missing.

An Actor's own key has a page that is made of the Actor's view alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from uuid import UUID

from nicegui.elements.mixins.text_element import TextElement

from idetic.errors import CapabilityRefused
from idetic.library.persona import persona_access
from idetic.persona.events import Event, Persona, StmEntry
from idetic.persona.notes import OperationalNote
from idetic.persona.persona_stores import Coverage
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import words

_WINDOW = 25
_MISSING = {
    "without_ltm": "events without a long-term entry",
    "without_vector": "entries without a vector",
    "without_stm": "loops without a summary",
}


async def build(context: PageContext) -> None:
    """Build the page of both personas: coverage and the dream, notes, and a timeline for each."""
    access = await persona_access(context.db, await context.memory())
    whole = access.whole
    if whole is None:
        raise CapabilityRefused("This key is the Actor's.", remedy="It has a page of its own.")
    if (loop_id := _loop_id(context)) is not None:
        _one_loop(await whole.subconscious.loop(loop_id), "/persona")
        return

    async def draw() -> None:
        """Show both personas as they are now; a dream changes them."""
        found = await whole.subconscious.coverage()
        windows = {each: await whole.subconscious.window(each, _WINDOW) for each in Persona}
        covered.clear()
        with covered:
            for one in found:
                with el.text("div", cls="stack"):
                    el.text("h3", one.persona.capitalize())
                    _coverage(one)
        timelines.clear()
        with timelines:
            for persona, window in windows.items():
                with el.card(f"Loops of the {persona.capitalize()}"):
                    _timeline(window, "/persona")

    with el.card("Coverage"):
        covered = el.text("div", cls="columns")
        if access.may_dream:
            _DreamButton(context, draw)
    _notes("Notes to the Actor", await access.actor.operational_notes())
    timelines = el.text("div", cls="columns")
    await draw()


async def build_actor(context: PageContext) -> None:
    """Build the page of an Actor: notes, the timeline of loops or one of them, and coverage."""
    actor = (await persona_access(context.db, await context.memory())).actor
    if (loop_id := _loop_id(context)) is not None:
        _one_loop(await actor.loop(loop_id), "/loops")
        return
    _notes("Notes", await actor.operational_notes())
    with el.card("Loops"):
        _timeline(await actor.window(_WINDOW), "/loops")
    with el.card("Coverage"):
        _coverage(await actor.coverage())


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
            said = "derives what is missing, gives it vectors, and summarises loops"
            el.text("span", said, "quiet small")
        self._said = el.text("p", "", "quiet", role="status")

    async def _run(self) -> None:
        """Dream, tell the outcome beside the button, and have the page drawn anew."""
        context = self._context
        access = await persona_access(context.db, await context.memory())
        # Checked anew: what the key may do can have changed since the button was shown.
        if access.whole is None or not access.may_dream:
            raise CapabilityRefused("This key may not dream.", remedy="It takes `maintain`.")
        el.clear_notices()
        self._said.set_text("Dreaming…")
        try:
            with el.disabled(self._button):
                done = await access.whole.dream(self._progress)
        finally:
            self._said.set_text("")
        counts = f"{done.derived:,}, embedded {done.embedded:,}, summarised {done.summarised:,}"
        rest = "Everything is covered." if done.equal else "Something is still missing; see above."
        self._said.set_text(f"Dreamt: derived {counts}. {rest}")
        await self._changed()

    def _progress(self, what: str, done: int, total: int) -> None:
        """Show which step of the dream is under way, and how far it is."""
        self._said.set_text(f"Dreaming… {words(what)}: {done:,} of {total:,}")


def _notes(title: str, found: Sequence[OperationalNote]) -> None:
    """Show the notes that were left for the agent to keep in mind."""
    if found:
        with el.card(title):
            for each in found:
                with el.text("div", cls="stack"):
                    el.note(each.text)
                    el.moment(each.ts).classes("quiet small")


def _timeline(found: Sequence[StmEntry], path: str) -> None:
    """Show the last loops, newest first; each leads to its events on the page at `path`."""
    if not found:
        el.empty(
            "There is no loop yet.", "Each task that the agent does is a loop, and appears here."
        )
        return
    with el.text("ol", cls="loops"):
        for each in found:
            with _on_timeline(each.ts, each.summary):
                for kind in dict.fromkeys(each.kinds):
                    count = each.kinds.count(kind)
                    el.badge(f"{words(kind)} {count}" if count > 1 else words(kind))
                count = len(each.ltm_ids)
                said = "Its event" if count == 1 else f"Its {count} events"
                el.link(said, at(path, loop=each.loop_id))


def _on_timeline(ts: datetime, content: str) -> TextElement:
    """Show a moment and what it holds; return the row for details about it."""
    with el.text("li"):
        el.moment(ts)
        with el.text("div", cls="stack"):
            el.note(content)
            return el.row("small")


def _one_loop(found: Sequence[Event], path: str) -> None:
    """Show one loop's events as the log has them, in order."""
    el.link("All loops", at(path))
    with el.card("One loop"):
        if not found:
            el.empty("There is no such loop.", "Choose one from the timeline.")
            return
        with el.text("ol", cls="loops"):
            for each in found:
                with _on_timeline(each.ts, each.content):
                    el.badge(words(each.kind))
                    said = f"{words(each.visibility)}, position {each.position}"
                    el.text("span", said, "quiet")


def _coverage(found: Coverage) -> None:
    """Show the layers side by side: the log, what was derived of it, and what is missing."""
    events, loops = max(found.events, 1), max(found.loops, 1)
    el.bar("log", found.events / events, f"{found.events:,} events")
    el.bar("long-term", found.ltm / events, f"{found.ltm:,} of {found.events:,}")
    el.bar("vectors", found.vectors / events, f"{found.vectors:,} of {found.events:,}")
    el.bar("short-term", found.stm / loops, f"{found.stm:,} of {found.loops:,} loops")
    if found.equal:
        el.badge("everything is covered", "good")
        return
    for name, said in _MISSING.items():
        if missing := getattr(found, name):
            more = " or more" if len(missing) >= 100 else ""
            el.badge(f"{said}: {len(missing)}{more}", "warn")
