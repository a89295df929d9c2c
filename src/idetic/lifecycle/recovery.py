"""Recovery: scopes whose process died are found by their silence, and closed for it.

The lease is the scope's own life: whatever is opened, written or read in it renews it, and so
does `renew()`. Nobody has to write a heartbeat for it to hold.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from idetic.errors import ScopeClosed
from idetic.evidence import Closed
from idetic.lifecycle.closing import ScopeCloser
from idetic.model import Capability, Place, Scope, Tier
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.holding import Holding
from idetic.verbs.authorization import require, require_whole_anchor

BATCH = 100


class Recovery:
    """Closes what nobody closed, exactly once: the close itself sees to that."""

    def __init__(self, spec: MemorySpec, holding: Holding, closer: ScopeCloser, clock: Clock):
        self._spec = spec
        self._holding = holding
        self._closer = closer
        self._clock = clock

    async def renew(self, scope: Scope, place: Place) -> None:
        """Extend the lease of a scope, and of the session around it."""
        require(self._spec, scope, Capability.OBSERVE)
        ids = [one for one in (place.session_id, place.interaction_id) if one is not None]
        renewed = await self._holding.renew(scope, ids, self._clock.now())
        if len(renewed) != len(ids):
            raise ScopeClosed("This scope was closed; its lease had run out.")

    async def recover(self, scope: Scope) -> list[Closed]:
        """Close the abandoned scopes of an anchor; what each close did."""
        require(self._spec, scope, Capability.MAINTAIN)
        require_whole_anchor(scope)
        closed = []
        for place in await self._abandoned(scope):
            closed.append(await self._closer.close(scope, place, "its lease ran out"))  # noqa: PERF401 - one after the other
        return closed

    async def _abandoned(self, scope: Scope) -> list[Place]:
        sessions = await self._holding.silent(scope, self._since(Tier.SESSION), BATCH)
        found = [Place(session_id) for session_id in sessions]
        inner = await self._holding.silent_interactions(scope, self._since(Tier.INTERACTION), BATCH)
        ended: set[UUID] = set(sessions)
        return found + [Place(session, one) for one, session in inner if session not in ended]

    def _since(self, tier: Tier) -> datetime:
        lease = timedelta(minutes=self._spec.tiers.at(tier).lease_minutes)
        return self._clock.now() - lease
