"""Sources that were taken out of recall, and taking one out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from nicegui import events, ui

from idetic.errors import InputError
from idetic.library.handles import Memory
from idetic.lifecycle.quarantine import QuarantineRecord
from idetic.model import Capability, Origin, Receipt
from idetic.surfaces.console import notices, parts
from idetic.surfaces.console.acting import (
    STAY,
    WITH_FORM,
    Act,
    Changed,
    Decision,
    Given,
    reason_field,
)
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import tail, words

LISTED = 50
_SHOWN = 8


async def quarantine(desk: Desk, changed: Changed) -> None:
    """The form, for who may, and what was taken out."""
    place = _Records(desk, changed)
    if desk.may(Capability.ARCHIVE):
        with parts.card("Take a source out"):
            parts.text(
                "p",
                "What it said leaves recall with all that was made of it, and what it displaced "
                "comes back. A release puts everything back as it was.",
                "quiet",
            )
            _form(place)
    await place.draw()


class _Records:
    """The list, drawn anew when something was taken out."""

    def __init__(self, desk: Desk, changed: Changed):
        self.desk = desk
        self.changed = changed
        self.form: ui.element
        self._place: ui.element | None = None

    async def draw(self) -> None:
        found = await (await self.desk.memory()).quarantines(limit=LISTED)
        # Made when it is first drawn: below the form, which knows of it before.
        self._place = self._place or parts.text("div", cls="page")
        self._place.clear()
        with self._place:
            if not found:
                parts.empty(
                    "No source is quarantined.",
                    "When a tool was poisoned or a key leaked, take it out above.",
                )
            for one in found:
                with parts.card(cls="item"):
                    _shown(one)
                    if one.standing and self.desk.may(Capability.ARCHIVE):
                        act = Act("Release", partial(_release, one), "Released.")
                        Decision(self.desk, [act], f"position {one.position}", self.changed)


def _form(place: _Records) -> None:
    with parts.text("form", cls="asking", autocomplete="off") as form:
        place.form = form.on("submit", js_handler=STAY)
        origins = {"": "any"} | {origin.value: words(origin) for origin in Origin}
        parts.choice("origin", "Origin", origins, None)
        parts.entry_field("created_by", "Said by", placeholder="agent:name")
        parts.entry_field("session_id", "Session", placeholder="its id")
        parts.entry_field("since", "Since (UTC)", type="datetime-local")
        reason_field("Reason for the quarantine")
        button = parts.text("button", "Quarantine", "button danger", type="button")
        button.on("click", partial(_take, place), js_handler=WITH_FORM)


async def _take(place: _Records, event: events.GenericEventArguments) -> None:
    given: Given = event.args
    memory = await place.desk.memory()
    taken = await memory.quarantine(
        reason=given["reason"],
        origin=Origin(given["origin"]) if given["origin"] else None,
        created_by=given["created_by"].strip() or None,
        session_id=_id(given["session_id"].strip()),
        since=_moment(given["since"]),
    )
    if taken.entries:
        out = "1 entry is" if len(taken.entries) == 1 else f"{len(taken.entries)} entries are"
        back = f"{len(taken.restored)} came back. " if taken.restored else ""
        notices.say(f"{out} out of recall.", f"{back}A release puts everything back.")
        ui.run_javascript(f"getHtmlElement({place.form.id}).reset()")
    else:
        notices.say("Nothing comes from there.", "Nothing was changed.", "warn")
    await place.draw()
    await place.changed()


def _id(given: str) -> UUID | None:
    try:
        return UUID(given) if given else None
    except ValueError:
        raise InputError("The session is not an id.", remedy="Copy the whole of it.") from None


def _moment(given: str) -> datetime | None:
    return datetime.fromisoformat(given).replace(tzinfo=UTC) if given else None


async def _release(one: QuarantineRecord, memory: Memory, given: Given) -> Receipt:
    return await memory.release(one.position, reason=given["reason"])


def _shown(one: QuarantineRecord) -> None:
    with parts.row():
        kind = "bad" if one.standing else "good"
        parts.badge("quarantined" if one.standing else "released", kind)
        parts.text("strong", ", ".join(f"{words(k)} {v}" for k, v in one.source.items()))
    parts.text("p", one.reason)
    facts: dict[str, parts.Cell] = {
        "Taken out": partial(parts.moment, one.at),
        "By": one.by,
        "Entries": partial(_entries, one.entries),
        "Came back": partial(_entries, one.restored),
        "Demoted": partial(_entries, one.demoted),
        "Withdrawn support": str(len(one.withdrawn)),
    }
    if not one.standing:
        facts["Released"] = partial(parts.moment, one.released_at)
        facts["Because"] = f"{one.released_because} ({one.released_by})"
    parts.facts(facts)


def _entries(ids: Sequence[UUID]) -> None:
    parts.text("span", f"{len(ids)} ")
    for each in ids[:_SHOWN]:
        parts.link(tail(each), at(f"/entries/{each}"), "mono")
    if len(ids) > _SHOWN:
        parts.text("span", f"and {len(ids) - _SHOWN} more", "quiet")
