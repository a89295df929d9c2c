"""Weighing candidates again: gates may pass later than the moment their evidence came in.

A spec that asks for less, an undone conflict, a corroboration from elsewhere: none of them closes
a scope, so a background job looks at what waits.
"""

from __future__ import annotations

from uuid import UUID

from idetic.evidence import Decided
from idetic.gates.gate import Gates
from idetic.gateway.gateway import Gateway
from idetic.lifecycle.closing import paired
from idetic.lifecycle.reading import Reader
from idetic.lifecycle.weighing import Weighing
from idetic.model import Capability, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.verbs.authorization import require, require_whole_anchor

BATCH = 200


class Candidates:
    """The candidates of one agent."""

    def __init__(
        self, spec: MemorySpec, gateway: Gateway, holding: Holding, gates: Gates, clock: Clock
    ):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._gates = gates
        self._clock = clock

    async def weigh(self, scope: Scope) -> list[Decided]:
        """Promote every candidate of an anchor whose gates pass by now."""
        require(self._spec, scope, Capability.MAINTAIN)
        require_whole_anchor(scope)
        decided: list[Decided] = []
        after: UUID | None = None
        while True:
            async with self._holding.hold(scope, self._clock.now()) as held:
                ids = await held.candidates(after, BATCH)
                decided += await self._batch(held, ids)
            if len(ids) < BATCH:
                return decided
            after = ids[-1]

    async def _batch(self, held: Held, ids: list[UUID]) -> list[Decided]:
        if not ids:
            return []
        reader = Reader(self._spec, held, None)
        who = held.scope.principal
        work = Weighing(
            self._spec, self._gates.at(Boundary.PROMOTION), held.at, f"{who.kind}:{who.name}"
        )
        subjects = await reader.subjects(await held.known("named", ids=ids))
        # What happens to one of them, the next one sees.
        seen = {subject.id: subject for subject in subjects}
        for subject in subjects:
            about = [seen.setdefault(one.id, one) for one in await reader.beside(subject)]
            if all(gate.passed for gate in work.gates(subject, about)):
                work.weigh(subject, about, quiet=True)
        return paired(work.steps, await self._gateway.settle(held, work.steps))
