"""Whether what is derived covers the log: counted by the database, equal or listed."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from idetic.persona.events import Persona
from idetic.persona.layers import Layers

LISTED = 100


@dataclass(frozen=True, slots=True)
class Coverage:
    """One persona's layers side by side. What lacks is listed by id, up to a hundred of each."""

    persona: Persona
    events: int
    ltm: int
    vectors: int
    loops: int
    stm: int
    without_ltm: tuple[UUID, ...] = ()
    without_vector: tuple[UUID, ...] = ()
    without_stm: tuple[UUID, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether every event has its entry and its vector, and every loop its summary."""
        return (
            self.events == self.ltm == self.vectors
            and self.loops == self.stm
            and not (self.without_ltm or self.without_vector or self.without_stm)
        )


async def cover(layers: Layers) -> Coverage:
    """Count and compare. Vectors are those of the model at hand; without one there are none."""
    rows, common = layers.rows, layers.common
    profile_id = await common.embedder.profile()
    events, ltm, vectors, loops, stm = await rows.coverage(profile_id)
    underived = await rows.underived(common.deriver.settled, 0, LISTED)
    # An id that no profile has finds every entry: that is what is missing without a model.
    waiting = await rows.waiting(profile_id or UUID(int=0), 0, LISTED)
    strays = await rows.stray_loops()
    return Coverage(
        layers.persona, events, ltm, vectors, loops, stm,
        tuple(layers.log.event(row).id for row in underived),
        tuple(entry.ltm_id for entry in waiting),
        tuple(strays[:LISTED]),
    )  # fmt: skip
