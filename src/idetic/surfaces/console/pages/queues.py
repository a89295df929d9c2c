"""Queues: what waits for somebody's decision. Decide in place, with a reason; undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from nicegui import events, ui

from idetic.errors import InputError
from idetic.evidence import (
    TRANSITIONS,
    Candidate,
    Contradiction,
    ContradictionStatus,
    Disposition,
    Outcome,
)
from idetic.library.handles import Memory
from idetic.lifecycle.quarantining import QuarantineRecord
from idetic.model import Capability, Entry, LedgerRecord, Origin, Receipt, Typology
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at, parsed, utc
from idetic.surfaces.console.decision_form import (
    Changed,
    Choice,
    DecisionForm,
    Given,
    reason_field,
)
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
    """A queue: its title, the field of an overview that has its length, and what shows it."""

    title: str
    length: str
    show: Callable[[PageContext, Changed], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Item:
    """One thing of a queue: what it is about, how it is shown, and what can be decided."""

    about: str
    show: Callable[[], None]
    choices: Sequence[Choice] | None


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
        seen = await (await context.memory()).overview(days=1)
        for length, shown in lengths.items():
            shown.set_text(str(getattr(seen, length)))

    await count()
    await QUEUES[name].show(context, count)


def _show_items(
    context: PageContext, changed: Changed, items: Iterable[_Item], nothing: str, remedy: str
) -> None:
    items = list(items)
    if not items:
        el.empty(nothing, remedy)
    for item in items:
        with el.card(cls="item"):
            item.show()
            if item.choices is not None:
                DecisionForm(context, item.choices, item.about, changed)


async def _disposition(context: PageContext, changed: Changed) -> None:
    """Show the entries that are due, those under most pressure first."""
    found = await (await context.memory()).disposition(limit=_LISTED)
    _show_items(
        context,
        changed,
        (_entry_item(context, one.entry, partial(_due, one)) for one in found),
        "Nothing is due.",
        "Entries come here when their validity lapses, when decay presses, and when a "
        "candidate stays without support.",
    )


def _due(one: Disposition) -> None:
    summary(one.entry)
    with el.row("small"):
        el.badge(words(one.cause), "warn")
        el.text("span", "due since", "quiet")
        el.moment(one.due_at)
    el.bar("pressure", one.pressure, f"{one.pressure:.0%}", kind="second")


def _entry_item(context: PageContext, entry: Entry, show: Callable[[], None]) -> _Item:
    """Make an item about an entry, with the outcomes that this login may decide on."""
    choices = []
    for outcome, (needs, label, done, cls) in _OUTCOMES.items():
        possible = {
            Outcome.PROMOTE: entry.candidate or entry.typology is Typology.EPISODIC,
            Outcome.RECORROBORATE: context.spec.references.corroborations,
        }
        if context.may(needs) and possible.get(outcome, True):
            choices.append(Choice(label, partial(_dispose, entry.id, outcome), done, cls))
    return _Item(titled(entry), show, choices)


async def _dispose(entry_id: UUID, outcome: Outcome, memory: Memory, given: Given) -> Receipt:
    return (await memory.dispose([entry_id], outcome, reason=given["reason"]))[0]


async def _candidates(context: PageContext, changed: Changed) -> None:
    """Show the candidates that wait for support, oldest first, each with its gates."""
    wrong = ("This address names no candidate.", "Begin again from the menu.")
    after = context.parsed("after", UUID, *wrong)
    found = await (await context.memory()).candidates(limit=_CANDIDATES, after=after)
    _show_items(
        context,
        changed,
        (_entry_item(context, one.entry, partial(_candidate, one)) for one in found),
        "No candidate waits." if after is None else "These were all of them.",
        "A claim that a session leaves becomes a candidate until enough independent sources "
        "say the same.",
    )
    if len(found) == _CANDIDATES:
        more = at("/queues", queue="candidates", after=found[-1].entry.id)
        with el.row():
            el.link("Next", more, "button")


def _candidate(one: Candidate) -> None:
    """Show a candidate and its gates: passed or not, their numbers, and why."""
    summary(one.entry)
    with el.text("ul", cls="gates", aria_label="Promotion gates"):
        for gate in one.gates:
            with el.text("li"):
                el.badge(*(("passed", "good") if gate.passed else ("waits", "warn")))
                share = 1.0 if gate.passed else gate.have / gate.need if gate.need else 0.0
                said = f"{gate.have:g} of {gate.need:g}" if gate.need else ""
                el.bar(words(gate.gate), share, said)
                el.text("span", gate.why, "quiet small")


async def _contradictions(context: PageContext, changed: Changed) -> None:
    """Show the contradictions that wait, oldest first; or those that were settled."""
    settled = context.asked("settled") == "1"
    memory = await context.memory()
    found = await memory.contradictions(status=_SETTLED if settled else None, limit=_LISTED)
    _show_items(
        context,
        changed,
        [await _contradiction(context, memory, one) for one in found],
        "Nothing was settled yet." if settled else "No contradiction waits.",
        "When an agent finds that memory speaks against a canonical row, it says so here.",
    )
    with el.row():
        said = "Show what waits" if settled else "Show what was settled"
        other = None if settled else "1"
        el.link(said, at("/queues", queue="contradictions", settled=other))


async def _contradiction(context: PageContext, memory: Memory, one: Contradiction) -> _Item:
    """Make an item of an entry beside the canonical row that it contradicts, as it reads now."""
    entry = await memory.get(one.entry_id)
    references = await memory.references(one.entry_id)
    row = next((each for each in references if each.ref.id == one.ref.id and each.text), None)
    history = await memory.history(one.entry_id)
    story = [link for link in history if link.detail.get("contradiction") == str(one.id)]

    def show() -> None:
        with el.text("div", cls="columns"):
            with el.text("div", cls="stack"):
                el.text("h3", "Memory says")
                summary(entry)
            with el.text("div", cls="stack"):
                el.text("h3", f"The {words(one.ref.noun)}")
                if row is not None and row.text:
                    el.note(row.text, "canonical")
                    said = f"{words(row.ref.noun)} {tail(row.ref.id)}"
                    version = "" if row.version_now is None else f", version {row.version_now}"
                    el.text("p", f"{said}{version}, {words(row.strength or '')}", "quiet small")
                else:
                    said = f"{words(one.ref.noun)} {one.ref.id}"
                    el.text("p", f"{said}; the entry itself does not refer to it.", "quiet")
        if story and story[0].reason:
            el.text("p", story[0].reason)
        with el.row("small"):
            el.badge(words(one.status), "warn" if TRANSITIONS[one.status] else "")
            el.text("span", f"said by {one.observed_by}", "quiet")
            el.moment(one.observed_at)
        if one.resolution_notes:
            el.text("p", f"{one.resolved_by}: {one.resolution_notes}", "small")

    return _Item(titled(entry), show, _resolutions(context, one, story))


def _resolutions(
    context: PageContext, one: Contradiction, story: Sequence[LedgerRecord]
) -> list[Choice]:
    """Return where a contradiction may go; and back, by the link of its present resolution."""
    choices = []
    if context.may(Capability.RESOLVE):
        for status in TRANSITIONS[one.status]:
            label, done, cls = _RESOLUTIONS[status]
            choices.append(Choice(label, partial(_resolve, one.id, status), done, cls))
    if context.may(Capability.UNDO):
        present = (f"contradiction_{one.status}", one.resolved_at)
        link = next((each for each in story if (each.transition, each.at) == present), None)
        if link is not None:
            choices.append(Choice("Take it back", partial(_undo, link), "Taken back."))
    return choices


async def _resolve(
    contradiction_id: UUID, status: ContradictionStatus, memory: Memory, given: Given
) -> Receipt:
    return await memory.resolve(contradiction_id, status, notes=given["reason"])


async def _undo(link: LedgerRecord, memory: Memory, given: Given) -> Receipt:
    return await memory.undo(link, reason=given["reason"])


async def _quarantine(context: PageContext, changed: Changed) -> None:
    """Show the sources that were taken out of recall, and the form that takes one out."""
    may = context.may(Capability.ARCHIVE)

    async def draw() -> None:
        found = await (await context.memory()).quarantines(limit=_LISTED)
        place.clear()
        with place:
            _show_items(
                context,
                changed,
                (_record_item(one, may=may) for one in found),
                "No source is quarantined.",
                "When a tool was poisoned or a key leaked, take it out above.",
            )

    async def take(event: events.GenericEventArguments) -> None:
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


async def _take(memory: Memory, given: Given) -> bool:
    """Quarantine a source and tell the outcome; whether any entry came from it."""
    session, wrong = given["session_id"].strip(), "The session is not an id."
    taken = await memory.quarantine(
        reason=given["reason"],
        origin=Origin(given["origin"]) if given["origin"] else None,
        created_by=given["created_by"].strip() or None,
        session_id=parsed(session, UUID, wrong, "Copy the whole of it."),
        since=utc(given["since"]) if given["since"] else None,
    )
    if not taken.entries:
        el.tell("Nothing comes from there.", "Nothing was changed.", "warn")
        return False
    out = "1 entry is" if len(taken.entries) == 1 else f"{len(taken.entries)} entries are"
    back = f"{len(taken.restored)} came back. " if taken.restored else ""
    el.tell(f"{out} out of recall.", f"{back}A release puts everything back.")
    return True


def _record_item(one: QuarantineRecord, *, may: bool) -> _Item:
    release = Choice("Release", partial(_release, one.position), "Released.")
    choices = [release] if one.standing and may else None
    return _Item(f"position {one.position}", partial(_record, one), choices)


async def _release(position: int, memory: Memory, given: Given) -> Receipt:
    return await memory.release(position, reason=given["reason"])


def _record(one: QuarantineRecord) -> None:
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
