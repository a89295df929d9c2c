"""Queues: what waits for somebody's decision. Decide in place, with a reason; undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from nicegui import events, ui

from idetic.errors import InputError
from idetic.evidence import TRANSITIONS, Contradiction, ContradictionStatus, Outcome
from idetic.library.handles import Memory
from idetic.lifecycle.quarantine import QuarantineRecord
from idetic.model import Capability, Entry, LedgerRecord, Origin, Receipt, Typology
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at, parsed, utc
from idetic.surfaces.console.decision_form import Changed, Choice, DecisionForm, reason_field
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import options, summary, tail, titled, words

_LISTED = 50
_CANDIDATES = 25
# How many ids of a quarantine are links.
_LINKED = 8
# In the order of the buttons: the capability of an outcome, its button, and what to say afterwards.
_OUTCOMES = {
    Outcome.PROMOTE: (Capability.PROMOTE, "Promote", "Promoted.", "primary"),
    Outcome.RECORROBORATE: (Capability.CORROBORATE, "Confirm", "Confirmed.", ""),
    Outcome.EXEMPT: (Capability.EXEMPT, "Exempt", "Exempt from decay.", ""),
    Outcome.ARCHIVE: (Capability.ARCHIVE, "Archive", "Archived.", "danger"),
}
_RESOLUTIONS = {
    ContradictionStatus.SURFACED: ("Surface", "Surfaced to an operator.", ""),
    ContradictionStatus.PROMOTED: ("Make it a revision signal", "A revision signal.", "primary"),
    ContradictionStatus.DISMISSED: ("Dismiss", "Dismissed.", "danger"),
}
_SETTLED = tuple(status for status, after in TRANSITIONS.items() if not after)


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """A queue: its title, the field of an overview that has its length, and what shows it.

    `show` makes a card for each item, with the form that decides about it.
    """

    title: str
    length: str
    show: Callable[[PageContext, Changed], Awaitable[None]]


async def build(context: PageContext) -> None:
    """Build the page: one queue, and the length of each, counted again after each decision."""
    name = context.asked("queue") or "disposition"
    if name not in QUEUES:
        raise InputError("There is no such queue.", remedy=f"There are {', '.join(QUEUES)}.")
    lengths = {}
    with el.text("nav", cls="tabs", aria_label="Queues"):
        for each, queue in QUEUES.items():
            current = "page" if each == name else None
            with el.link("", at("/queues", queue=each), aria_current=current):
                el.text("span", queue.title)
                lengths[queue.length] = el.badge("")

    async def count() -> None:
        """Write the length of each queue on its tab."""
        seen = await (await context.memory()).overview(days=1)
        for length, badge in lengths.items():
            badge.set_text(str(getattr(seen, length)))

    await count()
    await QUEUES[name].show(context, count)


async def _disposition(context: PageContext, changed: Changed) -> None:
    """Show the entries that are due, those under most pressure first."""
    found = await (await context.memory()).disposition(limit=_LISTED)
    if not found:
        el.empty(
            "Nothing is due.",
            "Entries come here when their validity lapses, when decay presses, and when a "
            "candidate stays without support.",
        )
    for one in found:
        with el.card(cls="item"):
            summary(one.entry)
            with el.row("small"):
                el.badge(words(one.cause), "warn")
                el.text("span", "due since", "quiet")
                el.moment(one.due_at)
            el.bar("pressure", one.pressure, f"{one.pressure:.0%}", kind="second")
            DecisionForm(context, _outcomes(context, one.entry), titled(one.entry), changed)


async def _candidates(context: PageContext, changed: Changed) -> None:
    """Show the candidates that wait for support, oldest first, each with its gates."""
    wrong = ("This address names no candidate.", "Begin again from the menu.")
    after = context.parsed("after", UUID, *wrong)
    found = await (await context.memory()).candidates(limit=_CANDIDATES, after=after)
    if not found:
        el.empty(
            "No candidate waits." if after is None else "These were all of them.",
            "A claim that a session leaves becomes a candidate until enough independent sources "
            "say the same.",
        )
    for one in found:
        with el.card(cls="item"):
            summary(one.entry)
            with el.text("ul", cls="gates", aria_label="Promotion gates"):
                for gate in one.gates:
                    with el.text("li"):
                        el.badge(*(("passed", "good") if gate.passed else ("waits", "warn")))
                        share = 1.0 if gate.passed else gate.have / gate.need if gate.need else 0.0
                        said = f"{gate.have:g} of {gate.need:g}" if gate.need else ""
                        el.bar(words(gate.gate), share, said)
                        el.text("span", gate.why, "quiet small")
            DecisionForm(context, _outcomes(context, one.entry), titled(one.entry), changed)
    if len(found) == _CANDIDATES:
        more = at("/queues", queue="candidates", after=found[-1].entry.id)
        with el.row():
            el.link("Next", more, "button")


def _outcomes(context: PageContext, entry: Entry) -> list[Choice]:
    """Return what this login may decide about an entry, as far as it can be decided."""

    async def dispose(outcome: Outcome, memory: Memory, reason: str) -> Receipt:
        return (await memory.dispose([entry.id], outcome, reason=reason))[0]

    possible = {
        Outcome.PROMOTE: entry.candidate or entry.typology is Typology.EPISODIC,
        Outcome.RECORROBORATE: context.spec.references.corroborations,
    }
    return [
        Choice(label, partial(dispose, outcome), done, cls)
        for outcome, (needs, label, done, cls) in _OUTCOMES.items()
        if context.may(needs) and possible.get(outcome, True)
    ]


async def _contradictions(context: PageContext, changed: Changed) -> None:
    """Show the contradictions that wait, oldest first; or those that were settled."""
    settled = context.asked("settled") == "1"
    memory = await context.memory()
    found = await memory.contradictions(status=_SETTLED if settled else None, limit=_LISTED)
    if not found:
        el.empty(
            "Nothing was settled yet." if settled else "No contradiction waits.",
            "When an agent finds that memory speaks against a canonical row, it says so here.",
        )
    for one in found:
        entry, history = await memory.get(one.entry_id), await memory.history(one.entry_id)
        story = [link for link in history if link.detail.get("contradiction") == str(one.id)]
        with el.card(cls="item"):
            with el.text("div", cls="columns"):
                with el.text("div", cls="stack"):
                    el.text("h3", "Memory says")
                    summary(entry)
                with el.text("div", cls="stack"):
                    el.text("h3", f"The {words(one.ref.noun)}")
                    await _canonical_row(memory, one)
            if story and story[0].reason:
                el.text("p", story[0].reason)
            with el.row("small"):
                el.badge(words(one.status), "warn" if TRANSITIONS[one.status] else "")
                el.text("span", f"said by {one.observed_by}", "quiet")
                el.moment(one.observed_at)
            if one.resolution_notes:
                el.text("p", f"{one.resolved_by}: {one.resolution_notes}", "small")
            DecisionForm(context, _resolutions(context, one, story), titled(entry), changed)
    with el.row():
        said = "Show what waits" if settled else "Show what was settled"
        other = None if settled else "1"
        el.link(said, at("/queues", queue="contradictions", settled=other))


async def _canonical_row(memory: Memory, one: Contradiction) -> None:
    """Show the row that is contradicted, as it reads now."""
    for found in await memory.references(one.entry_id):
        if found.ref.id == one.ref.id and found.text:
            el.note(found.text, "canonical")
            said = f"{words(found.ref.noun)} {tail(found.ref.id)}"
            version = "" if found.version_now is None else f", version {found.version_now}"
            el.text("p", f"{said}{version}, {words(found.strength or '')}", "quiet small")
            return
    said = f"{words(one.ref.noun)} {one.ref.id}; the entry itself does not refer to it."
    el.text("p", said, "quiet")


def _resolutions(
    context: PageContext, one: Contradiction, story: Sequence[LedgerRecord]
) -> list[Choice]:
    """Return where a contradiction may go; and back, by the link of its present resolution."""

    async def resolve(status: ContradictionStatus, memory: Memory, reason: str) -> Receipt:
        return await memory.resolve(one.id, status, notes=reason)

    async def undo(memory: Memory, reason: str) -> Receipt:
        return await memory.undo(links[0], reason=reason)

    choices = []
    if context.may(Capability.RESOLVE):
        for status in TRANSITIONS[one.status]:
            label, done, cls = _RESOLUTIONS[status]
            choices.append(Choice(label, partial(resolve, status), done, cls))
    present = (f"contradiction_{one.status}", one.resolved_at)
    links = [link for link in story if (link.transition, link.at) == present]
    if links and context.may(Capability.UNDO):
        choices.append(Choice("Take it back", undo, "Taken back."))
    return choices


async def _quarantine(context: PageContext, changed: Changed) -> None:
    """Show the sources that were taken out of recall, and the form that takes one out."""
    may = context.may(Capability.ARCHIVE)

    async def release(position: int, memory: Memory, reason: str) -> Receipt:
        return await memory.release(position, reason=reason)

    async def draw() -> None:
        """Show the quarantines; one that still stands can be released."""
        found = await (await context.memory()).quarantines(limit=_LISTED)
        place.clear()
        with place:
            if not found:
                el.empty(
                    "No source is quarantined.",
                    "When a tool was poisoned or a key leaked, take it out above.",
                )
            for one in found:
                with el.card(cls="item"):
                    _record(one)
                    if one.standing and may:
                        choice = Choice("Release", partial(release, one.position), "Released.")
                        DecisionForm(context, [choice], f"position {one.position}", changed)

    async def take(event: events.GenericEventArguments) -> None:
        """Quarantine the form's source, then show the list and the lengths anew."""
        if await _take(await context.memory(), event.args):
            ui.run_javascript(f"getHtmlElement({form.id}).reset()")
        await draw()
        await changed()

    if may:
        with el.card("Take a source out"):
            el.text(
                "p",
                "What it said leaves recall with all that was made of it, and what it displaced "
                "comes back. A release puts everything back as it was.",
                "quiet",
            )
            with el.socket_form(autocomplete="off") as form:
                el.choice("origin", "Origin", options(Origin, "any"), None)
                el.field("Said by", name="created_by", placeholder="agent:name")
                el.field("Session", name="session_id", placeholder="its id")
                el.field("Since (UTC)", name="since", type="datetime-local")
                reason_field("Reason for the quarantine")
                el.socket_button("Quarantine", take, "danger")
    place = el.text("div", cls="page")
    await draw()


