"""What speaks against canonical content: the entry, the row it contradicts, and what to do."""

from __future__ import annotations

from functools import partial

from idetic.evidence import TRANSITIONS, Contradiction, ContradictionStatus
from idetic.library.handles import Memory
from idetic.model import Capability, LedgerRecord, Receipt, Ref
from idetic.surfaces.console import parts
from idetic.surfaces.console.acting import Act, Changed, Decision, Given
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.entries import summary
from idetic.surfaces.console.wording import tail, titled, words

LISTED = 50
_SETTLED = tuple(status for status, after in TRANSITIONS.items() if not after)
_SAID = {
    ContradictionStatus.SURFACED: ("Surface", "Surfaced to an operator.", ""),
    ContradictionStatus.PROMOTED: ("Make it a revision signal", "A revision signal.", "primary"),
    ContradictionStatus.DISMISSED: ("Dismiss", "Dismissed.", "danger"),
}


async def contradictions(desk: Desk, changed: Changed, *, settled: bool) -> None:
    """The queue, oldest first; or what was settled."""
    memory = await desk.memory()
    found = await memory.contradictions(status=_SETTLED if settled else None, limit=LISTED)
    if not found:
        parts.empty(
            "Nothing was settled yet." if settled else "No contradiction waits.",
            "When an agent finds that memory speaks against a canonical row, it says so here.",
        )
    for one in found:
        with parts.card(cls="item"):
            entry = await memory.get(one.entry_id)
            with parts.text("div", cls="columns"):
                with parts.text("div", cls="stack"):
                    parts.heading("Memory says", 3)
                    summary(entry)
                with parts.text("div", cls="stack"):
                    parts.heading(f"The {words(one.ref.noun)}", 3)
                    await _canonical(memory, one)
            story = [link for link in await memory.history(one.entry_id) if _about(link, one)]
            _standing(one, story[0].reason if story else None)
            Decision(desk, _acts(desk, one, story), titled(entry), changed)
    with parts.row():
        other = None if settled else "1"
        said = "Show what waits" if settled else "Show what was settled"
        parts.link(said, at("/queues", queue="contradictions", settled=other))


async def _canonical(memory: Memory, one: Contradiction) -> None:
    """The row as it reads now."""
    for found in await memory.references(one.entry_id):
        if found.ref.id == one.ref.id and found.text:
            parts.note(found.text, "canonical")
            said = f"{words(found.ref.noun)} {tail(found.ref.id)}"
            version = "" if found.version_now is None else f", version {found.version_now}"
            parts.text("p", f"{said}{version}, {words(found.strength or '')}", "quiet small")
            return
    parts.text("p", _named(one.ref), "quiet")


def _named(ref: Ref) -> str:
    return f"{words(ref.noun)} {ref.id}; the entry itself does not refer to it."


def _about(link: LedgerRecord, one: Contradiction) -> bool:
    return link.detail.get("contradiction") == str(one.id)


def _standing(one: Contradiction, because: str | None) -> None:
    if because:
        parts.text("p", because)
    with parts.row("small"):
        parts.badge(words(one.status), "warn" if TRANSITIONS[one.status] else "")
        parts.text("span", f"said by {one.observed_by}", "quiet")
        parts.moment(one.observed_at)
    if one.resolution_notes:
        parts.text("p", f"{one.resolved_by}: {one.resolution_notes}", "small")


def _acts(desk: Desk, one: Contradiction, story: list[LedgerRecord]) -> list[Act]:
    """Where it may go from here; and back, by the link of the resolution that it stands by."""
    onward = TRANSITIONS[one.status] if desk.may(Capability.RESOLVE) else ()
    back = [link for link in story if _stands_by(one, link)] if desk.may(Capability.UNDO) else []
    return [_act(one, to) for to in onward] + [
        Act("Take it back", partial(_back, link), "Taken back.") for link in back[:1]
    ]


def _stands_by(one: Contradiction, link: LedgerRecord) -> bool:
    return (link.transition, link.at) == (f"contradiction_{one.status}", one.resolved_at)


def _act(one: Contradiction, to: ContradictionStatus) -> Act:
    said, done, cls = _SAID[to]
    return Act(said, partial(_resolve, one, to), done, cls)


async def _back(link: LedgerRecord, memory: Memory, given: Given) -> Receipt:
    return await memory.undo(link, reason=given["reason"])


async def _resolve(
    one: Contradiction, to: ContradictionStatus, memory: Memory, given: Given
) -> Receipt:
    return await memory.resolve(one.id, to, notes=given["reason"])
