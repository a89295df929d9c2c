"""What happens between the sessions of a story: people decide, rules change, time passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from idetic.evidence import ContradictionStatus, SourceType
from idetic.ids import uuid7
from idetic.world import script
from idetic.world.book import Book, Line
from idetic.world.cast import Cast
from idetic.world.clock import StoryClock
from idetic.world.governing import Governing, Happened
from idetic.world.rulebook import Rulebook
from idetic.world.story import Story


class Events:
    """Makes events happen; each gives its title and what was decided."""

    def __init__(self, story: Story, cast: Cast, rules: Rulebook, clock: StoryClock) -> None:
        self.story = story
        self.cast = cast
        self.rules = rules
        self.book = Book(cast.explorer, clock.day_of)
        self._sources: dict[str, UUID] = {}
        self._governing = Governing(story, cast, self.book)

    async def happen(self, event: Any) -> Happened:
        """One event of any kind but a session."""
        ways: dict[type, Callable[[Any], Awaitable[Happened]]] = {
            script.Confirm: self._confirm,
            script.Prefer: self._prefer,
            script.Publish: self._publish,
            script.Contradict: self._contradict,
            script.Resolve: self._resolve,
            script.Recover: self._recover,
            script.Undo: self._undo,
            script.Archive: self._archive,
            script.Review: self._review,
        }
        way = ways.get(type(event))
        return await (way(event) if way else self._governing.happen(event))

    async def dispute(self, entry_id: UUID, told: script.Dispute) -> None:
        """An entry speaks against a rule."""
        await self.cast.explorer.contradict(entry_id, self.rules.ref(told.rule), reason=told.why)

    async def _confirm(self, event: script.Confirm) -> Happened:
        entry_id = self.book.standing[event.what]
        inferred = event.kind is SourceType.AGENT_INFERENCE
        memory = self.cast.explorer if inferred else self.cast.operator
        source = self._source(event.source)
        lines: list[Line] = []
        for _ in range(event.times):
            receipt = await memory.corroborate(
                entry_id,
                event.kind,
                source,
                holds=event.holds,
                provenance={"world_model_version": script.model_version(event.day)},
            )
            lines += await self.book.since(entry_id, receipt.position)
        verb = "confirms" if event.holds else "does not confirm"
        return f"{event.source} ({event.kind.replace('_', ' ')}) {verb} {event.what}", lines

    def _source(self, name: str) -> UUID:
        source = self._sources.setdefault(name, uuid7())
        self.book.voices[source] = name
        return source

    async def _prefer(self, event: script.Prefer) -> Happened:
        saying = self.story.sayings[event.what]
        receipt = await self.cast.operator.prefer(
            saying.says, claim=saying.claim, envelope=saying.envelope
        )
        if receipt.entry_id is not None:
            self.book.names[receipt.entry_id] = event.what
            self.book.standing[event.what] = receipt.entry_id
        lines = await self.book.about([receipt])
        if receipt.superseded is not None:
            lines += (await self.book.since(receipt.superseded, 1))[-1:]
        return f"{self.cast.setting.operator} states how things are done", lines

    async def _publish(self, event: script.Publish) -> Happened:
        ref = await self.rules.publish(
            event.name, script.Text(event.day, event.says, event.strength)
        )
        scanned = await self.cast.keeper.rescan("rule", ref.id)
        lines = await self.book.about([*scanned.outdated, *scanned.shadows])
        return f"The rule {event.name} is published, version {ref.version}", lines

    async def _contradict(self, event: script.Contradict) -> Happened:
        told = event.dispute
        await self.dispute(self.book.standing[told.what], told)
        return f"{told.what} contradicts the rule {told.rule}", [
            Line(told.what, "contradicted", told.why)
        ]

    async def _resolve(self, event: script.Resolve) -> Happened:
        lines = []
        for row in await self.cast.operator.contradictions():
            what = await self.book.name(row.entry_id)
            if what in event.what:
                await self.cast.operator.resolve(row.id, event.status, notes=event.notes)
                lines.append(Line(what, event.status.value, event.notes))
        verb = "takes up" if event.status is ContradictionStatus.SURFACED else "settles"
        return f"{self.cast.setting.operator} {verb} {' and '.join(event.what)}", lines

    async def _recover(self, _event: script.Recover) -> Happened:
        lines: list[Line] = []
        for closed in await self.cast.keeper.recover():
            lines += await self.book.close(closed)
        return "The sweeper closes a session whose lease ran out", lines

    async def _undo(self, event: script.Undo) -> Happened:
        receipt = self.book.decided[event.what, event.decision]
        undone = await self.cast.operator.undo(receipt, reason=event.why)
        lines = []
        for what, entry_id in self.book.standing.items():
            found = await self.book.since(entry_id, undone.position)
            lines += [line for line in found if line.did == "undone" and line.what == what]
        return f"{self.cast.setting.operator} takes back what made {event.what} a fact", lines

    async def _archive(self, event: script.Archive) -> Happened:
        receipt = await self.cast.operator.archive(self.book.standing[event.what], reason=event.why)
        return f"{self.cast.setting.operator} archives it", await self.book.about([receipt])

    async def _review(self, event: script.Review) -> Happened:
        await self.cast.keeper.mark_due()
        queue = await self.cast.operator.disposition()
        lines = [
            Line(
                await self.book.name(due.entry.id),
                "due",
                f"{due.cause.replace('_', ' ')} on day {self.book.day_of(due.due_at)}, "
                f"pressure {due.pressure:.2f}",
            )
            for due in queue
        ]
        for verdict in event.verdicts:
            ids = [self.book.standing[what] for what in verdict.what]
            await self.cast.operator.dispose(ids, verdict.outcome, reason=verdict.why)
            lines += [Line(what, verdict.outcome.value, verdict.why) for what in verdict.what]
        left = len(queue) - sum(len(verdict.what) for verdict in event.verdicts)
        return f"Review: {len(queue)} entries are due, {left} left for later", lines
