"""Short-term memory of one persona: one entry per loop, and a rolling window over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from idetic.persona.events import EventKind, Persona, StmEntry, Visibility
from idetic.persona.identity import Heuristics
from idetic.persona.log import Log, check_limit
from idetic.persona.ltm import QUERY_MAX
from idetic.persona.mirror import DerivedEntries
from idetic.persona.scoring import Scored, rank
from idetic.ports import Clock
from idetic.store.log import LogStore
from idetic.verbs.arguments import check_text


class Stm:
    """One persona's short-term memory of one agent."""

    def __init__(
        self,
        store: LogStore,
        derived: DerivedEntries,
        log: Log,
        agent_id: str,
        persona: Persona,
        clock: Clock,
    ):
        self._store = store
        self._derived = derived
        self._log = log
        self._agent_id = agent_id
        self._persona = persona
        self._clock = clock

    def entry(self, row: tuple[Any, ...]) -> StmEntry:
        """An entry from its columns."""
        loop_id, ts, summary, ltm_ids, kinds, visibilities = row
        return StmEntry(
            loop_id, ts, summary, tuple(ltm_ids), tuple(map(EventKind, kinds)),
            tuple(map(Visibility, visibilities)), agent_id=self._agent_id, persona=self._persona,
        )  # fmt: skip

    async def window(self, limit: int) -> list[StmEntry]:
        """The last loops, newest first."""
        return [self.entry(row) for row in await self._store.window(check_limit(limit))]

    async def fuzzy_query(
        self, text: str, heuristics: Heuristics, window: int | None = None
    ) -> Sequence[Scored]:
        """The loops of the rolling window that resemble a text, best first."""
        check_text(text, QUERY_MAX, "text")
        entries = await self.window(window or heuristics.window)
        return rank(text, entries, heuristics, self._clock.now())

    async def close(self, loop_id: UUID, summary: str | None = None) -> None:
        """Write the one entry of a loop from its events; `summary` is one made elsewhere."""
        await self._derived.close(loop_id, self._log.event, summary)
