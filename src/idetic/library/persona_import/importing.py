"""Brings a CHAOS layout into persona memory: one pass over its events, one over its loops.

Each persona's events go through that persona's own writer and role. All that is kept in memory
meanwhile is which loops there are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from idetic.library.persona_import.checking import Checked, RowCheck
from idetic.library.persona_import.layout import EVENTS
from idetic.library.persona_import.loops import ImportedLoops
from idetic.library.persona_import.reading import EventRow, LayoutReader, shown
from idetic.library.persona_import.report import ImportReport, Tally
from idetic.persona.bringing import Fate, bring
from idetic.persona.errors import EventRefused, IdentityError, IdentityInvalid, LayoutUnusable
from idetic.persona.events import Persona
from idetic.persona.layers import Layers

Progress = Callable[[str, int, int], None]
Opened = Callable[[str], Awaitable[Mapping[Persona, Layers]]]

_BETWEEN_TABLES = (
    "ltm_repeated",
    "ltm_without_event",
    "stm_without_event",
    "map_without_ltm",
    "map_without_stm",
    "map_in_another_order",
)


class PersonaImport:
    """One import; it can be interrupted and run again."""

    def __init__(
        self, opened: Opened, *, agent: str | None, write: bool, progress: Progress | None
    ):
        self._opened = opened
        self._agent = agent
        self._write = write
        self._progress = progress
        self._agents: dict[str, Mapping[Persona, Layers] | None] = {}
        self._tally = Tally()
        self._loops = ImportedLoops(self._tally, write=write)

    async def run(self, file: str | Path) -> ImportReport:
        """Read the whole file, write what is not there yet, and say what was found."""
        async with LayoutReader(file, self._agent) as reader:
            if self._agent is not None:
                self._agents[self._agent] = await self._opened(self._agent)
            total = await reader.count()
            if self._agent is not None and not total:
                raise LayoutUnusable(
                    f"The file holds no event of the agent {self._agent!r}.",
                    remedy="Without naming one, every agent of the file is imported.",
                )
            between = {name: await reader.found(name) for name in _BETWEEN_TABLES}
            for name, ids in between.items():
                self._tally.find(name, shown(ids))
            await self._events(reader, set(between["ltm_repeated"]), total)
            await self._loops.close(reader, set(await reader.found("map_of_others")), self._tell)
            return self._tally.report(reader.layout.missing, dry_run=not self._write)

    async def _events(self, reader: LayoutReader, ltm_repeated: set[Any], total: int) -> None:
        repeated, done = set(await reader.found("repeated")), 0
        seen: set[tuple[Any, ...]] = set()
        has_agents = reader.layout.has(EVENTS, "agent_id")
        check = RowCheck(self._agent, ltm_repeated, has_agents=has_agents)
        async for rows in reader.events():
            batches: dict[tuple[str, Persona], list[tuple[EventRow, Checked]]] = {}
            for row in rows:
                self._tally.add("read")
                key = (row.agent_id, row.persona, row.id)
                if row.id in repeated and key in seen:
                    self._tally.find("repeated", shown([row.id]))
                    continue
                if row.id in repeated:
                    seen.add(key)
                checked = await self._checked(check, row)
                if checked is not None:
                    whose = (checked.agent_id, checked.persona)
                    batches.setdefault(whose, []).append((row, checked))
            for whose, batch in batches.items():
                await self._bring(whose, batch)
            done += len(rows)
            self._tell("events", done, total)

    async def _checked(self, check: RowCheck, row: EventRow) -> Checked | None:
        """The row as an event of an agent that there can be; a refusal is told and not raised."""
        try:
            checked = check.event(row)
            if await self._layers_of(checked.agent_id) is None:
                raise EventRefused("The agent's name cannot be one here.")  # noqa: TRY301
        except EventRefused as error:
            self._tally.find("refused", (f"{each}: {error.message}" for each in shown([row.id])))
            return None
        return checked

    async def _layers_of(self, agent_id: str) -> Mapping[Persona, Layers] | None:
        if agent_id not in self._agents:
            try:
                self._agents[agent_id] = await self._opened(agent_id)
            except (IdentityError, IdentityInvalid):
                self._agents[agent_id] = None
        return self._agents[agent_id]

    async def _bring(
        self, whose: tuple[str, Persona], batch: Sequence[tuple[EventRow, Checked]]
    ) -> None:
        agent_id, persona = whose
        both = self._agents[agent_id]
        if both is None:
            return
        layers, tally = both[persona], self._tally
        brought = [checked.brought for _, checked in batch]
        outcomes = await bring(layers, brought, write=self._write)
        named = f"{agent_id}/{persona}"
        tally.personas[named] = tally.personas.get(named, 0) + len(batch)
        for (row, checked), outcome in zip(batch, outcomes, strict=True):
            called = next(shown([row.id]))
            tally.add(outcome.fate.value)
            if outcome.fate not in (Fate.WRITTEN, Fate.THERE):
                why = f": {outcome.why}" if outcome.why else ""
                tally.find(outcome.fate.value, [called + why])
            if outcome.entry_kept:
                tally.add("ltm_kept")
            for what in (*checked.found, *(("redacted",) if outcome.redacted else ())):
                tally.find(what, [called])
            if outcome.fate is not Fate.REFUSED:
                self._loops.saw(layers, checked, new=outcome.fate is Fate.WRITTEN)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)
