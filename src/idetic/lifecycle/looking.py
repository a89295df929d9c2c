"""Looking behind an entry: what supports it, what it was made of, what its gates say."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from idetic.errors import EntryNotFound, InputError
from idetic.evidence import Candidate, Corroboration, GateResult, Lineage, Referenced
from idetic.gates.gate import Gates
from idetic.lifecycle.reading import Reader
from idetic.lifecycle.weighing import Weighing
from idetic.model import Capability, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.known import Known
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import require

# Each is weighed against what stands beside it, with a query of its own.
MAX_CANDIDATES = 200


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

    async def references(self, scope: Scope, entry_id: UUID) -> list[Referenced]:
        """The canonical rows that an entry refers to, as they read now."""
        require(self._spec, scope, Capability.READ)
        entry_id = check_uuid(entry_id, "entry_id")
        async with self._holding.look(scope, self._clock.now()) as held:
            if not await held.known("named", ids=[entry_id]):
                raise EntryNotFound
            return await held.references(entry_id)

    async def gates(self, scope: Scope, entry_id: UUID) -> list[GateResult]:
        """What each promotion gate says about an entry now."""
        require(self._spec, scope, Capability.READ)
        entry_id = check_uuid(entry_id, "entry_id")
        async with self._holding.look(scope, self._clock.now()) as held:
            known = await held.known("named", ids=[entry_id])
            if not known:
                raise EntryNotFound
            return list((await self._weighed(held, known))[0].gates)

    async def candidates(self, scope: Scope, limit: int, after: UUID | None) -> list[Candidate]:
        """What waits for support, oldest first, each with its gates."""
        require(self._spec, scope, Capability.READ)
        if type(limit) is not int or not 1 <= limit <= MAX_CANDIDATES:
            raise InputError(f"limit is a whole number from 1 to {MAX_CANDIDATES}.")
        last = None if after is None else check_uuid(after, "after")
        async with self._holding.look(scope, self._clock.now()) as held:
            ids = await held.candidates(last, limit)
            return await self._weighed(held, await held.known("named", ids=ids)) if ids else []

    async def _weighed(self, held: Held, known: Sequence[Known]) -> list[Candidate]:
        reader = Reader(self._spec, held, None)
        weighing = Weighing(self._spec, self._gates.at(Boundary.PROMOTION), held.at, "")
        entries = {one.id: one.entry for one in known}
        return [
            Candidate(
                entries[subject.id], tuple(weighing.gates(subject, await reader.beside(subject)))
            )
            for subject in await reader.subjects(known)
        ]
