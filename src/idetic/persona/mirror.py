"""Writing what is derived from a log: entries of events, and summaries of loops.

Both are decided while the anchor is held, so that an erasure and a dream cannot pass each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from idetic.audit.log_chain import EMPTIED
from idetic.gateway import steps
from idetic.gateway.steps import Step
from idetic.model import Origin
from idetic.persona.deriving import Deriver, LoopPart
from idetic.persona.events import Event
from idetic.ports import Clock
from idetic.store.log import HeldLog, LogStore, Mirror

EventOf = Callable[[tuple[object, ...]], Event]


class DerivedEntries:
    """Puts long-term and short-term entries of one persona's log."""

    def __init__(self, store: LogStore, deriver: Deriver, version: int, clock: Clock):
        self._store = store
        self._deriver = deriver
        self._version = version
        self._clock = clock

    async def put(self, made: Sequence[Step]) -> int:
        """Write long-term entries of events that are in the log; how many were written.

        One that an older way made is replaced; what was erased meanwhile stays erased.
        """
        async with self._store.hold(self._clock.now()) as held:
            known = await held.mirrors([UUID(step["event"]) for step in made])
            wanted = [s for s in made if _changes(known.get(UUID(s["event"])), s)]
            replaced = [known[UUID(s["event"])].entry_id for s in wanted]
            archived = await _archived(held, [one for one in replaced if one is not None])
            await held.settle(self._version, [*archived, *wanted])
        return len(wanted)

    async def close(self, loop_id: UUID, event_of: EventOf, summary: str | None = None) -> None:
        """Write the one entry of a loop from its events; again is fine, and changes nothing.

        `summary` is one that was made elsewhere; it is not taken where an event was erased since.
        An event that has no long-term entry yet is in the summary all the same, and the dream that
        derives its entry writes this one again.
        """
        async with self._store.hold(self._clock.now()) as held:
            rows = await held.loop_entries(loop_id)
            if not rows:
                return
            parts = [
                LoopPart(event_of(row[3:]), row[0], Origin(row[1]) if row[1] else None, row[2])
                for row in rows
            ]
            events = [part.event for part in parts]
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


def _changes(known: Mirror | None, step: Step) -> bool:
    """Whether an entry is to be written: none is there, or one that was made in another way."""
    if known is None or known.erased:
        return False
    return known.entry_id is None or known.derivation != step["provenance"]["derivation"]


async def _archived(held: HeldLog, ids: Sequence[UUID]) -> list[Step]:
    """Steps that put entries aside for new ones."""
    known = await held.known("named", ids=list(ids)) if ids else []
    return [
        steps.turn(one.entry, {"archived_at": held.at}, "archived", "derived anew", to="archived")
        for one in known
    ]
