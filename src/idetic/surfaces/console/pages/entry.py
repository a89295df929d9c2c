"""An entry: what it says, what it was made of, what supports it, and everything that befell it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from starlette.requests import Request

from idetic.errors import EntryNotFound, InputError
from idetic.evidence import Corroboration, GateResult, Referenced
from idetic.library.handles import Memory
from idetic.model import Capability, Entry, EntryState, LedgerRecord
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.entries import marks
from idetic.surfaces.console.lineage import lineage
from idetic.surfaces.console.timeline import begins, ends, timeline
from idetic.surfaces.console.wording import KIND_OF_STATE, as_text, tail, words

# How many entries near a claim are looked at for those about the same.
RELATED = 50


async def build(desk: Desk, request: Request) -> None:
    """The page."""
    entry_id = _id(request.path_params["entry_id"])
    memory = await desk.memory()
    history = await memory.history(entry_id)
    try:
        entry = await memory.get(entry_id)
    except EntryNotFound as gone:
        _gone(gone, history)
        return
    _said(entry)
    await _timeline(memory, entry, history)
    with parts.card("Lineage"):
        await lineage(memory, entry)
    await _references(memory, entry)
    _corroborations(await memory.corroborations(entry_id))
    with parts.text("div", cls="columns"):
        if entry.candidate:
            _gates(await memory.gates(entry_id))
        if desk.may(Capability.AUDIT):
            await _readers(memory, entry_id)
    _history(history)


def _id(given: str) -> UUID:
    try:
        return UUID(given)
    except ValueError:
        raise InputError(
            "This is not the id of an entry.", remedy="Find the entry in the Explorer."
        ) from None


def _gone(gone: EntryNotFound, history: Sequence[LedgerRecord]) -> None:
    """An entry that went with its scope has a history all the same."""
    parts.notice(gone.message, gone.remedy, "warn")
    into = history[-1].detail.get("into")
    if into:
        parts.link("What it became", at(f"/entries/{into}"), "button")
    _history(history)


def _said(entry: Entry) -> None:
    with parts.card():
        parts.note(entry.body_text, "large")
        with parts.row():
            if entry.state is EntryState.CURRENT and not entry.candidate:
                parts.badge("current", "good")
            marks(entry)
        about: dict[str, parts.Cell] = {
            "Source": f"{words(entry.origin)}, trust {entry.trust} of 100",
            "Written by": entry.created_by,
            "Written": lambda: parts.moment(entry.created_at),
            "Holds from": lambda: parts.moment(begins(entry)),
            "Held until": lambda: parts.moment(ends(entry), "still holds"),
            "Spec version": str(entry.spec_version),
        }
        if entry.claim is not None:
            claim = entry.claim
            about["Claims"] = f"{claim.subject} · {claim.attribute}: {claim.value}"
        if entry.superseded_by is not None:
            follower = at(f"/entries/{entry.superseded_by}")
            about["Superseded by"] = lambda: parts.link(tail(entry.superseded_by), follower)
        envelope = {name: value for name, value in entry.envelope.items() if name != "claim"}
        about |= {f"Envelope: {name}": value for name, value in as_text(envelope).items()}
        about |= {f"Provenance: {name}": value for name, value in as_text(entry.provenance).items()}
        about["Id"] = lambda: parts.text("code", entry.id)
        parts.facts(about)


async def _timeline(memory: Memory, entry: Entry, history: Sequence[LedgerRecord]) -> None:
    """The entry among those that say the same thing otherwise, before it and after it."""
    with parts.card("Validity and supersession"):
        found = {each.id: each for each in await _about_the_same(memory, entry)}
        for record in history:
            for link in ("supersedes", "superseded_by", "replaced_by"):
                other = record.detail.get(link)
                if other is not None and UUID(other) not in found:
                    found[UUID(other)] = await memory.get(UUID(other))
        timeline(list(found.values()), memory.agent.engine.clock.now())


async def _about_the_same(memory: Memory, entry: Entry) -> list[Entry]:
    """Entries whose claim is about what this one's is; the one alone if it claims nothing."""
    claim = entry.claim
    if claim is None:
        return [entry]
    near = await memory.recall(
        f"{claim.subject} {claim.attribute}",
        limit=RELATED,
        include_archived=True,
        include_candidates=True,
    )
    same = [each for each in near.entries if each.claim and each.claim.key == claim.key]
    return [entry, *(each for each in same if each.id != entry.id)]


