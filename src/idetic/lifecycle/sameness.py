"""Sameness: what reads alike is proposed as one, with both texts; a person decides.

Similarity alone never merges. It proposes, from the spec's bound on; and so do equal words in an
order that may say something else. Two texts that differ in a number, a name or a negation are not
even proposed. With a reasoner, overlapping facts are put before it instead, and only what it has
not judged comes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import TransitionRefused
from idetic.evidence import ProposalKind, ProposalStatus
from idetic.lifecycle.duplicates import Sameness, compare
from idetic.lifecycle.fact_merge import FactMerge
from idetic.lifecycle.paraphrases import keeps_details
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import (
    beside,
    distinct,
    policy_of,
    statement,
    supported_entries,
)
from idetic.model import EntryState, Typology
from idetic.spec.primitives import Boundary
from idetic.spec.typology import PromotionPolicy
from idetic.store.anchor_scans import changed_facts, judged_pairs, nearest, same_words
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.store.proposal_rows import EVENTS, ProposalRow, ProposeStep, proposal_rows
from idetic.store.steps import Step

# What the mark of a run is called.
SAMENESS = "sameness"
BATCH = 200
MOST = 10_000
Pair = frozenset[UUID]


async def propose_sameness(binding: Binding, profile_id: UUID | None) -> tuple[UUID, ...]:
    """Propose as one what changed since the last run and reads alike; the proposals' ids."""
    if not binding.spec.proposes:
        return ()
    async with binding.look() as tx:
        position, ids = await changed_facts(tx, SAMENESS, MOST, candidates=True)
        pairs, whole = await _pairs(tx, ids, profile_id)
    made: list[ProposeStep] = []
    if pairs:
        async with binding.hold() as tx:
            made = await _proposing(tx, pairs)
            await binding.settle(tx, made)
    if whole:
        await binding.engine.marks.mark(
            binding.scope, SAMENESS, position, binding.engine.clock.now()
        )
    return tuple(one.row_id for one in made)


async def _pairs(
    tx: AnchorTransaction, ids: Sequence[UUID], profile_id: UUID | None
) -> tuple[set[Pair], bool]:
    """Pairs that are near, or have the same words; and whether every one had its vector."""
    found, whole = set[Pair](), True
    bound = policy_of(tx.spec).dedup_similarity
    for first in range(0, len(ids), BATCH):
        known = await tx.stored(ids[first : first + BATCH])
        near = await same_words(tx, [(n, one.entry.body_text) for n, one in enumerate(known)])
        found |= _edges(known, near, 1.0)
        vectors = [(n, one.vector) for n, one in enumerate(known) if one.vector is not None]
        if profile_id is not None:
            near = await nearest(tx, vectors, profile_id, Typology.SEMANTIC)
            found |= _edges(known, near, bound)
        whole = whole and (profile_id is None or len(vectors) == len(known))
        found -= await judged_pairs(tx, [one.id for one in known])
    return found, whole


def _edges(
    known: Sequence[StoredEntry],
    near: Mapping[int, Iterable[tuple[UUID, float]]],
    bound: float,
) -> set[Pair]:
    """The pairs of entries that are as near as a bound says."""
    return {
        frozenset((known[number].id, other))
        for number, others in near.items()
        for other, similarity in others
        if similarity >= bound and other != known[number].id
    }


async def _proposing(tx: AnchorTransaction, pairs: set[Pair]) -> list[ProposeStep]:
    """A proposal for each pair that still stands and is not proposed yet."""
    standing = {_pair(one) for one in await _open(tx)}
    wanted = sorted(sorted(pair) for pair in pairs - standing)
    stored = {one.id: one for one in await tx.stored({one for pair in wanted for one in pair})}
    policy, steps = policy_of(tx.spec), list[ProposeStep]()
    kind = ProposalKind.SAMENESS
    for one, other in ((stored.get(first), stored.get(second)) for first, second in wanted):
        if one is None or other is None:
            continue
        similarity = _alike(one, other, policy)
        if similarity is not None:
            support = {"similarity_percent": round(100 * similarity)}
            why = "two entries read alike"
            steps.append(
                ProposeStep(EVENTS[kind], why, kind, None, support, other.id, entry=one.entry)
            )
    return steps


def _alike(one: StoredEntry, other: StoredEntry, policy: PromotionPolicy) -> float | None:
    """How alike two entries are that may say the same; None where they cannot."""
    stand = all(
        found.entry.state is EntryState.CURRENT and found.entry.typology is Typology.SEMANTIC
        for found in (one, other)
    )
    if not stand or (one.entry.claim and other.entry.claim):
        # What both claim decides by itself.
        return None
    found = compare(statement(one), statement(other), policy)
    if found.verdict is Sameness.CONFLICT:
        return None
    details = keeps_details(one.entry.body_text, other.entry.body_text)
    return max(found.similarity or 0, found.trigram or 0) if details else None


async def _open(tx: AnchorTransaction) -> list[ProposalRow]:
    """The proposals of sameness that nobody has decided about."""
    rows = await proposal_rows(tx, status=[ProposalStatus.OPEN])
    return [one for one in rows if one.proposal.kind is ProposalKind.SAMENESS]


def _pair(row: ProposalRow) -> Pair:
    """The two entries that a proposal is about."""
    return frozenset(row.proposal.entries)


async def decision_steps(
    binding: Binding, tx: AnchorTransaction, row: ProposalRow, status: ProposalStatus
) -> list[Step]:
    """What a decision does: two entries become one, or are remembered as two."""
    if status is ProposalStatus.WITHDRAWN:
        return []
    known = await tx.stored(row.proposal.entries)
    supported = {one.id: one for one in await supported_entries(tx, known)}
    sanitize = binding.engine.gates.at(Boundary.PROMOTION)
    merge = FactMerge(tx.spec, sanitize, tx.at, supported)
    if status is ProposalStatus.DECLINED:
        merge.remember(known, "different")
        return [*merge.steps]
    if len(known) < len(row.proposal.entries) or not all(one.live for one in supported.values()):
        raise TransitionRefused(
            "One of the two entries is not current any more.", remedy="Withdraw the proposal."
        )
    kept = supported[merge.same(known, why="a person confirmed that they say the same")]
    kept.sources = distinct(one for found in supported.values() for one in found.sources)
    work = PromotionPass(tx.spec, sanitize, tx.at)
    work.weigh(kept, await beside(tx, kept), quiet=True)
    return [*merge.steps, *work.steps]