async def _take(memory: Memory, given: Mapping[str, str]) -> bool:
    """Quarantine the source of a form and tell the outcome; whether any entry came from it."""
    session, wrong = given["session_id"].strip(), "The session is not an id."
    taken = await memory.quarantine(
        reason=given["reason"],
        origin=Origin(given["origin"]) if given["origin"] else None,
        created_by=given["created_by"].strip() or None,
        session_id=parsed(session, UUID, wrong, "Copy the whole of it.") if session else None,
        since=utc(given["since"]) if given["since"] else None,
    )
    if not taken.entries:
        el.tell("Nothing comes from there.", "Nothing was changed.", "warn")
        return False
    out = "1 entry is" if len(taken.entries) == 1 else f"{len(taken.entries)} entries are"
    back = f"{len(taken.restored)} came back. " if taken.restored else ""
    el.tell(f"{out} out of recall.", f"{back}A release puts everything back.")
    return True


def _record(one: QuarantineRecord) -> None:
    """Show a quarantine: its source, what it took out of recall, and its release."""
    with el.row():
        el.badge(*(("quarantined", "bad") if one.standing else ("released", "good")))
        el.text("strong", ", ".join(f"{words(k)} {v}" for k, v in one.source.items()))
    el.text("p", one.reason)
    facts: dict[str, el.Cell] = {
        "Taken out": one.at,
        "By": one.by,
        "Entries": partial(_entries, one.entries),
        "Came back": partial(_entries, one.restored),
        "Demoted": partial(_entries, one.demoted),
        "Withdrawn support": str(len(one.withdrawn)),
    }
    if not one.standing:
        facts["Released"] = one.released_at
        facts["Because"] = f"{one.released_because} ({one.released_by})"
    el.facts(facts)


def _entries(ids: Sequence[UUID]) -> None:
    """Show how many entries there are, with links to the first."""
    el.text("span", f"{len(ids)} ")
    for each in ids[:_LINKED]:
        el.link(tail(each), at(f"/entries/{each}"), "mono")
    if len(ids) > _LINKED:
        el.text("span", f"and {len(ids) - _LINKED} more", "quiet")


# By the name that each has in addresses, in the order of the tabs.
QUEUES = {
    "disposition": ReviewQueue("Disposition", "due", _disposition),
    "contradictions": ReviewQueue("Contradictions", "contradictions", _contradictions),
    "candidates": ReviewQueue("Candidates", "candidates", _candidates),
    "quarantine": ReviewQueue("Quarantine", "quarantines", _quarantine),
}