async def _references(memory: Memory, entry: Entry) -> None:
    """Each reference beside the canonical content that it points at."""
    if not entry.refs:
        return
    with parts.card("References, beside the canonical content"):
        for each in await memory.references(entry.id):
            with parts.text("div", cls="beside"):
                with parts.text("div"):
                    parts.text("strong", f"{words(each.ref.noun)} {tail(each.ref.id)}")
                    parts.text("p", f"It meant version {each.ref.version or 'unknown'}.", "small")
                    parts.badge(*_freshness(each))
                with parts.text("div"):
                    if each.text is None:
                        parts.text("p", "The canonical row is gone.", "quiet")
                    else:
                        parts.note(each.text)
                    if each.strength:
                        parts.text("p", f"Its source is {words(each.strength)}.", "small quiet")


def _freshness(each: Referenced) -> tuple[str, str]:
    if each.version_now is None:
        return "no version known", ""
    if each.changed:
        return f"changed: version {each.version_now} holds now", "warn"
    return "unchanged since", "good"


def _corroborations(found: Sequence[Corroboration]) -> None:
    with parts.card("Corroborations"):
        if not found:
            parts.empty("Nothing supports it yet.", "A source that confirms it is shown here.")
            return
        parts.table(
            ("When", "Source", "By", "Notes"),
            [_corroboration(each) for each in found],
            caption="What supports this entry",
        )


def _corroboration(each: Corroboration) -> Sequence[parts.Cell]:
    withdrawn = " (withdrawn)" if each.withdrawn_at else ""
    return (
        lambda: parts.moment(each.at),
        f"{words(each.source_type)} {tail(each.source_ref)}{withdrawn}",
        each.by,
        each.notes or "-",
    )


def _gates(found: Sequence[GateResult]) -> None:
    with parts.card("Promotion gates"):
        parts.table(
            ("Gate", "Says", "Why"),
            [(words(gate.gate), _verdict(gate), gate.why) for gate in found],
            caption="What the promotion gates say now",
        )


def _verdict(gate: GateResult) -> parts.Cell:
    said = f"{'passes' if gate.passed else 'waits'}: {gate.have:g} of {gate.need:g}"
    return lambda: parts.badge(said, "good" if gate.passed else "warn")


async def _readers(memory: Memory, entry_id: UUID) -> None:
    """Who was shown it."""
    found = await memory.readers(entry_id)
    with parts.card("Who read it"):
        if not found:
            parts.empty("Nobody was shown it yet.", "A prompt or an answer with it is noted here.")
            return
        parts.table(
            ("When", "Who", "Session"),
            [(_when(each.at), each.by, tail(each.session_id)) for each in found],
            caption="Who was shown this entry",
        )


def _when(moment: datetime) -> parts.Cell:
    return lambda: parts.moment(moment)


def _history(history: Sequence[LedgerRecord]) -> None:
    with parts.card("History"):
        parts.table(
            ("Position", "When", "What", "Who", "Why"),
            [_record(each) for each in history],
            caption="Every transition of this entry, oldest first",
        )


def _record(each: LedgerRecord) -> Sequence[parts.Cell]:
    def what() -> None:
        with parts.row():
            parts.text("strong", words(each.transition))
            if each.state_from != each.state_to:
                states = [words(state) for state in (each.state_from, each.state_to) if state]
                parts.badge(" → ".join(states), _kind(each.state_to))

    return (
        str(each.position),
        lambda: parts.moment(each.at),
        what,
        f"{each.actor_kind}:{each.actor}",
        each.reason,
    )


def _kind(state: str | None) -> str:
    kinds = {each.value: kind for each, kind in KIND_OF_STATE.items()}
    return kinds.get(state or "", "")
