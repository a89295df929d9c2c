"""An entry: its text, its sources, what supports it, who read it, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from idetic.errors import EntryNotFound
from idetic.evidence import Corroboration, GateResult, Referenced
from idetic.library.handles import Memory
from idetic.model import Capability, Entry, EntryState, LedgerRecord
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.drawings import begins, ends, timeline
from idetic.surfaces.console.lineage import entry_lineage
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import KIND_OF_STATE, as_text, marks, tail, words

# How many entries near a claim are searched for those about the same.
_RELATED = 50


async def build(context: PageContext) -> None:
    """Build the page; an entry that went with its scope has a history all the same."""
    entry_id = context.path_id(
        "entry_id", "This is not the id of an entry.", "Find the entry in the Explorer."
    )
    memory = await context.memory()
    history = await memory.history(entry_id)
    try:
        entry = await memory.get(entry_id)
    except EntryNotFound as gone:
        el.notice(gone.message, gone.remedy, "warn")
        if into := history[-1].detail.get("into"):
            el.link("What it became", at(f"/entries/{into}"), "button")
        _history(history)
        return
    _content(entry)
    with el.card("Validity and supersession"):
        timeline(await _related(memory, entry, history), context.now())
    with el.card("Lineage"):
        await entry_lineage(memory, entry)
    if entry.refs:
        _references(await memory.references(entry.id))
    _corroborations(await memory.corroborations(entry_id))
    with el.text("div", cls="columns"):
        if entry.candidate:
            _gates(await memory.gates(entry_id))
        if context.may(Capability.AUDIT):
            await _readers(memory, entry_id)
    _history(history)


def _content(entry: Entry) -> None:
    """Show the text of an entry and everything that is stored with it."""
    with el.card():
        el.note(entry.body_text, "large")
        with el.row():
            if entry.state is EntryState.CURRENT and not entry.candidate:
                el.badge("current", "good")
            marks(entry)
        about: dict[str, el.Cell] = {
            "Source": f"{words(entry.origin)}, trust {entry.trust} of 100",
            "Written by": entry.created_by,
            "Written": entry.created_at,
            "Holds from": begins(entry),
            "Held until": partial(el.moment, ends(entry), "still holds"),
            "Spec version": str(entry.spec_version),
        }
        if claim := entry.claim:
            about["Claims"] = f"{claim.subject} · {claim.attribute}: {claim.value}"
        if (other := entry.superseded_by) is not None:
            about["Superseded by"] = partial(el.link, tail(other), at(f"/entries/{other}"))
        envelope = {name: value for name, value in entry.envelope.items() if name != "claim"}
        about |= as_text(envelope, "Envelope: ") | as_text(entry.provenance, "Provenance: ")
        about["Id"] = partial(el.text, "code", entry.id)
        el.facts(about)


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


def _references(found: Sequence[Referenced]) -> None:
    """Show each reference beside the canonical content that it points at."""
    with el.card("References, beside the canonical content"):
        for each in found:
            with el.text("div", cls="beside"):
                with el.text("div"):
                    el.text("strong", f"{words(each.ref.noun)} {tail(each.ref.id)}")
                    el.text("p", f"It meant version {each.ref.version or 'unknown'}.", "small")
                    if each.version_now is None:
                        el.badge("no version known")
                    elif each.changed:
                        el.badge(f"changed: version {each.version_now} holds now", "warn")
                    else:
                        el.badge("unchanged since", "good")
                with el.text("div"):
                    if each.text is None:
                        el.text("p", "The canonical row is gone.", "quiet")
                    else:
                        el.note(each.text)
                    if each.strength:
                        el.text("p", f"Its source is {words(each.strength)}.", "small quiet")


def _corroborations(found: Sequence[Corroboration]) -> None:
    """Show the sources that support the entry; withdrawn ones are marked."""
    rows = []
    for each in found:
        withdrawn = " (withdrawn)" if each.withdrawn_at else ""
        source = f"{words(each.source_type)} {tail(each.source_ref)}{withdrawn}"
        rows.append((each.at, source, each.by, each.notes or "-"))
    el.table_card(
        "Corroborations",
        ("When", "Source", "By", "Notes"),
        rows,
        "What supports this entry",
        "Nothing supports it yet.",
        "A source that confirms it is shown here.",
    )


def _gates(found: Sequence[GateResult]) -> None:
    """Show what each promotion gate needs, what it has, and whether it passes."""
    rows = []
    for gate in found:
        said = f"{'passes' if gate.passed else 'waits'}: {gate.have:g} of {gate.need:g}"
        badge = partial(el.badge, said, "good" if gate.passed else "warn")
        rows.append((words(gate.gate), badge, gate.why))
    head, caption = ("Gate", "Says", "Why"), "What the promotion gates say now"
    el.table_card("Promotion gates", head, rows, caption)


async def _readers(memory: Memory, entry_id: UUID) -> None:
    """Show who was shown the entry, when, and in which session."""
    found = await memory.readers(entry_id)
    el.table_card(
        "Who read it",
        ("When", "Who", "Session"),
        [(each.at, each.by, tail(each.session_id)) for each in found],
        "Who was shown this entry",
        "Nobody was shown it yet.",
        "A prompt or an answer with it is noted here.",
    )


def _history(history: Sequence[LedgerRecord]) -> None:
    """Show the entry's transitions as the ledger has them."""
    rows = []
    for each in history:
        who, what = f"{each.actor_kind}:{each.actor}", partial(_transition, each)
        rows.append((str(each.position), each.at, what, who, each.reason))
    head, caption = ("Position", "When", "What", "Who", "Why"), "Every transition of this entry"
    el.table_card("History", head, rows, f"{caption}, oldest first")


def _transition(record: LedgerRecord) -> None:
    """Show the name of a transition, and the states if they differ."""
    with el.row():
        el.text("strong", words(record.transition))
        if record.state_from != record.state_to:
            states = [words(state) for state in (record.state_from, record.state_to) if state]
            kinds = {state.value: kind for state, kind in KIND_OF_STATE.items()}
            el.badge(" → ".join(states), kinds.get(record.state_to or "", ""))
