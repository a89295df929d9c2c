"""Closing a scope: compound, promote, let go, all in one transaction and exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from idetic.errors import ScopeClosed
from idetic.evidence import Closed, Decided, GateResult, PromotionGate
from idetic.gates.gate import Gates
from idetic.gateway import steps
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.lifecycle import promotion_gates
from idetic.lifecycle.compounding import compound, dropped
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.reading import Reader
from idetic.lifecycle.subject import target
from idetic.model import Capability, Decision, Place, Receipt, Scope, Tier
from idetic.ports import Clock
from idetic.recall.embedding import EmbeddingRun
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.known import ScopeRow
from idetic.telemetry import traced
from idetic.verbs.authorization import require, require_whole_anchor


class ScopeCloser:
    """Ends sessions and interactions of one agent."""

    def __init__(
        self,
        spec: MemorySpec,
        gateway: Gateway,
        holding: Holding,
        embedding: EmbeddingRun,
        gates: Gates,
        clock: Clock,
    ):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._embedding = embedding
        self._gates = gates
        self._clock = clock

    @traced("close")
    async def close(self, scope: Scope, place: Place, reason: str) -> Closed:
        """End the scope that a place names; a second close finds nothing to do and says so."""
        require(self._spec, scope, Capability.OBSERVE)
        require_whole_anchor(scope)
        wanted = place.interaction_id or place.session_id
        if wanted is None or place.session_id is None:
            raise ScopeClosed("Persistent memory has no scope to close.")
        # The model runs before the anchor is held: other writers wait for the lock, not for it.
        profile_id = await self._embedding.session(scope, place.session_id)
        async with self._holding.hold(scope, self._clock.now()) as held:
            rows = await held.scopes(wanted)
            mine = next((row for row in rows if row.id == wanted), None)
            if mine is None:
                raise ScopeClosed("There is no such session or interaction in this scope.")
            if mine.closed_at is not None:
                return await self._already(held, mine)
            await held.closing(mine.session_id)
            if mine.tier is Tier.INTERACTION:
                return await self._interaction(held, mine, reason)
            return await self._session(held, rows, mine, reason, profile_id)

    async def _already(self, held: Held, row: ScopeRow) -> Closed:
        step = steps.link(f"{row.tier.value}_closed", Decision.NOOP, "it was closed already")
        (receipt,) = await self._gateway.settle(held, [step])
        return Closed(receipt)

    async def _interaction(self, held: Held, row: ScopeRow, reason: str) -> Closed:
        made = await self._compound(held, row)
        made.append(steps.close([row.id], Tier.INTERACTION, row.session_id, reason))
        return _closed(made, await self._gateway.settle(held, made))

    async def _compound(self, held: Held, row: ScopeRow) -> list[Step]:
        mine = await held.known("in_interaction", session_id=row.session_id, interaction_id=row.id)
        there = await held.known("in_session", session_id=row.session_id)
        gate = self._gates.at(Boundary.INTERACTION_END)
        return compound(self._spec, gate, mine, there, row.session_id)

    async def _session(
        self,
        held: Held,
        rows: Sequence[ScopeRow],
        row: ScopeRow,
        reason: str,
        profile_id: UUID | None,
    ) -> Closed:
        """Its interactions first: a session is kept while one of them is open, and not longer."""
        decided: list[Decided] = []
        for inner in rows:
            if inner.tier is Tier.INTERACTION and inner.closed_at is None:
                decided += (await self._interaction(held, inner, reason)).decided
        made = await self._promote(held, row, profile_id)
        made.append(steps.close([row.id], Tier.SESSION, row.session_id, reason))
        closed = _closed(made, await self._gateway.settle(held, made))
        # With the close or not at all: what it left to be embedded and consolidated.
        await held.enqueue("embed")
        await held.enqueue("consolidate")
        return Closed(closed.receipt, (*decided, *closed.decided))

    async def _promote(self, held: Held, row: ScopeRow, profile_id: UUID | None) -> list[Step]:
        principal = held.scope.principal
        by = f"{principal.kind}:{principal.name}"
        reader = Reader(self._spec, held, profile_id)
        heard = await reader.heard(row.id, by)
        plain = target(self._spec, None)
        policy = promotion_gates.policy_of(self._spec)
        matches = {} if plain is None else await reader.matches(heard, plain, policy)
        about = await reader.about(heard, matches)
        gate = self._gates.at(Boundary.SESSION_END, Boundary.PROMOTION)
        work = PromotionPass(self._spec, gate, held.at, by)
        for number, one in enumerate(heard):
            match = matches.get(number)
            claim = one.claim if match is None else match.entry.claim
            known = [] if claim is None else about.setdefault(claim.key, [])
            work.settle(one, known, match)
        left = await held.known("transient", session_id=row.id)
        gone = dropped(self._spec, left)
        return work.steps + steps.drop(gone, "its session ended", work.into)


def _closed(made: Sequence[Step], receipts: Sequence[Receipt]) -> Closed:
    return Closed(receipts[-1], tuple(paired(made, receipts)))


def paired(made: Sequence[Step], receipts: Sequence[Receipt]) -> list[Decided]:
    """The decisions behind steps; a refused note's steps left no link, and have no receipt."""
    by_link = {(str(r.id), str(r.entry_id), r.reason): r for r in receipts}
    decided = []
    for step in made:
        if step["op"] in ("drop", "close"):
            continue
        receipt = by_link.get((step["receipt"], str(step["memory"]), step["reason"]))
        if receipt is not None:
            gates = tuple(_gate(data) for data in step["detail"].get("gates", ()))
            decided.append(Decided(step["transition"], receipt, gates))
    return decided


def _gate(data: dict[str, Any]) -> GateResult:
    return GateResult(**{**data, "gate": PromotionGate(data["gate"])})
