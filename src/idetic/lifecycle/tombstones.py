"""Retention: tombstones, what becomes of them when their grace is over, and what stands where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from uuid import UUID

from idetic.engine import Binding, in_batches
from idetic.errors import TransitionRefused
from idetic.lifecycle.close_scope import lease_starts
from idetic.lifecycle.promotion_inputs import policy_of
from idetic.model import Capability, Decision, Entry, Receipt, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.retention import MEMORY, Disposal, RetentionPolicy, RetentionState
from idetic.store import retention_rows
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.steps import LinkStep, Step, TurnStep, drop_steps
from idetic.verbs.declaration import post, verb

BATCH = 500
LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Disposed:
    """The result of a disposal run: new tombstones, and tombstones that were emptied.

    `evidence` are entries that were deleted because no entry rests on them any more.
    """

    expired: tuple[Receipt, ...] = ()
    disposed: tuple[Receipt, ...] = ()
    evidence: tuple[Receipt, ...] = ()


@dataclass(frozen=True, slots=True)
class Reconciled:
    """A report of the entries in each state, and of inconsistencies; it changes nothing.

    `misindexed` are segments of the word index that differ from their entries: they wait for
    `index_words`, or somebody altered them. `more` says that a list or the count of scopes was cut
    at a thousand.
    """

    states: Mapping[RetentionState, Mapping[Tier, int]]
    orphaned: tuple[UUID, ...] = ()
    dangling: tuple[UUID, ...] = ()
    unused_vectors: Mapping[UUID, int] = field(default_factory=dict)
    overdue_scopes: int = 0
    misindexed: tuple[UUID, ...] = ()
    more: bool = False

    def count(self, state: RetentionState, tier: Tier | None = None) -> int:
        """How many entries are in a state, in one tier or in all."""
        found = self.states[state]
        return sum(found.values()) if tier is None else found.get(tier, 0)


@verb(
    capability=Capability.TOMBSTONE,
    writes=True,
    http=post("/entries/{entry_id}/tombstone", "maturing"),
    examples=('idetic tombstone ENTRY_ID --reason "asked for" {scope}',),
)
async def tombstone(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Mark a persistent entry as deleted. `undo` brings it back until it is disposed of."""
    reason = binding.gated_reason(reason)
    call = {"verb": "tombstone", "memory": str(entry_id), "reason": reason}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return known
        entry = (await tx.entry(entry_id)).entry
        step: Step = LinkStep("tombstoned", reason, entry=entry)
        if entry.deleted_at is None:
            await _check_free(tx, entry)
            step = _buried(tx, entry, reason, "explicit")
        return await binding.settle_once(tx, [step], idempotency_key, call)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/tombstones/dispose", "upkeep"))
async def dispose_tombstones(binding: Binding) -> Disposed:
    """Tombstone entries past their TTL, and empty tombstones past their grace period.

    A candidate whose only ground was repetition is tombstoned too. Evidence is deleted with the
    last entry that rests on it.
    """
    expired = await in_batches(binding, _unrepeated, BATCH)
    disposed: list[Receipt] = []
    for typology in MEMORY:
        expired += await in_batches(binding, partial(_expired, typology), BATCH)
        disposed += await in_batches(binding, partial(_stripped, typology), BATCH)
    evidence: list[Receipt] = []
    while gone := await _drop_loose_evidence(binding):
        evidence += gone
    return Disposed(tuple(expired), tuple(disposed), tuple(evidence))


@verb(
    capability=(Capability.MAINTAIN, Capability.AUDIT),
    repeatable=False,
    http=post("/reconcile", "upkeep"),
)
async def reconcile(binding: Binding) -> Reconciled:
    """Count the entries of each state and list inconsistencies; change nothing."""
    # By itself: a transaction that waits for another connection could wait for ever.
    misindexed = await binding.engine.words.check(binding.scope)
    async with binding.look() as tx:
        since = lease_starts(tx.spec, tx.at)
        orphaned = await tx.ids("retention", "orphaned", limit=LISTED + 1)
        dangling = await retention_rows.dangling(tx, LISTED + 1)
        scopes = await retention_rows.overdue_scopes(tx, since, LISTED + 1)
        return Reconciled(
            states=await retention_rows.retention_states(tx),
            orphaned=tuple(orphaned[:LISTED]),
            dangling=tuple(dangling[:LISTED]),
            unused_vectors=dict(await tx.ask("retention", "unused_vectors")),
            overdue_scopes=scopes,
            misindexed=misindexed,
            more=max(len(orphaned), len(dangling), scopes) > LISTED,
        )


