"""The loops of an import: each gets its one short-term entry, with the file's words where they are
its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from idetic.library.persona_import.checking import Checked, named_persona
from idetic.library.persona_import.reading import LayoutReader, StmRow, shown
from idetic.library.persona_import.report import Tally
from idetic.library.persona_import.values import uuid_of
from idetic.persona.deriving import storable
from idetic.persona.events import Persona
from idetic.persona.layers import Layers

Whose = tuple[str, Persona]
Tell = Callable[[str, int, int], None]


class ImportedLoops:
    """Which loops were read, and how each is closed."""

    def __init__(self, tally: Tally, *, write: bool):
        self._tally = tally
        self._write = write
        self._layers: dict[Whose, Layers] = {}
        self._loops: dict[Whose, set[UUID]] = {}
        self._new: dict[Whose, set[UUID]] = {}
        # Loops of the Actor that held what is the Subconscious's: their summaries may say it.
        self._mixed: set[tuple[str, UUID]] = set()

    def saw(self, layers: Layers, checked: Checked, *, new: bool) -> None:
        """An event of a loop was read."""
        whose, loop_id = (checked.agent_id, checked.persona), checked.brought.loop_id
        self._layers[whose] = layers
        self._loops.setdefault(whose, set()).add(loop_id)
        if new:
            self._new.setdefault(whose, set()).add(loop_id)
        if "misfiled" in checked.found:
            self._mixed.add((checked.agent_id, loop_id))

    async def close(self, reader: LayoutReader, of_others: set[Any], tell: Tell) -> None:
        """Give each loop that has none its short-term entry: the file's, or one derived anew."""
        open_loops = {whose: await self._open(whose) for whose in self._loops}
        total, done = sum(map(len, open_loops.values())), 0
        async for rows in reader.loops():
            for row in rows:
                done += await self._take(row, open_loops, of_others)
            tell("loops", done, total)
        for whose, waiting in open_loops.items():
            for loop_id in waiting:
                await self._put(whose, loop_id, None)
                self._tally.add("stm_derived")
                done += 1
            tell("loops", done, total)

    async def _open(self, whose: Whose) -> set[UUID]:
        """The loops of the file that lack their entry; in a dry run, that would."""
        strays = set(await self._layers[whose].store.stray_loops())
        would = set() if self._write else self._new.get(whose, set())
        return (strays | would) & self._loops[whose]

    async def _take(
        self, row: StmRow, open_loops: dict[Whose, set[UUID]], of_others: set[Any]
    ) -> int:
        """Use the words of one entry, if it is clear whose they are; 1 if that closed a loop."""
        loop_id = uuid_of(row.loop_id, "loop")
        holding = [whose for whose, loops in self._loops.items() if loop_id in loops]
        if loop_id is None or not holding:
            return 0  # without an event: the check between the tables tells it
        whose = _owner(row, holding)
        if whose is None or self._untold(row, whose, loop_id, of_others):
            self._tally.find("stm_unused", shown([row.loop_id]))
            return 0
        if loop_id not in open_loops[whose]:
            return 0
        open_loops[whose].discard(loop_id)
        text, redacted = self._layers[whose].writer.gated(row.summary)
        if redacted:
            self._tally.find("stm_redacted", shown([row.loop_id]))
        await self._put(whose, loop_id, text)
        self._tally.add("stm_kept")
        return 1

    def _untold(self, row: StmRow, whose: Whose, loop_id: UUID, of_others: set[Any]) -> bool:
        """Whether the words may say what the owner must not hear, or are none."""
        agent_id, persona = whose
        mixed = row.ref in of_others or (agent_id, loop_id) in self._mixed
        return (persona is Persona.ACTOR and mixed) or not storable(row.summary)

    async def _put(self, whose: Whose, loop_id: UUID, summary: str | None) -> None:
        if self._write:
            await self._layers[whose].stm.close(loop_id, summary)


def _owner(row: StmRow, holding: list[Whose]) -> Whose | None:
    """Whose loop an entry is about; None where that is not clear."""
    owners = [
        (agent_id, persona)
        for agent_id, persona in holding
        if (row.agent_id is None or row.agent_id == agent_id)
        and (row.persona is None or named_persona(row.persona) is persona)
    ]
    return owners[0] if len(owners) == 1 else None
