"""An entry: its text, its sources, who read it, its history; and the conversation around it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from nicegui import ui

from idetic.errors import EntryNotFound
from idetic.library.handles import Memory
from idetic.model import Capability, Entry, EntryState, LedgerRecord, Tier
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.correction import Correction, forget_choice
from idetic.surfaces.console.decision_form import DecisionForm, unchanged
from idetic.surfaces.console.drawings import Timeline
from idetic.surfaces.console.lineage import MOST_DRAWN, entry_lineage
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.pages.proposals import proposal_of
from idetic.surfaces.console.wording import as_text

# How many entries near a claim are searched for those about the same.
_RELATED = 50


async def build(context: PageContext) -> None:
    """Build the page; an entry that went with its scope has a history all the same."""
    entry_id = context.path_id(
        "entry_id", "This is not the id of an entry.", "Find the entry in the Explorer."
    )
    memory = await context.memory()
    history = await memory.history(entry_id)
    # A source that was dropped or kept with its scope says what it went into.
    became = next((r.detail["into"] for r in reversed(history) if "into" in r.detail), None)
    try:
        entry = await memory.get(entry_id)
    except EntryNotFound as gone:
        show("entry.html", gone=gone, became=became, history=history)
        return
    (reason,) = await memory.why([entry_id])
    audits = context.may(Capability.AUDIT) and context.whole
    readers = await memory.readers(entry_id) if audits else None
    envelope = {name: value for name, value in entry.envelope.items() if name != "claim"}
    show(
        "entry.html",
        gone=None,
        became=became,
        entry=entry,
        more=as_text(envelope, "Envelope: ") | as_text(entry.provenance, "Provenance: "),
        lanes=Timeline.of(await _related(memory, entry, history), context.now()),
        lineage=await entry_lineage(memory, entry),
        most=MOST_DRAWN,
        references=await memory.references(entry_id) if entry.refs else [],
        corroborations=await memory.corroborations(entry_id),
        corroborated=context.spec.references.corroborations,
        gates=await memory.gates(entry_id) if entry.candidate else None,
        readers=readers,
        history=history,
        sayings=reason.sayings,
        steps=[record for record in history if record.state_from != record.state_to],
        acted=[record for record in history if record.transition == "action_linked"],
        audits=audits,
        proposal_of=proposal_of,
    )
    if entry.state is EntryState.CURRENT and entry.tier is Tier.PERSISTENT:
        with el.card("Correct or forget", cls="item") as card:
            offered = Correction(context, entry, _again, el.text("div")).offered
        if not offered:
            card.delete()
    elif context.may(Capability.ERASE) and entry.deleted_at is None:
        with el.card("Forget", cls="item"):
            said = "This removes the text of the entry and of everything made of it."
            el.text("p", f"{said} Nobody can undo it.", "quiet")
            DecisionForm(context, [forget_choice(entry_id)], "this entry", unchanged)


async def _again() -> None:
    """Load the page anew: an edit left another entry in this one's place."""
    ui.navigate.reload()


async def _related(
    memory: Memory, entry: Entry, history: Sequence[LedgerRecord]
) -> Sequence[Entry]:
    """Return the entry with those that claim something else of the same, before and after it."""
    found = {entry.id: entry}
    if claim := entry.claim:
        near = await memory.recall(
            f"{claim.subject} {claim.attribute}",
            limit=_RELATED,
            include_archived=True,
            include_candidates=True,
        )
        for each in near.entries:
            if each.claim and each.claim.key == claim.key:
                found.setdefault(each.id, each)
    for record in history:
        for name in ("supersedes", "superseded_by", "replaced_by"):
            other = record.detail.get(name)
            if other is not None and UUID(other) not in found:
                found[UUID(other)] = await memory.get(UUID(other))
    return list(found.values())


async def build_conversation(context: PageContext) -> None:
    """Build a conversation again: each turn, beside it what was recalled and what was written."""
    wrong = ("This address names no conversation.", "Choose one from the page of what is known.")
    session_id = context.path_id("session_id", *wrong)
    found = await (await context.memory()).transcript(session_id)
    show("conversation.html", found=found, whose=context.whose)
