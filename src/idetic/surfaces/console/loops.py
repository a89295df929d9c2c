"""Loops of persona memory as pages show them: a timeline, one loop's events, what is covered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from idetic.errors import InputError
from idetic.persona.events import Event, StmEntry
from idetic.persona.notes import OperationalNote
from idetic.persona.persona_stores import Coverage
from idetic.surfaces.console import parts
from idetic.surfaces.console.wording import words

WINDOW = 25
Address = Callable[[UUID], str]
_MISSING = {
    "without_ltm": "events without a long-term entry",
    "without_vector": "entries without a vector",
    "without_stm": "loops without a summary",
}


def loop_id(given: str | None) -> UUID | None:
    """The loop that an address names."""
    try:
        return UUID(given) if given else None
    except ValueError:
        raise InputError(
            "This address names no loop.", remedy="Choose one from the timeline."
        ) from None


def timeline(found: Sequence[StmEntry], address: Address) -> None:
    """The last loops, newest first, each on its place in time."""
    if not found:
        parts.empty(
            "There is no loop yet.", "Each task that the agent does is a loop, and appears here."
        )
        return
    with parts.text("ol", cls="loops"):
        for each in found:
            with parts.text("li"):
                parts.moment(each.ts)
                with parts.text("div", cls="stack"):
                    parts.note(each.summary)
                    with parts.row("small"):
                        for kind in dict.fromkeys(each.kinds):
                            count = each.kinds.count(kind)
                            parts.badge(f"{words(kind)} {count}" if count > 1 else words(kind))
                        count = len(each.ltm_ids)
                        said = "Its event" if count == 1 else f"Its {count} events"
                        parts.link(said, address(each.loop_id))


def events(found: Sequence[Event]) -> None:
    """One loop's events as the log has them, in order."""
    if not found:
        parts.empty("There is no such loop.", "Choose one from the timeline.")
        return
    with parts.text("ol", cls="loops"):
        for each in found:
            with parts.text("li"):
                parts.moment(each.ts)
                with parts.text("div", cls="stack"):
                    parts.note(each.content)
                    with parts.row("small"):
                        parts.badge(words(each.kind))
                        parts.text(
                            "span", f"{words(each.visibility)}, position {each.position}", "quiet"
                        )


def coverage(found: Coverage) -> None:
    """The layers side by side: the log, what was derived of it, and what lacks."""
    most = max(found.events, 1)
    parts.bar("log", found.events / most, f"{found.events:,} events")
    parts.bar("long-term", found.ltm / most, f"{found.ltm:,} of {found.events:,}")
    parts.bar("vectors", found.vectors / most, f"{found.vectors:,} of {found.events:,}")
    loops = max(found.loops, 1)
    parts.bar("short-term", found.stm / loops, f"{found.stm:,} of {found.loops:,} loops")
    if found.equal:
        parts.badge("everything is covered", "good")
        return
    for name, said in _MISSING.items():
        if missing := getattr(found, name):
            more = " or more" if len(missing) >= 100 else ""
            parts.badge(f"{said}: {len(missing)}{more}", "warn")


def notes(found: Sequence[OperationalNote]) -> None:
    """What was left for the agent to keep in mind."""
    for each in found:
        with parts.text("div", cls="stack"):
            parts.note(each.text)
            parts.moment(each.ts).classes("quiet small")
