"""Writing what is derived from a log: entries of events, and summaries of loops.

Both are decided while the anchor is held, so that an erasure and a dream cannot pass each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from idetic.audit.chain import EMPTIED
from idetic.model import Origin
from idetic.persona.deriving import Deriver, LoopPart
from idetic.persona.events import Event
from idetic.ports import Clock
from idetic.spec.primitives import DERIVATION
from idetic.store.log import HeldLog, LogStore, Mirror
from idetic.store.steps import AddStep, Step, TurnStep

EventOf = Callable[[tuple[object, ...]], Event]


class DerivedEntries:
    """Puts long-term and short-term entries of one persona's log."""

    def __init__(self, store: LogStore, deriver: Deriver, version: int, clock: Clock):
        self._store = store
        self._deriver = deriver
        self._version = version
        self._clock = clock

    async def put(self, made: Sequence[AddStep]) -> int:
        """Write long-term entries of events that are in the log; how many were written.

        One that an older way made is replaced; what was erased meanwhile stays erased.
        """
        async with self._store.hold(self._clock.now()) as held:
            ids = [step.event for step in made if step.event is not None]
            emptied, known = await held.emptied(ids), await held.mirrors(ids)
            wanted = [
                step
                for event_id, step in zip(ids, made, strict=True)
                if not emptied.get(event_id, True) and _changes(known.get(event_id), step)
            ]
            replaced = [known[s.event].entry_id for s in wanted if s.event in known]
            archived = await _archived(held, replaced)
            await held.settle(self._version, [*archived, *wanted])
        return len(wanted)

    async def close(self, loop_id: UUID, event_of: EventOf, summary: str | None = None) -> None:
        """Write the one entry of a loop from its events; again is fine, and changes nothing.

        `summary` is one that was made elsewhere; it is not taken where an event was erased since.
        An event that has no long-term entry yet is in the summary all the same, and the dream that
        derives its entry writes this one again.
        """
        async with self._store.hold(self._clock.now()) as held:
            events = [event_of(row) for row in await held.loop(loop_id)]
            if not events:
                return
            mirrors = await held.mirrors([event.id for event in events])
            parts = [_part(event, mirrors.get(event.id)) for event in events]
            if summary is None or any(event.content == EMPTIED for event in events):
                summary = self._deriver.summary(events)
            ended = max(event.ts for event in events)
            step = self._deriver.loop(loop_id, ended, summary, parts)
            known = await held.loop_summary(loop_id)
            sources = frozenset(part.entry_id for part in parts if part.entry_id is not None)
            same = (ended, summary, sources)
            if known is not None and (known.ts, known.text, known.sources) == same:
                return
            archived = await _archived(held, [known.entry_id] if known else [])
            await held.settle(self._version, [*archived, step])


def _changes(known: Mirror | None, step: AddStep) -> bool:
    """Whether an entry is to be written: none is there, or one that was made in another way."""
    if known is None:
        return True
    return not known.erased and known.derivation != step.provenance[DERIVATION]


def _part(event: Event, mirror: Mirror | None) -> LoopPart:
    if mirror is None:
        return LoopPart(event, None, None, None)
    return LoopPart(event, mirror.entry_id, Origin(mirror.origin), mirror.trust)


async def _archived(held: HeldLog, ids: Sequence[UUID]) -> list[Step]:
    """Steps that put entries aside for new ones."""
    changes = {"archived_at": held.at}
    return [
        TurnStep("archived", "derived anew", changes, entry=one.entry)
        for one in await held.stored(ids)
    ]
