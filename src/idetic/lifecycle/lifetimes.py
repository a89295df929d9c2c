"""How long an entry stays: what a receipt says of it the moment it is written.

Told from the spec alone, so that nobody learns at the end of a session what it would not keep. It
is no part of the ledger: it says what will be done, and the ledger what was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from idetic.lifecycle.promotion import target
from idetic.lifecycle.promotion_inputs import policy_of
from idetic.model import Decision, Observation, Receipt, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import CandidateGround, DecayModel, PromotionPath, ScopeEnd

_WROTE = (Decision.ADD, Decision.UPDATE)
# Where only the spec and the cell decide: of what has neither claim nor references, and of all that
# is persistent.
_PLAIN: dict[tuple[str, Tier, Typology], str] = {}


def with_lifetimes(
    spec: MemorySpec,
    tier: Tier,
    typology: Typology,
    seen: Sequence[Observation],
    receipts: Sequence[Receipt],
) -> list[Receipt]:
    """The receipts of observations, each with how long what it wrote stays."""
    return [
        replace(receipt, lifetime=lifetime_of(spec, tier, typology, one))
        if receipt.decision in _WROTE
        else receipt
        for receipt, one in zip(receipts, seen, strict=True)
    ]


def lifetime_of(spec: MemorySpec, tier: Tier, typology: Typology, seen: Observation) -> str:
    """How long an observation stays that is written in this cell now."""
    if tier is not Tier.PERSISTENT and (seen.claim is not None or seen.refs):
        return _worked_out(spec, tier, typology, seen)
    key = (spec.digest, tier, typology)
    if key not in _PLAIN:
        _PLAIN[key] = _worked_out(spec, tier, typology, seen)
    return _PLAIN[key]


def _worked_out(spec: MemorySpec, tier: Tier, typology: Typology, seen: Observation) -> str:
    """The same, from the spec."""
    if tier is Tier.PERSISTENT:
        return _persistent(spec, typology)
    if spec.lifecycle_of(tier, typology).at_scope_end is ScopeEnd.KEEP:
        return f"it stays when its {spec.tiers.name_of(tier)} closes"
    ends = f"it goes when its {spec.tiers.name_of(tier)} closes"
    if tier is Tier.SESSION:
        return f"{ends}{_afterwards(spec, seen)}"
    carried = spec.promotion_of(tier, typology).path is not PromotionPath.NONE
    if not carried or typology not in spec.typology.at(Tier.SESSION):
        return ends
    outer = spec.tiers.name_of(Tier.SESSION)
    inner = spec.tiers.name_of(Tier.INTERACTION)
    over = f"its {outer} takes it over when its {inner} closes, and it goes with that"
    return f"{over}{_afterwards(spec, seen)}"


def _persistent(spec: MemorySpec, typology: Typology) -> str:
    """Persistent memory never goes by itself; time at most asks for a decision about it."""
    policy = spec.decay_of(Tier.PERSISTENT, typology)
    stays, due = "it stays until it is archived or replaced", "it is due for a decision in"
    if policy.model is DecayModel.VALIDITY:
        return f"{stays}; unless confirmed, {due} {_days(policy.validity_days)}"
    if policy.model is DecayModel.FORCING:
        return f"{stays}; {due} {_days(policy.half_life_days)}"
    return stays


def _afterwards(spec: MemorySpec, seen: Observation) -> str:
    """What becomes of a session's statement when the session closes; a gate may still refuse it."""
    becomes, policy = target(spec, seen.claim), policy_of(spec)
    if becomes is None or policy.path is PromotionPath.NONE:
        return ""
    if becomes is Typology.EPISODIC:
        return "; what it says stays as an episode"
    waits = f"stays as a candidate, due for a decision in {_days(policy.candidate_days)}"
    if ground := _ground(seen, policy.candidates):
        return f"; {ground}, what it says {waits}"
    if CandidateGround.REPETITION in policy.candidates:
        days = _days(policy.candidate_days)
        return f"; what it says waits as a candidate, after {days} only if it is said again"
    if CandidateGround.RECURRENCE in policy.candidates:
        return f"; only if another source says the same, it {waits}"
    return ""


def _ground(seen: Observation, grounds: Sequence[CandidateGround]) -> str:
    """The ground on which an observation is kept, in words; empty if it has none by itself."""
    if CandidateGround.CLAIM in grounds and seen.claim is not None:
        return "for its claim"
    if CandidateGround.REFERENCE in grounds and seen.refs:
        return "for its references"
    return "as everything here" if CandidateGround.ANY in grounds else ""


def _days(number: float) -> str:
    """A number of days as one says it."""
    return f"{number:g} day{'' if number == 1 else 's'}"
