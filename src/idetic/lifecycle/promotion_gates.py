"""The four gates of promotion, as pure functions: each says what it saw and what it needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from idetic.evidence import Corroboration, GateResult, PromotionGate
from idetic.gates.gate import Pipeline
from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import PromotionPolicy


def policy_of(spec: MemorySpec) -> PromotionPolicy:
    """The policy that episodes meet on their way to a fact.

    Where the persistent tier holds episodes they are promoted from there; where it does not, they
    come straight from the session.
    """
    persistent = Typology.EPISODIC in spec.typology.at(Tier.PERSISTENT)
    return spec.promotion_of(Tier.PERSISTENT if persistent else Tier.SESSION, Typology.EPISODIC)


def independent(sources: Iterable[Corroboration]) -> list[Corroboration]:
    """The sources that count: each once, none withdrawn, nothing an agent only inferred."""
    found: dict[object, Corroboration] = {}
    for one in sources:
        if one.withdrawn_at is None and one.source_type.independent:
            found.setdefault(one.source, one)
    return list(found.values())


def sessions(sources: Sequence[Corroboration]) -> set[UUID]:
    """The contexts that sources come from; one outside any session is a context of its own."""
    return {one.session_id or one.source_ref for one in sources}


def deduplication(why: str, similarity: float | None = None) -> GateResult:
    """It is the one entry that says this."""
    have = 1.0 if similarity is None else round(float(similarity), 4)
    return GateResult(PromotionGate.DEDUPLICATION, True, have, have, why)


def duplicate() -> GateResult:
    """Another entry states this already, and one is enough."""
    return GateResult(PromotionGate.DEDUPLICATION, False, 2, 1, "another entry states this already")


def corroboration(sources: Sequence[Corroboration], need: int) -> GateResult:
    """Enough independent sources."""
    have = len(sources)
    why = f"{have} independent source{'' if have == 1 else 's'}, {need} needed"
    return GateResult(PromotionGate.CORROBORATION, have >= need, have, need, why)


def confidence(agree: int, against: int, need: float) -> GateResult:
    """A pattern repeated often enough: the rule of succession over what was seen."""
    have = (agree + 1) / (agree + against + 2)
    why = f"seen {agree} times for and {against} against: confidence {have:.2f}, {need:.2f} needed"
    return GateResult(PromotionGate.CORROBORATION, have >= need, round(have, 4), need, why)


def sanitization(pipeline: Pipeline, text: str) -> GateResult:
    """Nothing in it that its boundary would have changed."""
    passed = pipeline.apply(text)
    found = sum(change.count for change in passed.changes)
    if passed.refused is not None:
        return GateResult(PromotionGate.SANITIZATION, False, found, 0, passed.refused)
    why = "nothing to remove" if not found else f"{found} removed"
    return GateResult(PromotionGate.SANITIZATION, found == 0, found, 0, why)


def cross_context(sources: Sequence[Corroboration], need: int) -> GateResult:
    """More than one session says so."""
    have = len(sessions(sources))
    why = f"{have} session{'' if have == 1 else 's'} agree, {need} needed"
    return GateResult(PromotionGate.CROSS_CONTEXT, have >= need, have, need, why)


def outranked(trust: int, other: int) -> GateResult:
    """What would replace a stronger statement waits for somebody to decide."""
    why = f"its trust is {trust}, and it would replace a statement of {other}"
    return GateResult(PromotionGate.CROSS_CONTEXT, False, trust, other, why)
