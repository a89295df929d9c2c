"""`why`: from what memory says to the words it rests on, who said them, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import EntryNotFound, InputError
from idetic.model import Capability, Entry, LedgerRecord, Origin, standing
from idetic.recall.evidence import visible
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.entries import record
from idetic.verbs.declaration import McpTool, post, verb

MAX_ASKED = 50
_QUOTED = 300


@dataclass(frozen=True, slots=True)
class Testimony:
    """Words that an entry rests on: the text, the speaker and the time.

    `text` is None if the words were erased, or dropped with their scope.
    """

    entry_id: UUID
    said_at: datetime
    said_by: str
    text: str | None = field(repr=False)
    conversation: UUID | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why memory says something: the entry, the words it rests on, and its history."""

    entry: Entry
    sayings: tuple[Testimony, ...]
    history: tuple[LedgerRecord, ...]

    def __str__(self) -> str:
        """The reason for a reader in a terminal."""
        return "\n".join(_lines(self))


class WhyAnswer(tuple[Reason, ...]):
    """Several reasons; printed, one below the other."""

    __slots__ = ()

    def __str__(self) -> str:
        """The reasons for a reader in a terminal."""
        return "\n".join(map(str, self)) or "Nothing that memory holds answers this."


@verb(
    capability=Capability.READ,
    http=post("/why", "asking"),
    tool=McpTool(
        "Say why memory says something",
        "The words an entry rests on, who said them and when, and what became of them since.",
    ),
    examples=("idetic why ENTRY_ID {scope}",),
    describes={"entries": "The ids of entries: of a fact, of hits, or of the entries in a prompt."},
)
async def why(binding: Binding, entries: Sequence[UUID]) -> list[Reason]:
    """Show what entries rest on: the words, who said them and when, and later decisions."""
    ids = list(dict.fromkeys(entries))
    if not 0 < len(ids) <= MAX_ASKED:
        raise InputError(f"`why` explains 1 to {MAX_ASKED} entries at once.")
    async with binding.look() as tx:
        found = {one.id: one.entry for one in await tx.stored(ids)}
        if missing := [one for one in ids if one not in found]:
            raise EntryNotFound(f"There is no entry {missing[0]} here.")
        sayings = await _sayings(tx, [found[one] for one in ids])
    return [
        Reason(found[one], tuple(sayings[one]), tuple(await _history(binding, one))) for one in ids
    ]


async def _sayings(tx: AnchorTransaction, entries: Iterable[Entry]) -> dict[UUID, list[Testimony]]:
    """The words behind each entry, down to those that were made of nothing else; oldest first."""
    behind: dict[UUID, list[Testimony]] = {}
    for entry in entries:
        roots: dict[UUID, Testimony] = {}
        seen, left = set(), [entry.id]
        while left:
            lineage = await tx.lineage(left)
            seen |= set(left)
            sources = [one for of in left for one in lineage.get(of, ())]
            held = {one.id: one.entry for one in await tx.stored({o.source_id for o in sources})}
            made = await tx.lineage([one.source_id for one in sources])
            for one in (one for one in sources if not made.get(one.source_id)):
                gone = (one.observed_at, one.origin.value, one.session_id)
                roots[one.source_id] = _saying(held.get(one.source_id), one.source_id, *gone)
            left = [one for one in made if one not in seen]
        own = _saying(entry, entry.id, entry.created_at, entry.origin.value, entry.session_id)
        found = list(roots.values()) or [own]
        behind[entry.id] = sorted(found, key=lambda one: one.said_at)
    return behind


def _saying(
    entry: Entry | None, entry_id: UUID, at: datetime, origin: str, session_id: UUID | None
) -> Testimony:
    """One source; of an entry that is gone, what its lineage still knows."""
    if entry is None or entry.deleted_at:
        return Testimony(entry_id, at, origin, None, session_id)
    said_at = entry.valid_at or entry.created_at
    known = entry.origin in (Origin.AGENT, Origin.OPERATOR)
    by = entry.speaker or (entry.created_by if known else entry.origin.value)
    return Testimony(entry.id, said_at, by, entry.body_text, entry.session_id)


async def _history(binding: Binding, entry_id: UUID) -> list[LedgerRecord]:
    """What happened to an entry, oldest first."""
    rows = await binding.engine.entries.rows(binding.scope, "history", memory_id=entry_id)
    return [record(row) for row in rows]


def _lines(reason: Reason) -> Iterator[str]:
    """A reason, line by line."""
    entry = reason.entry
    yield f"{_short(entry.body_text)}  ({standing(entry)}, trust {entry.trust})"
    if entry.valid_at:
        until = f" until {_day(entry.invalid_at)}" if entry.invalid_at else ""
        yield f"  holds since {_day(entry.valid_at)}{until}"
    yield "  because:"
    for one in reason.sayings:
        words = "(erased since)" if one.text is None else f"“{_short(one.text)}”"
        yield f"    {_day(one.said_at)}  {visible(one.said_by)}: {words}"
    yield "  since then:"
    for link in reason.history:
        yield f"    {_day(link.at)}  {link.transition}: {visible(link.reason)}"


def _short(text: str) -> str:
    """The beginning of a text on one line, with nothing in it that hides."""
    line = " ".join(visible(text).split())
    return line if len(line) <= _QUOTED else line[: _QUOTED - 1] + "…"


def _day(moment: datetime) -> str:
    """A moment to the minute, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
