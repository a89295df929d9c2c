"""Retention: tombstones, what becomes of them when their grace is over, and what stands where."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from uuid import UUID

from idetic.errors import TransitionRefused
from idetic.gateway import steps
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.lifecycle.testimony import one_entry
from idetic.model import Capability, Decision, Entry, Receipt, Scope, Tier, Typology
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.retention import MEMORY, Disposal, RetentionPolicy, RetentionState
from idetic.store.retention import Retained, Retaining
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import allows, require, require_whole_anchor

BATCH = 500
LISTED = 1_000
Decide = Callable[[Retained], Awaitable[list[Step]]]


@dataclass(frozen=True, slots=True)
class Disposed:
    """What a disposal run did: what outlived its TTL, and which tombstones lost their payload."""

    expired: tuple[Receipt, ...] = ()
    disposed: tuple[Receipt, ...] = ()


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What stands where, and what should not be. A report: nothing in it was cleaned up.

    `more` says that a list or the count of scopes was cut at a thousand.
    """

    states: Mapping[RetentionState, Mapping[Tier, int]]
    orphaned: tuple[UUID, ...] = ()
    dangling: tuple[UUID, ...] = ()
    unused_vectors: Mapping[UUID, int] = field(default_factory=dict)
    overdue_scopes: int = 0
    more: bool = False

    def count(self, state: RetentionState, tier: Tier | None = None) -> int:
        """How many entries are in a state, in one tier or in all."""
        found = self.states[state]
        return sum(found.values()) if tier is None else found.get(tier, 0)


class Retention:
    """Keeps what the policies of one agent keep, and lets go of the rest."""

    def __init__(self, spec: MemorySpec, gateway: Gateway, retaining: Retaining, clock: Clock):
        self._spec = spec
        self._gateway = gateway
        self._retaining = retaining
        self._clock = clock

    async def tombstone(
        self, scope: Scope, entry_id: UUID, *, reason: str, key: str | None
    ) -> Receipt:
        """Mark a persistent entry as deleted; `undo` brings it back while its grace lasts."""
        require(self._spec, scope, Capability.TOMBSTONE)
        require_whole_anchor(scope)
        wanted = check_uuid(entry_id, "entry_id")
        reason = self._gateway.said(reason)
        call = {"verb": "tombstone", "memory": str(wanted), "reason": reason}
        async with self._retaining.hold(scope, self._clock.now()) as held:

            async def decide() -> list[Step]:
                entry = (await one_entry(held, wanted)).entry
                if entry.deleted_at is not None:
                    return [steps.link("tombstoned", Decision.NOOP, reason, entry=entry)]
                await _check_free(held, entry)
                return [self._bury(held, entry, reason, "explicit")]

            return await self._gateway.settle_once(held, call, key, decide)

    async def dispose_tombstones(self, scope: Scope) -> Disposed:
        """Tombstone what outlived its TTL, then empty the tombstones whose grace is over."""
        require(self._spec, scope, Capability.MAINTAIN)
        require_whole_anchor(scope)
        expired: list[Receipt] = []
        disposed: list[Receipt] = []
        for typology in MEMORY:
            expired += await self._batches(scope, partial(self._expire, typology))
            disposed += await self._batches(scope, partial(self._strip, typology))
        return Disposed(tuple(expired), tuple(disposed))

    async def reconcile(self, scope: Scope) -> Reconciled:
        """Count the retention states and name what should not be there; change nothing."""
        if not allows(self._spec, scope, Capability.MAINTAIN):
            require(self._spec, scope, Capability.AUDIT)
        now = self._clock.now()
        since = {
            tier: now - timedelta(minutes=self._spec.tiers.at(tier).lease_minutes)
            for tier in (Tier.SESSION, Tier.INTERACTION)
        }
        async with self._retaining.look(scope, now) as held:
            orphaned = await held.orphaned(LISTED + 1)
            dangling = await held.dangling(LISTED + 1)
            scopes = await held.overdue_scopes(since, LISTED + 1)
            return Reconciled(
                states=await held.states(),
                orphaned=tuple(orphaned[:LISTED]),
                dangling=tuple(dangling[:LISTED]),
                unused_vectors=await held.unused_vectors(),
                overdue_scopes=scopes,
                more=max(len(orphaned), len(dangling), scopes) > LISTED,
            )

    async def _expire(self, typology: Typology, held: Retained) -> list[Step]:
        ttl = self._policy(typology).active_ttl_days
        if ttl is None:
            return []
        ids = await held.expired(typology, held.at - timedelta(days=ttl), BATCH)
        known = await held.known("named", ids=ids) if ids else []
        reason = f"its retention of {ttl} days is over"
        return [self._bury(held, one.entry, reason, "active_ttl") for one in known]

    async def _strip(self, typology: Typology, held: Retained) -> list[Step]:
        policy = self._policy(typology)
        before = held.at - timedelta(days=policy.tombstone_grace_days)
        ids = await held.disposable(typology, before, BATCH)
        if not ids:
            return []
        known = await held.known("named", ids=ids)
        keep = policy.disposal is Disposal.RETAIN_METADATA
        await held.strip(ids, before, keep_envelope=keep)
        reason = f"its grace of {policy.tombstone_grace_days} days is over"
        told = {"disposal": policy.disposal.value}
        return [
            steps.link("disposed", Decision.DELETE, reason, entry=one.entry, detail=told)
            for one in known
        ]

    def _bury(self, held: Retained, entry: Entry, reason: str, cause: str) -> Step:
        grace = self._policy(entry.typology).tombstone_grace_days
        told = {"cause": cause, "grace_days": grace}
        return steps.turn(
            entry, {"deleted_at": held.at}, "tombstoned", reason, to="deleted",
            decision=Decision.DELETE, detail=told,
        )  # fmt: skip

    def _policy(self, typology: Typology) -> RetentionPolicy:
        return self._spec.retention_of(MEMORY[typology])

    async def _batches(self, scope: Scope, decide: Decide) -> list[Receipt]:
        """One transaction per batch: a large anchor is not held for the whole run."""
        receipts: list[Receipt] = []
        while True:
            async with self._retaining.hold(scope, self._clock.now()) as held:
                made = await decide(held)
                receipts += await self._gateway.settle(held, made)
            if len(made) < BATCH:
                return receipts


async def _check_free(held: Retained, entry: Entry) -> None:
    """Only what is persistent, and what nothing rests on, can be tombstoned."""
    if entry.tier is not Tier.PERSISTENT:
        raise TransitionRefused(
            f"Entry {entry.id} is at the {entry.tier} tier; it lives as long as its scope.",
            remedy="Close its session or interaction, or archive the entry.",
        )
    acted, disputed = await held.kept_by(entry.id)
    if acted:
        raise TransitionRefused(
            f"An action rests on entry {entry.id}; it cannot go from beneath it.",
            remedy="Archive it instead: it is no longer recalled, and the action keeps its ground.",
        )
    if disputed:
        raise TransitionRefused(
            f"Entry {entry.id} contradicts canonical content, and nobody dismissed that.",
            remedy="Resolve the contradiction as dismissed first, or archive the entry.",
        )
