"""One performance of a story: who is who in it, and what has happened so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from idetic.errors import IdeticError
from idetic.evidence import Closed
from idetic.model import Receipt
from idetic.world.stage import Cast, Rulebook, StoryClock
from idetic.world.story import Scene, SceneLine, Sections, Story, StoryEvent

# What only carries statements from tier to tier.
_QUIET = ("compounded", "recurred", "corroborated", "proposed", "dropped", "kept")


@dataclass
class Performance:
    """The names and decisions of one performance. Ids differ from one to the next; names do not.

    `observed` are the entries of threads and sessions, `standing` those of persistent memory by
    name, `decided` the last receipt of each kind of decision about a name, `went` what dropped
    entries went into, `actions` the ids of actions by name, `emptied` what was erased, `counts`
    what was done how often, `looks` what each look at memory found, `event` what happens now.
    """

    story: Story
    cast: Cast
    rules: Rulebook
    clock: StoryClock
    names: dict[UUID, str] = field(default_factory=dict)
    voices: dict[UUID, str] = field(default_factory=dict)
    observed: list[UUID] = field(default_factory=list)
    standing: dict[str, UUID] = field(default_factory=dict)
    decided: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    went: dict[UUID, UUID | None] = field(default_factory=dict)
    actions: dict[str, UUID] = field(default_factory=dict)
    emptied: set[UUID] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    looks: dict[str, Sections] = field(default_factory=dict)
    event: StoryEvent = field(init=False)

    @property
    def day(self) -> int:
        """The day of the event that happens now."""
        return self.event.day

    @property
    def explains(self) -> bool:
        """Whether the story explains the event that happens now, so that it is shown in full."""
        return bool(self.event.about)

    def scene(
        self, title: str, lines: Iterable[SceneLine] = (), sections: Sections | None = None
    ) -> Scene:
        """What the event that happens now came to."""
        now = self.event
        named = now.heading or title
        return Scene(now.kind, now.day, named, now.about, tuple(lines), sections or {})

    def saw(self, receipt: Receipt, what: str) -> UUID:
        """Name the entry that an observation made."""
        if receipt.entry_id is None:
            raise IdeticError("A write that was accepted names no entry.")
        if receipt.entry_id not in self.names:
            self.observed.append(receipt.entry_id)
        self.names[receipt.entry_id] = what
        return receipt.entry_id

    def named(self, source: UUID | None, name: str) -> None:
        """Name a session, a thread or another source."""
        if source is not None:
            self.voices[source] = name

    def action(self, name: str) -> UUID:
        """Name an action, and give it its id."""
        return self.actions.setdefault(name, self.cast.setting.action_id(name))

    async def name(self, entry_id: UUID, detail: Mapping[str, Any] | None = None) -> str:
        """What the story calls an entry: the name of what it was made of.

        `detail` is what a receipt about it says, which may spare a question.
        """
        if entry_id not in self.names:
            made = detail or {}
            if "sources" not in made:
                # The history, and not the lineage: it also tells of what is gone.
                made = (await self.cast.explorer.history(entry_id))[0].detail
            sources = map(UUID, made["sources"])
            self.names[entry_id] = next(self.names[s] for s in sources if s in self.names)
        return self.names[entry_id]

    async def close(self, closed: Closed) -> list[SceneLine]:
        """What a close decided about persistent memory, and the names of what it made."""
        lines: list[SceneLine] = []
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
                lines.append(SceneLine(what, did, _why(did, one.receipt.reason, gates)))
        return lines

    async def since(self, entry_id: UUID, position: int) -> list[SceneLine]:
        """What became of an entry from a position of its chain on."""
        what = await self.name(entry_id)
        history = await self.cast.explorer.history(entry_id)
        return [
            SceneLine(
                what,
                link.transition,
                _why(link.transition, link.reason, link.detail.get("gates", ())),
            )
            for link in history
            if link.position >= position
        ]

    async def about(self, receipts: Iterable[Receipt]) -> list[SceneLine]:
        """The decision that each receipt stands for."""
        lines: list[SceneLine] = []
        for receipt in receipts:
            if receipt.entry_id is not None:
                lines += (await self.since(receipt.entry_id, receipt.position))[:1]
        return lines

    async def lines(self, did: str, entries: Iterable[UUID], why: str) -> list[SceneLine]:
        """The same decision about several entries."""
        return [SceneLine(await self.name(entry_id), did, why) for entry_id in entries]


def _why(transition: str, reason: str, gates: Sequence[Mapping[str, Any]]) -> str:
    """A reason; a promotion also says what its gates counted."""
    counted = [gate["why"] for gate in gates if gate["need"]] if transition == "promoted" else []
    return "; ".join([reason, *counted[1:]])
