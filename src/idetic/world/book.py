"""Who is who in a story: entries, threads and sources by the names that its script gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.errors import IdeticError
from idetic.evidence import Closed, Corroboration
from idetic.library.handles import Memory
from idetic.model import LedgerRecord, Receipt

# What only carries statements from tier to tier.
_QUIET = ("compounded", "recurred", "corroborated", "proposed", "dropped")


@dataclass(frozen=True)
class Line:
    """One decision: about what, which, and why."""

    what: str
    did: str
    why: str


@dataclass
class Book:
    """The names of one run. Ids differ from run to run; names do not.

    `observed` are the entries of threads and sessions, `standing` those of persistent memory by
    name, `decided` the last receipt of each kind of decision about a name, `went` what dropped
    entries went into, `actions` the ids of actions by name, `emptied` what was erased, `counts`
    what was done how often.
    """

    memory: Memory
    day_of: Callable[[datetime], int]
    names: dict[UUID, str] = field(default_factory=dict)
    voices: dict[UUID, str] = field(default_factory=dict)
    observed: list[UUID] = field(default_factory=list)
    standing: dict[str, UUID] = field(default_factory=dict)
    decided: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    went: dict[UUID, UUID | None] = field(default_factory=dict)
    actions: dict[str, UUID] = field(default_factory=dict)
    emptied: set[UUID] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def saw(self, receipt: Receipt, what: str) -> UUID:
        """An entry that was observed or stated under a name."""
        if receipt.entry_id is None:
            raise IdeticError("A write that was accepted names no entry.")
        if receipt.entry_id not in self.names:
            self.observed.append(receipt.entry_id)
        self.names[receipt.entry_id] = what
        return receipt.entry_id

    async def name(self, entry_id: UUID, told: Mapping[str, Any] | None = None) -> str:
        """What the script calls an entry: the name of what it was made of.

        `told` is what a receipt about it says, which may spare a question.
        """
        if entry_id not in self.names:
            made = told or {}
            if "sources" not in made:
                # The history, and not the lineage: it also tells of what is gone.
                made = (await self.memory.history(entry_id))[0].detail
            sources = map(UUID, made["sources"])
            self.names[entry_id] = next(self.names[s] for s in sources if s in self.names)
        return self.names[entry_id]

    def voice(self, one: Corroboration) -> str:
        """What the script calls a source; an operator's word in a review has no other name."""
        return self.voices.get(one.source_ref, "operator")

    async def close(self, closed: Closed) -> list[Line]:
        """What a close decided about persistent memory, and the names of what it made."""
        lines: list[Line] = []
        new = set(closed.entries("proposed"))
        weighed = new.union(*map(closed.entries, ("held", "promoted", "meta_promoted")))
        for one in closed.decided:
            if one.entry_id is None:
                continue
            what, did = await self.name(one.entry_id, one.receipt.detail), one.transition
            self.decided[what, did] = one.receipt
            if did == "proposed":
                self.standing[what] = one.entry_id
            elif did == "held" and one.entry_id in new:
                did = "candidate"
            elif did == "corroborated" and one.entry_id not in weighed:
                did = "confirmed"
            if did not in _QUIET:
                gates = [gate.as_data() for gate in one.gates]
                lines.append(Line(what, did, _why(did, one.receipt.reason, gates)))
        return lines

    async def since(self, entry_id: UUID, position: int) -> list[Line]:
        """What became of an entry from a position of its chain on."""
        what, history = await self.name(entry_id), await self.memory.history(entry_id)
        return [told(what, link) for link in history if link.position >= position]

    async def about(self, receipts: Iterable[Receipt]) -> list[Line]:
        """The last word about each entry that some receipts are about."""
        lines: list[Line] = []
        for receipt in receipts:
            if receipt.entry_id is not None:
                lines += (await self.since(receipt.entry_id, receipt.position))[:1]
        return lines


def told(what: str, link: LedgerRecord) -> Line:
    """A link of a chain as a line."""
    why = _why(link.transition, link.reason, link.detail.get("gates", ()))
    return Line(what, link.transition, why)


def _why(transition: str, reason: str, gates: Sequence[Mapping[str, Any]]) -> str:
    """A promotion is told by what its gates counted."""
    counted = [gate["why"] for gate in gates if gate["need"]] if transition == "promoted" else []
    return "; ".join([reason, *counted[1:]])
