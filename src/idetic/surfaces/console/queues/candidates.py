"""What waits for support: candidates, each with its four gates and their numbers."""

from __future__ import annotations

from uuid import UUID

from idetic.evidence import Candidate, GateResult
from idetic.surfaces.console import parts
from idetic.surfaces.console.acting import Changed, Decision
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.entries import summary
from idetic.surfaces.console.queues.disposition import outcomes
from idetic.surfaces.console.wording import titled, words

PAGE = 25


async def candidates(desk: Desk, changed: Changed, after: UUID | None) -> None:
    """The queue, oldest first."""
    found = await (await desk.memory()).candidates(limit=PAGE, after=after)
    if not found:
        parts.empty(
            "No candidate waits." if after is None else "These were all of them.",
            "A claim that a session leaves becomes a candidate until enough independent sources "
            "say the same.",
        )
    for one in found:
        with parts.card(cls="item"):
            _shown(one)
            Decision(desk, outcomes(desk, one.entry), titled(one.entry), changed)
    if len(found) == PAGE:
        with parts.row():
            parts.link(
                "Next", at("/queues", queue="candidates", after=found[-1].entry.id), "button"
            )


def _shown(one: Candidate) -> None:
    summary(one.entry)
    gates(one.gates)


def gates(found: tuple[GateResult, ...]) -> None:
    """What each gate says: passed or not, what it has, what it needs, and why."""
    with parts.text("ul", cls="gates", aria_label="Promotion gates"):
        for gate in found:
            with parts.text("li"):
                parts.badge("passed" if gate.passed else "waits", "good" if gate.passed else "warn")
                share = 1.0 if gate.passed else gate.have / gate.need if gate.need else 0.0
                said = f"{gate.have:g} of {gate.need:g}" if gate.need else ""
                parts.bar(words(gate.gate), share, said)
                parts.text("span", gate.why, "quiet small")
