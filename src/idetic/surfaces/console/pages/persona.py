"""Persona: the loops of persona memory, what is covered, and the dream that adds what is missing.

An Actor's own key has a page that is made of the Actor's view alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from nicegui import ui

from idetic.errors import CapabilityRefused
from idetic.library.persona import PersonaMemory
from idetic.library.persona_access import PersonaAccess, persona_access
from idetic.persona.coverage import Coverage
from idetic.persona.dream import Dreamed
from idetic.persona.events import Event, Persona, StmEntry
from idetic.persona.notes import Note
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
    access, whole = await _whole(context, "This key is the Actor's.", "It has a page of its own.")
    if (loop_id := _loop_id(context)) is not None:
        _one_loop(await whole.subconscious.loop(loop_id), "/persona")
        return
    dream = _Dream(context)
    with el.card("Coverage"):
        dream.covered = el.text("div", cls="columns")
        if access.may_dream:
            dream.show_button()
    _notes("Notes to the Actor", await access.actor.operational_notes())
    dream.timelines = el.text("div", cls="columns")
    await dream.draw(whole)


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


async def _whole(
    context: PageContext, wrong: str, remedy: str
) -> tuple[PersonaAccess, PersonaMemory]:
    access = await persona_access(context.db, await context.memory())
    if access.whole is None:
        raise CapabilityRefused(wrong, remedy=remedy)
    return access, access.whole


def _loop_id(context: PageContext) -> UUID | None:
    wrong = ("This address names no loop.", "Choose one from the timeline.")
    return context.parsed("loop", UUID, *wrong)


class _Dream:
    """The button for a dream, its progress, and everything that a dream changes."""

    covered: ui.element
    timelines: ui.element

    def __init__(self, context: PageContext):
        self._context = context

    async def draw(self, whole: PersonaMemory) -> None:
        """Show both personas as they are now."""
        found = await whole.subconscious.coverage()
        windows = {each: await whole.subconscious.window(each, _WINDOW) for each in Persona}
        self.covered.clear()
        with self.covered:
            for one in found:
                with el.text("div", cls="stack"):
                    el.text("h3", one.persona.capitalize())
                    _coverage(one)
        self.timelines.clear()
        with self.timelines:
            for persona, window in windows.items():
                with el.card(f"Loops of the {persona.capitalize()}"):
                    _timeline(window, "/persona")

    def show_button(self) -> None:
        """Show the button, for logins that may dream."""
        with el.row():
            self._button = el.button("Dream", self._run, "primary")
            said = "derives what is missing, gives it vectors, and summarises loops"
            el.text("span", said, "quiet small")
        self._said = el.text("p", "", "quiet", role="status")

    async def _run(self) -> None:
        wrong = ("This key may not dream.", "It takes `maintain`.")
        access, whole = await _whole(self._context, *wrong)
        if not access.may_dream:
            raise CapabilityRefused(wrong[0], remedy=wrong[1])
        el.clear_notices()
        self._button.props["disabled"] = True
        self._button.update()
        self._said.set_text("Dreaming…")
        try:
            done = await whole.dream(self._progress)
        finally:
            self._button.props.pop("disabled", None)
            self._button.update()
            self._said.set_text("")
        self._said.set_text(_summary(done))
        await self.draw(whole)

    def _progress(self, what: str, done: int, total: int) -> None:
        self._said.set_text(f"Dreaming… {words(what)}: {done:,} of {total:,}")


def _summary(done: Dreamed) -> str:
    told = f"derived {done.derived:,}, embedded {done.embedded:,}, summarised {done.summarised:,}"
    rest = "Everything is covered." if done.equal else "Something is still missing; see above."
    return f"Dreamt: {told}. {rest}"


def _notes(title: str, found: Sequence[Note]) -> None:
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
            with el.text("li"):
                el.moment(each.ts)
                with el.text("div", cls="stack"):
                    el.note(each.summary)
                    with el.row("small"):
                        for kind in dict.fromkeys(each.kinds):
                            count = each.kinds.count(kind)
                            el.badge(f"{words(kind)} {count}" if count > 1 else words(kind))
                        count = len(each.ltm_ids)
                        said = "Its event" if count == 1 else f"Its {count} events"
                        el.link(said, at(path, loop=each.loop_id))


def _one_loop(found: Sequence[Event], path: str) -> None:
    """Show one loop's events as the log has them, in order."""
    el.link("All loops", at(path))
    with el.card("One loop"):
        if not found:
            el.empty("There is no such loop.", "Choose one from the timeline.")
            return
        with el.text("ol", cls="loops"):
            for each in found:
                with el.text("li"):
                    el.moment(each.ts)
                    with el.text("div", cls="stack"):
                        el.note(each.content)
                        with el.row("small"):
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
