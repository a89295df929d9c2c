"""When canonical content changes: what rested on the old version, and what restates the new one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from idetic.gateway import steps
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.model import Capability, Receipt, Scope, Tier, Typology
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Canonical
from idetic.spec.typology import ArchiveCause
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.verbs.authorization import require, require_whole_anchor

BATCH = 500
Decide = Callable[[Held], Awaitable[list[Step]]]


@dataclass(frozen=True, slots=True)
class Rescanned:
    """What a change of canonical content did to memory; each receipt can be undone."""

    outdated: tuple[Receipt, ...] = ()
    shadows: tuple[Receipt, ...] = ()


class Canon:
    """Brings one agent's memory in line with the canonical content it refers to."""

    def __init__(self, spec: MemorySpec, gateway: Gateway, holding: Holding, clock: Clock):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._clock = clock

    async def rescan(
        self, scope: Scope, noun: str | None = None, ref_id: UUID | None = None
    ) -> Rescanned:
        """Archive what rests on an older version, and what restates canonical content now.

        Without a noun and an id, everything canonical is looked at.
        """
        require(self._spec, scope, Capability.MAINTAIN)
        require_whole_anchor(scope)
        outdated: list[Receipt] = []
        shadows: list[Receipt] = []
        for canonical in self._spec.references.canonical:
            if noun in (None, canonical.noun):
                outdated += await self._outdated(scope, canonical, ref_id)
                shadows += await self._shadows(scope, canonical, ref_id)
        return Rescanned(tuple(outdated), tuple(shadows))

    async def _outdated(
        self, scope: Scope, canonical: Canonical, ref_id: UUID | None
    ) -> list[Receipt]:
        typologies = [
            typology
            for typology in self._spec.typology.at(Tier.PERSISTENT)
            if ArchiveCause.CANONICAL_CHANGE
            in self._spec.lifecycle_of(Tier.PERSISTENT, typology).archive_on
        ]
        if not canonical.versions or not typologies:
            return []
        return await self._batches(
            scope, lambda held: self._changed(held, canonical, ref_id, typologies)
        )

    async def _changed(
        self, held: Held, canonical: Canonical, ref_id: UUID | None, typologies: list[Typology]
    ) -> list[Step]:
        ids = await held.outdated(canonical, ref_id, typologies, BATCH)
        known = await held.known("named", ids=ids) if ids else []
        told = {"cause": ArchiveCause.CANONICAL_CHANGE.value, "noun": canonical.noun}
        return [
            steps.turn(one.entry, {"archived_at": held.at}, "archived",
                       f"the {canonical.noun} it refers to has changed", to="archived", detail=told)
            for one in known
        ]  # fmt: skip

    async def _shadows(
        self, scope: Scope, canonical: Canonical, ref_id: UUID | None
    ) -> list[Receipt]:
        if not canonical.body:
            return []
        return await self._batches(scope, lambda held: self._restating(held, canonical, ref_id))

    async def _restating(self, held: Held, canonical: Canonical, ref_id: UUID | None) -> list[Step]:
        found = await held.shadows(canonical, ref_id, BATCH)
        known = {one.id: one for one in await held.known("named", ids=list(found))} if found else {}
        return [
            steps.turn(
                known[memory_id].entry, {"archived_at": held.at}, "archived",
                f"it restates a {canonical.noun}", to="archived",
                detail={"cause": "shadow", "noun": canonical.noun, "id": str(canonical_id),
                        "similarity": round(similarity, 4)},
            )
            for memory_id, (canonical_id, similarity) in found.items()
        ]  # fmt: skip

    async def _batches(self, scope: Scope, decide: Decide) -> list[Receipt]:
        """One transaction per batch: a large anchor is not held for the whole scan."""
        receipts: list[Receipt] = []
        while True:
            async with self._holding.hold(scope, self._clock.now()) as held:
                made = await decide(held)
                receipts += await self._gateway.settle(held, made)
            if len(made) < BATCH:
                return receipts
