"""What time puts before somebody: entries that are due, the hardest pressed first."""

from __future__ import annotations

from idetic.evidence import Disposition, Outcome
from idetic.library.handles import Memory
from idetic.model import Capability, Entry, Receipt, Typology
from idetic.surfaces.console import parts
from idetic.surfaces.console.acting import Act, Changed, Decision, Do, Given
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.entries import summary
from idetic.surfaces.console.wording import titled, words

LISTED = 50
# In the order of the buttons: what an outcome needs, its button and what it was once it is done.
_OUTCOMES = {
    Outcome.PROMOTE: (Capability.PROMOTE, "Promote", "Promoted.", "primary"),
    Outcome.RECORROBORATE: (Capability.CORROBORATE, "Confirm", "Confirmed.", ""),
    Outcome.EXEMPT: (Capability.EXEMPT, "Exempt", "Exempt from decay.", ""),
    Outcome.ARCHIVE: (Capability.ARCHIVE, "Archive", "Archived.", "danger"),
}


async def disposition(desk: Desk, changed: Changed) -> None:
    """The queue."""
    found = await (await desk.memory()).disposition(limit=LISTED)
    if not found:
        parts.empty(
            "Nothing is due.",
            "Entries come here when their validity lapses, when decay presses, and when a "
            "candidate stays without support.",
        )
    for one in found:
        with parts.card(cls="item"):
            _shown(one)
            Decision(desk, outcomes(desk, one.entry), titled(one.entry), changed)


def _shown(one: Disposition) -> None:
    summary(one.entry)
    with parts.row("small"):
        parts.badge(words(one.cause), "warn")
        parts.text("span", "due since", "quiet")
        parts.moment(one.due_at)
    parts.bar("pressure", one.pressure, f"{one.pressure:.0%}", kind="second")


def outcomes(desk: Desk, entry: Entry) -> list[Act]:
    """What this login may decide about an entry, as far as it can be decided."""
    return [
        Act(said, _dispose(entry, outcome), done, cls)
        for outcome, (needs, said, done, cls) in _OUTCOMES.items()
        if desk.may(needs) and _possible(desk, entry, outcome)
    ]


def _possible(desk: Desk, entry: Entry, outcome: Outcome) -> bool:
    if outcome is Outcome.PROMOTE:
        return entry.candidate or entry.typology is Typology.EPISODIC
    return outcome is not Outcome.RECORROBORATE or desk.spec.references.corroborations


def _dispose(entry: Entry, outcome: Outcome) -> Do:
    async def do(memory: Memory, given: Given) -> Receipt:
        return (await memory.dispose([entry.id], outcome, reason=given["reason"]))[0]

    return do