async def _expired(typology: Typology, tx: AnchorTransaction) -> list[Step]:
    """Steps that bury what has outlived the retention of its typology, if it has one."""
    ttl = _policy(tx.spec, typology).active_ttl_days
    if ttl is None:
        return []
    ids = await retention_rows.expired(tx, typology, tx.at - timedelta(days=ttl), BATCH)
    reason = f"its retention of {ttl} days is over"
    return [_buried(tx, one.entry, reason, "active_ttl") for one in await tx.stored(ids)]


async def _unrepeated(tx: AnchorTransaction) -> list[Step]:
    """Steps that bury candidates which waited to be said again, and were not."""
    days = policy_of(tx.spec).candidate_days
    ids = await retention_rows.unrepeated(tx, tx.at - timedelta(days=days), BATCH)
    why = f"nobody said it again within {days:g} days"
    return [_buried(tx, one.entry, why, "not_repeated") for one in await tx.stored(ids)]


async def _stripped(typology: Typology, tx: AnchorTransaction) -> list[Step]:
    """Remove the content of tombstones whose grace is over; the steps say so in the ledger."""
    policy = _policy(tx.spec, typology)
    before = tx.at - timedelta(days=policy.tombstone_grace_days)
    ids = await tx.ids(
        "retention", "disposable", typology=typology.value, before=before, limit=BATCH
    )
    if not ids:
        return []
    stored = await tx.stored(ids)
    keep = policy.disposal is Disposal.RETAIN_METADATA
    # Refused for anything but tombstones from before that moment.
    await tx.ask("retention", "strip", ids=ids, before=before, keep_envelope=keep)
    why, told = f"its grace of {policy.tombstone_grace_days} days is over", policy.disposal.value
    return [
        LinkStep("disposed", why, decision=Decision.DELETE, entry=one.entry,
                 detail={"disposal": told})
        for one in stored
    ]  # fmt: skip


async def _drop_loose_evidence(binding: Binding) -> list[Receipt]:
    """Drop the evidence of one session on which nothing rests any more; none when all is gone."""
    async with binding.hold() as tx:
        rows = await tx.ask("retention", "loose_evidence", limit=BATCH)
        if not rows:
            return []
        session_id = rows[0][0]
        tx.let_transient_go(session_id)
        entries = [one.entry for one in await tx.stored(r[1] for r in rows if r[0] == session_id)]
        steps = drop_steps(entries, "nothing rests on it any more", {})
        return await binding.settle(tx, steps)


def _buried(tx: AnchorTransaction, entry: Entry, reason: str, cause: str) -> Step:
    """The step that makes a tombstone of an entry, and says why and for how long."""
    told = {"cause": cause, "grace_days": _policy(tx.spec, entry.typology).tombstone_grace_days}
    changes, gone = {"deleted_at": tx.at}, Decision.DELETE
    return TurnStep("tombstoned", reason, changes, entry=entry, decision=gone, detail=told)


def _policy(spec: MemorySpec, typology: Typology) -> RetentionPolicy:
    """The retention policy of a typology, which the spec keeps under the entity's name."""
    return spec.retention_of(MEMORY[typology])


async def _check_free(tx: AnchorTransaction, entry: Entry) -> None:
    """Only what is persistent, and what nothing rests on, can be tombstoned."""
    if entry.tier is not Tier.PERSISTENT:
        raise TransitionRefused(
            f"Entry {entry.id} lives as long as its {tx.spec.tiers.name_of(entry.tier)}.",
            remedy=f"Close the {tx.spec.tiers.name_of(entry.tier)}, or archive the entry.",
        )
    acted, disputed = await retention_rows.kept_by(tx, entry.id)
    if acted:
        raise TransitionRefused(
            f"An action rests on entry {entry.id}; it cannot be deleted.",
            remedy="Archive it: recall then leaves it out, and the action keeps its evidence.",
        )
    if disputed:
        raise TransitionRefused(
            f"Entry {entry.id} has a contradiction that nobody dismissed.",
            remedy="Resolve the contradiction as dismissed first, or archive the entry.",
        )
