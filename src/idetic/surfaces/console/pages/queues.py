"""Queues: what waits for somebody's decision. Decide in place, with a reason; undo."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from nicegui import events, ui

from idetic.errors import InputError
from idetic.evidence import TRANSITIONS, Contradiction, ContradictionStatus, Outcome, Referenced
from idetic.library.handles import Memory
from idetic.lifecycle.overview import Overview
from idetic.lifecycle.quarantine import QuarantineRecord
from idetic.model import Capability, Entry, LedgerRecord, Origin, Receipt, Typology
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at, parsed, utc
from idetic.surfaces.console.bulk_form import LISTED, QueueItem, show_items, show_more
from idetic.surfaces.console.decision_form import Changed, Choice, reason_field
from idetic.surfaces.console.markup import part, show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.pages import proposals
from idetic.surfaces.console.pages.answers import sentence_of
from idetic.surfaces.console.wording import options, titled
from idetic.verbs.arguments import MAX_PAGE

# In the order of the buttons: the capability of an outcome, its button, and what to say afterwards.
_OUTCOMES = {
    Outcome.PROMOTE: (Capability.PROMOTE, "Promote", "Promoted.", ""),
    Outcome.RECORROBORATE: (Capability.CORROBORATE, "Confirm", "Confirmed.", ""),
    Outcome.EXEMPT: (Capability.EXEMPT, "Exempt", "Exempt: it no longer grows old.", ""),
    Outcome.ARCHIVE: (Capability.ARCHIVE, "Archive", "Archived.", "danger"),
}
_RESOLUTIONS = {
    ContradictionStatus.SURFACED: ("Hand to an operator", "Surfaced to an operator.", ""),
    ContradictionStatus.PROMOTED: (
        "Make it a revision signal",
        "A revision signal now.",
        "primary",
    ),
    ContradictionStatus.DISMISSED: ("Dismiss", "Dismissed.", "danger"),
}
# So many entries of a quarantine are shown as sentences.
_SENTENCES = 3
_SETTLED = tuple(status for status, after in TRANSITIONS.items() if not after)


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """A queue: its title, and what shows a card for each item with the form that decides."""

    title: str
    show: Callable[[PageContext, Changed], Awaitable[None]]


async def lengths(context: PageContext, seen: Overview) -> dict[str, int]:
    """Return how much waits in each queue that this memory has, by its name in addresses."""
    found = {
        "disposition": seen.due,
        "contradictions": seen.contradictions,
        "candidates": seen.candidates,
        "quarantine": seen.quarantines,
    }
    if context.spec.proposes:
        memory = await context.memory()
        found["proposals"] = len(await memory.proposals(limit=MAX_PAGE))
    return found


async def build(context: PageContext) -> None:
    """Build the page: one queue, and the length of each, counted again after each decision."""
    name = context.asked("queue") or "disposition"
    if name not in QUEUES:
        raise InputError("There is no such queue.", remedy=f"There are {', '.join(QUEUES)}.")
    tabs = el.text("div", data_pending="")

    def draw(found: Mapping[str, int]) -> None:
        """Show the tabs, each with the length of its queue where that is known."""
        tabs.clear()
        with tabs:
            show("tabs.html", queues=_queues_of(context), current=name, lengths=found)

    async def count() -> None:
        """Count each queue, and show the tabs anew."""
        found = await lengths(context, await (await context.memory()).overview(days=1))
        draw(found)
        tabs.props(remove="data-pending")

    draw({})
    await QUEUES[name].show(context, count)
    # Counting reads every entry; the cards of one queue do not.
    el.afterwards(count)


def _queues_of(context: PageContext) -> dict[str, ReviewQueue]:
    """Return the queues that this memory has: proposals only where the spec lets anything leave."""
    return {
        name: queue
        for name, queue in QUEUES.items()
        if name != "proposals" or context.spec.proposes
    }


async def _disposition(context: PageContext, changed: Changed) -> None:
    """Show the entries that are due, those under most pressure first."""
    shown = context.shown(LISTED)
    found = await (await context.memory()).disposition(limit=shown + 1)
    if not found:
        part(
            "empty",
            "No entry waits for a decision.",
            "An entry comes here when its validity ends, when it has grown old, or when it "
            "stayed a candidate for too long.",
        )
    _decidable(context, found[:shown], "due.html", changed)
    show_more(context, len(found) > shown)


def _decidable(context: PageContext, found: Sequence[Any], template: str, changed: Changed) -> None:
    """Show a card for each entry that waits."""
    items = [
        QueueItem(
            one.entry.id,
            titled(one.entry),
            _outcomes(context, one.entry),
            partial(show, template, one=one),
        )
        for one in found
    ]
    show_items(context, items, changed)


async def _candidates(context: PageContext, changed: Changed) -> None:
    """Show the candidates that wait for support, oldest first, each with its gates."""
    wrong = ("This address names no candidate.", "Begin again from the menu.")
    after = context.parsed("after", UUID, *wrong)
    found = await (await context.memory()).candidates(limit=LISTED, after=after)
    if not found:
        part(
            "empty",
            "No candidate waits for support." if after is None else "The list ends here.",
            "A claim from a session is a candidate until enough independent sources say the same.",
        )
    _decidable(context, found, "candidate.html", changed)
    if len(found) == LISTED:
        with el.row():
            more = at("/queues", queue="candidates", after=found[-1].entry.id)
            part("link", "Next", more, "button")


def _outcomes(context: PageContext, entry: Entry) -> list[Choice]:
    """Return what this login may decide about an entry, as far as it can be decided."""

    async def dispose(outcome: Outcome, memory: Memory, reason: str) -> Receipt:
        return (await memory.dispose([entry.id], outcome, reason=reason))[0]

    async def together(
        outcome: Outcome, memory: Memory, ids: Sequence[UUID], reason: str
    ) -> Sequence[Receipt]:
        return await memory.dispose(ids, outcome, reason=reason)

    possible = _possible(context, entry)
    return [
        Choice(
            _OUTCOMES[outcome][1],
            partial(dispose, outcome),
            _OUTCOMES[outcome][2],
            # The first is what is mostly decided, unless it takes something away.
            _OUTCOMES[outcome][3] or ("primary" if outcome is possible[0] else ""),
            together=partial(together, outcome),
        )
        for outcome in possible
    ]


def _possible(context: PageContext, entry: Entry) -> list[Outcome]:
    """Return the outcomes that an entry can have, of those that this login may decide."""
    possible = {
        Outcome.PROMOTE: entry.candidate or entry.typology is Typology.EPISODIC,
        Outcome.RECORROBORATE: context.spec.references.corroborations,
    }
    return [
        outcome
        for outcome, (needs, *_) in _OUTCOMES.items()
        if context.may(needs) and possible.get(outcome, True)
    ]


async def _contradictions(context: PageContext, changed: Changed) -> None:
    """Show the contradictions that wait, oldest first; or those that were settled."""
    settled = context.asked("settled") == "1"
    memory, shown = await context.memory(), context.shown(LISTED)
    found = await memory.contradictions(status=_SETTLED if settled else None, limit=shown + 1)
    if not found:
        part(
            "empty",
            "No contradiction was settled yet." if settled else "No contradiction waits.",
            "A contradiction comes here when an agent reports that an entry and a rule disagree.",
        )
    # Beside each other: a card takes three reads, and the page would wait for one after the other.
    items = await asyncio.gather(*(_contradicted(context, memory, one) for one in found[:shown]))
    show_items(context, items, changed)
    show_more(context, len(found) > shown)
    with el.row():
        said = "Show contradictions that wait" if settled else "Show settled contradictions"
        other = None if settled else "1"
        part("link", said, at("/queues", queue="contradictions", settled=other))


async def _contradicted(context: PageContext, memory: Memory, one: Contradiction) -> QueueItem:
    """Return the card of a contradiction: the entry beside what it speaks against."""
    entry, history = await memory.get(one.entry_id), await memory.history(one.entry_id)
    story = [link for link in history if link.detail.get("contradiction") == str(one.id)]
    told = {"entry": entry, "story": story, "waits": TRANSITIONS[one.status]}
    row = await _canonical_row(memory, one)
    shown = partial(show, "contradiction.html", one=one, row=row, **told)
    return QueueItem(one.id, titled(entry), _resolutions(context, one, story), shown)


async def _canonical_row(memory: Memory, one: Contradiction) -> Referenced | None:
    """Return the row that is contradicted, as it reads now; None if the entry names no such row."""
    for found in await memory.references(one.entry_id):
        if found.ref.id == one.ref.id and found.text:
            return found
    return None


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
        choices.append(Choice("Take the decision back", undo, "Taken back."))
    return choices


async def _quarantine(context: PageContext, changed: Changed) -> None:
    """Show the sources that were taken out of recall, and the form that takes one out."""
    may = context.may(Capability.ARCHIVE)

    async def release(position: int, memory: Memory, reason: str) -> Receipt:
        return await memory.release(position, reason=reason)

    async def item(memory: Memory, one: QuarantineRecord) -> QueueItem:
        """Return the card of a quarantine, with its first entries as sentences."""
        choice = Choice("Release", partial(release, one.position), "Released.")
        choices = [choice] if one.standing and may else []
        first = [*one.entries[:_SENTENCES], *one.restored[:_SENTENCES], *one.demoted[:_SENTENCES]]
        titles = {each: await sentence_of(memory, each) for each in first}
        shown = partial(show, "quarantine.html", one=one, titles=titles, most=_SENTENCES)
        return QueueItem(one.position, f"position {one.position}", choices, shown)

    async def draw() -> None:
        """Show the quarantines; one that still stands can be released."""
        shown = context.shown(LISTED)
        memory = await context.memory()
        found = await memory.quarantines(limit=shown + 1)
        items = [await item(memory, one) for one in found[:shown]]
        place.clear()
        with place:
            if not found:
                part(
                    "empty",
                    "No source is quarantined.",
                    "If a tool was poisoned or a key leaked, use the form above.",
                )
            show_items(context, items, changed)
            show_more(context, len(found) > shown)

    async def take(event: events.GenericEventArguments) -> None:
        """Quarantine the form's source, then show the list and the lengths anew."""
        if await _take(await context.memory(), event.args):
            ui.run_javascript(f"getHtmlElement({form.id}).reset()")
        await draw()
        await changed()

    if may:
        with el.card("Quarantine a source"):
            el.text(
                "p",
                "Recall then leaves out everything that the source said and everything made of it. "
                "Entries that it had replaced are recalled again. A release undoes all of this.",
                "quiet",
            )
            with el.socket_form(autocomplete="off") as form:
                show("quarantine_form.html", origins=options(Origin, "any"))
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
        session_id=parsed(session, UUID, wrong, "Copy the whole id.") if session else None,
        since=utc(given["since"]) if given["since"] else None,
    )
    if not taken.entries:
        el.tell("No entry comes from this source.", "Nothing was changed; check the form.", "warn")
        return False
    out = "1 entry is" if len(taken.entries) == 1 else f"{len(taken.entries)} entries are"
    back = f"{len(taken.restored)} came back. " if taken.restored else ""
    el.tell(f"{out} out of recall.", f"{back}A release puts everything back.")
    return True


# By the name that each has in addresses, in the order of the tabs.
QUEUES = {
    "disposition": ReviewQueue("Disposition", _disposition),
    "contradictions": ReviewQueue("Contradictions", _contradictions),
    "candidates": ReviewQueue("Candidates", _candidates),
    "quarantine": ReviewQueue("Quarantine", _quarantine),
    "proposals": ReviewQueue("Proposals", proposals.show_queue),
}
