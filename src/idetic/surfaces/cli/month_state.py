"""The month's memory, read back as rows: what stands, on what evidence, what became of the rest.

Everything is read through the same handles that anybody has; names replace ids.
"""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from idetic.evidence import ContradictionStatus
from idetic.library.handles import Memory
from idetic.model import Entry, EntryState, LedgerRecord, Typology
from idetic.verbs.arguments import MAX_PAGE
from idetic.world.book import Book

Row = dict[str, str]
State = dict[str, list[Row]]

_SECTIONS = (
    "facts habits candidates replaced archived due contradictions kept dropped written".split()
)


async def read_state(book: Book, memory: Memory) -> State:
    """Everything there is, by what became of it, in the order in which it first stood there."""
    state: State = {section: [] for section in _SECTIONS}
    for what, entry_id in book.standing.items():
        entry, history = await memory.get(entry_id), await memory.history(entry_id)
        section, row = await _standing(book, memory, entry, history)
        state[section].append({"what": what, **row})
    for due in await memory.disposition():
        state["due"].append(
            {
                "what": await book.name(due.entry.id),
                "cause": due.cause.replace("_", " "),
                "since": f"day {book.day_of(due.due_at)}",
            }
        )
    await _contradictions(book, memory, state)
    await _transient(book, memory, state)
    return state


async def _standing(
    book: Book, memory: Memory, entry: Entry, history: list[LedgerRecord]
) -> tuple[str, Row]:
    """Where a persistent entry belongs, and what is to be said about it there."""
    last = {link.transition: link for link in history}
    evidence = await _evidence(book, memory, entry)
    if entry.state in (EntryState.SUPERSEDED, EntryState.INVALIDATED):
        return "replaced", await _replaced(book, entry, last)
    if entry.state is EntryState.ARCHIVED:
        link = last["archived"]
        return "archived", {"on": f"day {book.day_of(link.at)}", "because": link.reason}
    if entry.candidate:
        began = f"day {book.day_of(entry.created_at)}"
        missing = last["held"].reason
        says = {"says": entry.body_text}
        return "candidates", says | {"since": began, "evidence": evidence, "missing": missing}
    since = last.get("promoted") or last["preferred"]
    row = {
        "says": entry.body_text,
        "since": f"day {book.day_of(since.at)}",
        "evidence": evidence,
    }
    if entry.typology is Typology.PROCEDURAL:
        return "habits", row
    marks = [name for name, at in (("meta", entry.meta_at), ("exempt", entry.exempt_at)) if at]
    return "facts", row | {"marks": " ".join(marks)}


async def _evidence(book: Book, memory: Memory, entry: Entry) -> str:
    """Who says so: what counts, then what does not, in brackets."""
    found = [one for one in await memory.corroborations(entry.id) if one.withdrawn_at is None]
    if not found:
        return "stated by the operator"
    voices = [
        book.voice(one) if one.source_type.independent else f"({book.voice(one)})" for one in found
    ]
    return " ".join(voices)


async def _replaced(book: Book, entry: Entry, last: dict[str, LedgerRecord]) -> Row:
    """What took an entry's place, and from when to when it held itself."""
    how = entry.state.value
    other = entry.superseded_by or UUID(last["invalidated"].detail["replaced_by"])
    began = last.get("promoted") or last["preferred"]
    return {
        "how": how,
        "by": await book.name(other),
        "stood": f"day {book.day_of(began.at)} to {book.day_of(last[how].at)}",
    }


async def _contradictions(book: Book, memory: Memory, state: State) -> None:
    for row in await memory.contradictions(status=list(ContradictionStatus)):
        state["contradictions"].append(
            {
                "what": await book.name(row.entry_id),
                "status": row.status.replace("_", " "),
                "notes": row.resolution_notes or "",
            }
        )


async def _transient(book: Book, memory: Memory, state: State) -> None:
    """What outlived its scope and why, what was dropped without a trace, and how much in all."""
    there = {entry.id: entry for entry in await memory.list(limit=MAX_PAGE)}
    gone: Counter[str] = Counter()
    for entry_id in book.observed:
        if entry_id in there:
            state["kept"].append(await _kept(book, memory, there[entry_id]))
            continue
        if entry_id not in book.went:
            book.went[entry_id] = await _into(book, memory, entry_id)
        if book.went[entry_id] is None:
            gone[book.names[entry_id]] += 1
    for what, times in sorted(gone.items()):
        refused = (what, "promotion_refused") in book.decided
        why = "refused by the promotion gate" if refused else "no claim, no rule, one thread"
        state["dropped"].append({"what": what, "times": str(times), "because": why})
    carried = len(book.observed) - gone.total() - len(state["kept"])
    counts = {"notes": len(book.observed), "into memory": carried, "dropped": gone.total()}
    state["written"] = [{name: str(count) for name, count in counts.items()}]


async def _kept(book: Book, memory: Memory, entry: Entry) -> Row:
    links = {link.transition for link in await memory.history(entry.id)}
    why = "an action rests on it" if "action_linked" in links else "it contradicts a rule"
    return {"what": book.names[entry.id], "tier": entry.tier.value, "because": why}


async def _into(book: Book, memory: Memory, entry_id: UUID) -> UUID | None:
    """The persistent entry that an observation went into, through its session, if any."""
    standing = set(book.standing.values())
    last = (await memory.history(entry_id))[-1]
    while last.transition == "dropped" and "into" in last.detail:
        into = UUID(last.detail["into"])
        if into in standing:
            return into
        last = (await memory.history(into))[-1]
    return None
