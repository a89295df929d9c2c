"""Persona: both personas' loops, what is covered, and the dream that makes up for the rest."""

from __future__ import annotations

from uuid import UUID

from nicegui import ui
from starlette.requests import Request

from idetic.errors import CapabilityRefused
from idetic.library.persona import persona_access
from idetic.persona.events import Persona
from idetic.persona.loops import Dreamed
from idetic.persona.persona_memory import PersonaMemory
from idetic.surfaces.console import loops, notices, parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import words

PATH = "/persona"


async def build(desk: Desk, request: Request) -> None:
    """The page: coverage and the dream, notes, and one timeline for each persona."""
    access = await persona_access(desk.db, await desk.memory())
    if access.whole is None:
        raise CapabilityRefused("This key is the Actor's.", remedy="It has a page of its own.")
    chosen = loops.loop_id(request.query_params.get("loop"))
    if chosen is not None:
        parts.link("All loops", at(PATH))
        with parts.card("One loop"):
            loops.events(await access.whole.subconscious.loop(chosen))
        return
    dreaming = _Dreaming(desk)
    with parts.card("Coverage"):
        dreaming.covered = parts.text("div", cls="columns")
        if access.may_dream:
            dreaming.button()
    if found := await access.actor.operational_notes():
        with parts.card("Notes to the Actor"):
            loops.notes(found)
    dreaming.timelines = parts.text("div", cls="columns")
    await dreaming.draw(access.whole)


def _address(loop_id: UUID) -> str:
    return at(PATH, loop=loop_id)


class _Dreaming:
    """What a dream changes, and the button: the layers, the timelines, what it is at and did."""

    covered: ui.element
    timelines: ui.element

    def __init__(self, desk: Desk):
        self._desk = desk

    async def draw(self, whole: PersonaMemory) -> None:
        """Both personas as they are now."""
        found = await whole.subconscious.coverage()
        windows = {each: await whole.subconscious.window(each, loops.WINDOW) for each in Persona}
        self.covered.clear()
        with self.covered:
            for one in found:
                with parts.text("div", cls="stack"):
                    parts.heading(one.persona.capitalize(), 3)
                    loops.coverage(one)
        self.timelines.clear()
        with self.timelines:
            for persona, window in windows.items():
                with parts.card(f"Loops of the {persona.capitalize()}"):
                    loops.timeline(window, _address)

    def button(self) -> None:
        """For who may."""
        with parts.row():
            self._button = parts.button("Dream", self._run, "primary")
            said = "derives what is missing, gives it vectors, and summarises loops"
            parts.text("span", said, "quiet small")
        self._said = parts.text("p", "", "quiet", role="status")

    async def _run(self) -> None:
        access = await persona_access(self._desk.db, await self._desk.memory())
        if access.whole is None or not access.may_dream:
            raise CapabilityRefused("This key may not dream.", remedy="It takes `maintain`.")
        notices.clear()
        self._button.props["disabled"] = True
        self._button.update()
        self._said.set_text("Dreaming…")
        try:
            done = await access.whole.dream(self._progress)
        finally:
            self._button.props.pop("disabled", None)
            self._button.update()
            self._said.set_text("")
        self._said.set_text(_summary(done))
        await self.draw(access.whole)

    def _progress(self, what: str, done: int, total: int) -> None:
        self._said.set_text(f"Dreaming… {words(what)}: {done:,} of {total:,}")


def _summary(done: Dreamed) -> str:
    told = f"derived {done.derived:,}, embedded {done.embedded:,}, summarised {done.summarised:,}"
    rest = "Everything is covered." if done.equal else "Something is still missing; see above."
    return f"Dreamt: {told}. {rest}"
