"""Looking behind an entry: what supports it, what it was made of, what its gates say."""

from __future__ import annotations

from uuid import UUID

from idetic.errors import EntryNotFound
from idetic.evidence import Corroboration, GateResult, Lineage
from idetic.gates.gate import Gates
from idetic.gateway.binding import require
from idetic.gateway.content import check_uuid
from idetic.lifecycle.reading import Reader
from idetic.lifecycle.weighing import Weighing
from idetic.model import Capability, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.holding import Holding


class Looking:
    """The evidence about entries of one agent, for whoever may read them."""

    def __init__(self, spec: MemorySpec, holding: Holding, gates: Gates, clock: Clock):
        self._spec = spec
        self._holding = holding
        self._gates = gates
        self._clock = clock

    async def corroborations(self, scope: Scope, entry_id: UUID) -> list[Corroboration]:
        """What supports an entry, oldest first."""
        require(self._spec, scope, Capability.READ)
        entry_id = check_uuid(entry_id, "entry_id")
        async with self._holding.look(scope, self._clock.now()) as held:
            if not await held.known("named", ids=[entry_id]):
                raise EntryNotFound
            return (await held.corroborations([entry_id])).get(entry_id, [])

    async def lineage(self, scope: Scope, entry_id: UUID) -> list[Lineage]:
        """What an entry was made of."""
        require(self._spec, scope, Capability.READ)
        entry_id = check_uuid(entry_id, "entry_id")
        async with self._holding.look(scope, self._clock.now()) as held:
            if not await held.known("named", ids=[entry_id]):
                raise EntryNotFound
            return (await held.lineage([entry_id])).get(entry_id, [])

    async def gates(self, scope: Scope, entry_id: UUID) -> list[GateResult]:
        """What each promotion gate says about an entry now."""
        require(self._spec, scope, Capability.READ)
        entry_id = check_uuid(entry_id, "entry_id")
        async with self._holding.look(scope, self._clock.now()) as held:
            known = await held.known("named", ids=[entry_id])
            if not known:
                raise EntryNotFound
            reader = Reader(self._spec, held, None)
            (subject,) = await reader.subjects(known)
            about = await reader.beside(subject)
            pipeline = self._gates.at(Boundary.PROMOTION)
            return Weighing(self._spec, pipeline, held.at, "").gates(subject, about)
