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
    store = layers.store
    profile_id = await layers.engine.profile()
    events, ltm, vectors, loops, stm = await store.coverage(profile_id)
    underived = await store.underived(layers.common.deriver.settled, 0, LISTED)
    waiting = await store.waiting(profile_id, LISTED)
    strays = await store.stray_loops()
    return Coverage(
        layers.persona, events, ltm, vectors, loops, stm,
        tuple(layers.log.event(row).id for row in underived),
        tuple(waiting),
        tuple(strays[:LISTED]),
    )  # fmt: skip
