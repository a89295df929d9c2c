"""Contradictions: entries that speak against canonical content, and the operators' queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from idetic.errors import InputError, NotFound, TransitionRefused
from idetic.evidence import TRANSITIONS, Contradiction, ContradictionStatus
from idetic.gateway import steps
from idetic.gateway.content import check_provenance
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.lifecycle.testimony import one_entry
from idetic.model import Capability, Decision, Receipt, Ref, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Canonical
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import require, require_whole_anchor

MAX_QUEUE = 1_000
MAX_RESOLUTION = 2000


class Contradictions:
    """Takes contradictions with canonical content, and moves them on."""

    def __init__(self, spec: MemorySpec, gateway: Gateway, holding: Holding, clock: Clock):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._clock = clock

    async def contradict(
        self,
        scope: Scope,
        entry_id: UUID,
        ref: Ref,
        *,
        reason: str,
        provenance: dict[str, str] | None,
        key: str | None,
    ) -> Receipt:
        """Say that an entry speaks against canonical content; it goes to the operators' queue."""
        require(self._spec, scope, Capability.CONTRADICT)
        require_whole_anchor(scope)
        canonical = self._canonical(ref)
        reason = self._gateway.said(reason)
        call = {
            "verb": "contradict",
            "memory": str(check_uuid(entry_id, "entry_id")),
            "ref": [canonical.noun, str(ref.id)],
            "reason": reason,
        }
        async with self._holding.hold(scope, self._clock.now()) as held:

            async def decide() -> list[Step]:
                known = await one_entry(held, UUID(str(call["memory"])))
                standing = await held.contradictions(canonical, entry_id=known.id, ref_id=ref.id)
                if any(TRANSITIONS[one.status] for one in standing):
                    return [steps.link("contradicted", Decision.NOOP, "it is in the queue already",
                                       entry=known.entry)]  # fmt: skip
                row_id = uuid7()
                told = {"contradiction": str(row_id), "noun": ref.noun, "id": str(ref.id)}
                step = steps.link(
                    "contradicted", Decision.ADD, reason, entry=known.entry, detail=told
                )
                given = check_provenance(self._spec, provenance)
                return [step | {"op": "contradict", "row_id": str(row_id), "noun": ref.noun,
                                "source_ref": str(ref.id), "provenance": given}]  # fmt: skip

            return await self._gateway.settle_once(held, call, key, decide)

    async def queue(
        self, scope: Scope, status: Sequence[ContradictionStatus] | None, limit: int
    ) -> list[Contradiction]:
        """Contradictions by status, oldest first; those that wait unless said otherwise."""
        require(self._spec, scope, Capability.READ)
        if type(limit) is not int or not 1 <= limit <= MAX_QUEUE:
            raise InputError(f"limit is a whole number from 1 to {MAX_QUEUE:,}.")
        wanted = [s for s, after in TRANSITIONS.items() if after] if status is None else status
        values = [_status(one).value for one in wanted]
        found: list[Contradiction] = []
        async with self._holding.look(scope, self._clock.now()) as held:
            for canonical in self._spec.references.canonical:
                if canonical.contradictions:
                    found += await held.contradictions(canonical, status=values, limit=limit)
        return sorted(found, key=lambda one: (one.observed_at, one.id))[:limit]

    async def resolve(
        self,
        scope: Scope,
        contradiction_id: UUID,
        status: ContradictionStatus,
        *,
        notes: str,
        key: str | None,
    ) -> Receipt:
        """Move a contradiction on; only the allowed transitions."""
        require(self._spec, scope, Capability.RESOLVE)
        require_whole_anchor(scope)
        wanted = _status(status)
        notes = self._gateway.said(notes, "notes", MAX_RESOLUTION)
        row_id = check_uuid(contradiction_id, "contradiction_id")
        call = {"verb": "resolve", "contradiction": str(row_id), "to": wanted.value, "notes": notes}
        async with self._holding.hold(scope, self._clock.now()) as held:

            async def decide() -> list[Step]:
                found = await self._standing(held, row_id)
                if wanted not in TRANSITIONS[found.status]:
                    allowed = ", ".join(TRANSITIONS[found.status]) or "nothing: it is settled"
                    raise TransitionRefused(
                        f"A contradiction that is {found.status} cannot become {wanted}.",
                        remedy=f"From {found.status} it may become {allowed}.",
                    )
                known = await one_entry(held, found.entry_id)
                told = {"contradiction": str(row_id), "from": found.status, "to": wanted.value}
                step = steps.link(
                    f"contradiction_{wanted.value}", Decision.UPDATE, "resolved by an operator",
                    entry=known.entry, detail=told,
                )  # fmt: skip
                return [step | {"op": "resolve", "row_id": str(row_id), "noun": found.ref.noun,
                                "status": wanted.value, "notes": notes}]  # fmt: skip

            return await self._gateway.settle_once(held, call, key, decide)

    async def _standing(self, held: Held, row_id: UUID) -> Contradiction:
        for canonical in self._spec.references.canonical:
            if canonical.contradictions:
                for found in await held.contradictions(canonical, row_id=row_id):
                    return found
        raise NotFound("There is no such contradiction in this scope.")

    def _canonical(self, ref: Ref) -> Canonical:
        for canonical in self._spec.references.canonical:
            if isinstance(ref, Ref) and canonical.noun == ref.noun and canonical.contradictions:
                return canonical
        nouns = [c.noun for c in self._spec.references.canonical if c.contradictions]
        raise InputError(
            "This agent keeps no contradictions with that.",
            remedy=f"Declared under `references.canonical`: {', '.join(nouns) or 'none'}.",
        )


def _status(value: Any) -> ContradictionStatus:
    try:
        return ContradictionStatus(value)
    except ValueError:
        raise InputError(f"status is one of {', '.join(ContradictionStatus)}.") from None
