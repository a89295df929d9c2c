"""Repeated preferences: of those that say the same in the same words, the latest stays.

One that makes a claim supersedes by its claim when it is written. Without a claim its words alone
tell that it was stated before, in other spelling or another order; consolidation compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from idetic.engine import Binding
from idetic.evidence import Decided
from idetic.lifecycle.duplicates import Sameness, compare
from idetic.lifecycle.promotion import decisions
from idetic.lifecycle.promotion_inputs import policy_of, statement
from idetic.model import Entry, EntryState, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ConflictRule
from idetic.store.anchor_scans import same_words
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.store.steps import TurnStep

MOST = 1_000


async def supersede_repeated(binding: Binding) -> list[Decided]:
    """Supersede preferences that a later one says again; undo takes each of them back."""
    if not _supersedes(binding.spec):
        return []
    listed = await binding.engine.entries.current(
        binding.scope,
        tier=Tier.PERSISTENT.value,
        typology=Typology.PROCEDURAL.value,
        limit=MOST,
        before=None,
        session_id=None,
        interaction_id=None,
    )
    ids = [one.id for one in listed if one.claim is None]
    if len(ids) < 2:
        return []
    async with binding.look() as tx:
        if not await _repeated(tx, ids):
            return []
    async with binding.hold() as tx:
        steps = await _repeated(tx, ids)
        return decisions(steps, await binding.settle(tx, steps))


def _supersedes(spec: MemorySpec) -> bool:
    """Whether the latest preference takes the place of the prior one, as the default says."""
    held = Typology.PROCEDURAL in spec.typology.at(Tier.PERSISTENT)
    rule = spec.conflict_of(Tier.PERSISTENT, Typology.PROCEDURAL).rule
    return held and rule is ConflictRule.SUPERSEDE


async def _repeated(tx: AnchorTransaction, ids: Sequence[UUID]) -> list[TurnStep]:
    """The steps for all that a later one says again."""
    known = {one.id: one for one in await tx.stored(ids)}
    live = sorted((one for one in known.values() if _stands(one.entry)), key=lambda one: one.id)
    near = await same_words(tx, [(n, one.entry.body_text) for n, one in enumerate(live)])
    steps: list[TurnStep] = []
    gone: set[UUID] = set()
    for number in reversed(range(len(live))):
        latest = live[number]
        for other in (known.get(one) for one, _ in near.get(number, ())):
            if other is None or {other.id, latest.id} & gone or not _says(tx, latest, other):
                continue
            gone.add(other.id)
            changes = {"superseded_at": tx.at, "superseded_by": latest.id}
            told = {"replaced_by": str(latest.id)}
            why = "a later one says it in the same words"
            steps.append(TurnStep("superseded", why, changes, entry=other.entry, detail=told))
    return steps


def _stands(entry: Entry) -> bool:
    """Whether an entry holds, and nobody has to confirm it first."""
    return entry.state is EntryState.CURRENT and not entry.candidate


def _says(tx: AnchorTransaction, latest: StoredEntry, other: StoredEntry) -> bool:
    """Whether the later of two says what the other does, of the same things, and as surely."""
    one, prior = latest.entry, other.entry
    if not _stands(prior) or prior.id >= one.id or prior.trust > one.trust:
        return False
    if (prior.envelope, set(prior.refs)) != (one.envelope, set(one.refs)):
        return False
    verdict = compare(statement(latest), statement(other), policy_of(tx.spec)).verdict
    return verdict is Sameness.SAME
