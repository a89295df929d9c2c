"""Where memory is governed in a story: actions, questions, a quarantine, an erasure, upkeep."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from uuid import UUID, uuid5

from idetic.world import script
from idetic.world.book import Book, Line
from idetic.world.cast import Cast
from idetic.world.story import Story

Happened = tuple[str, list[Line]]


class Governing:
    """Makes events happen that reach beyond single entries."""

    def __init__(self, story: Story, cast: Cast, book: Book) -> None:
        self._story = story
        self._cast = cast
        self._book = book

    async def happen(self, event: Any) -> Happened:
        """One event; its title and what was decided."""
        ways: dict[type, Callable[[Any], Awaitable[Happened]]] = {
            script.Act: self._act,
            script.Ask: self._ask,
            script.Quarantine: self._quarantine,
            script.Erase: self._erase,
            script.Tombstone: self._tombstone,
            script.Upkeep: self._upkeep,
        }
        return await ways[type(event)](event)

    async def _act(self, event: script.Act) -> Happened:
        action_id = action_of(self._cast.setting.domain_id, event.name)
        rests_on = [self._book.standing[what] for what in event.what]
        await self._cast.operator.link_action(action_id, event.kind, rests_on, reason=event.why)
        self._book.actions[event.name] = action_id
        lines = [Line(what, "action_linked", event.why) for what in event.what]
        return f"{self._cast.setting.operator} decides: {event.name}", lines

    async def _ask(self, event: script.Ask) -> Happened:
        asker = self._cast.customer if event.customer else self._cast.operator
        answered = await asker.ask(self._story.questions[event.question])
        self._book.counts["questions"] += 1
        self._book.counts["answered"] += answered.known
        said = f"{len(answered.evidence)} entries" if answered.known else "I don't know."
        who = self._cast.setting.customer if event.customer else self._cast.setting.operator
        return f"{who} asks {event.question}: {said}", []

    async def _quarantine(self, event: script.Quarantine) -> Happened:
        source = self._cast.agent(event.by).scope.principal
        done = await self._cast.operator.quarantine(created_by=source, reason=event.why)
        self._book.counts["quarantined"] += len(done.entries)
        self._book.counts["withdrawn"] += len(done.withdrawn)
        lines = await self._lines("quarantined", done.entries, event.why)
        lines += await self._lines("demoted", done.demoted, event.why)
        return f"{self._cast.setting.operator} quarantines {event.by}", lines

    async def _erase(self, event: script.Erase) -> Happened:
        done = await self._cast.operator.erase(event.subject, reason=event.why)
        self._book.emptied.update(done.entries)
        # Not whom: a name that is told here would be in the terminal for good.
        title = f"{self._cast.setting.operator} erases a person: {event.why}"
        return title, await self._lines("erased", done.entries, event.why)

    async def _tombstone(self, event: script.Tombstone) -> Happened:
        entry_id = self._book.standing[event.what]
        receipt = await self._cast.operator.tombstone(entry_id, reason=event.why)
        return f"{self._cast.setting.operator} deletes {event.what}", await self._book.about(
            [receipt]
        )

    async def _upkeep(self, _event: script.Upkeep) -> Happened:
        keeper = self._cast.keeper
        promoted = await keeper.promote()
        merged = await keeper.consolidate()
        await keeper.mark_due()
        decided = (one.receipt for one in (*promoted, *merged.decided))
        lines = await self._book.about(decided)
        return "The worker's night round", lines

    async def _lines(self, did: str, entries: Iterable[UUID], why: str) -> list[Line]:
        return [Line(await self._book.name(entry_id), did, why) for entry_id in entries]


def action_of(domain_id: UUID, name: str) -> UUID:
    """The id of an action of a story, which follows from its name."""
    return uuid5(domain_id, f"action/{name}")
