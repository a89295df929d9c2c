"""What a valid spec may not have meant: warnings, and notes about what its answers come to.

A spec with a problem is refused; one with a warning is applied. A warning says that something the
spec's own memory needs is granted to nobody, or that something is written which no read can reach.
A note says what happens to most of what is observed, because nobody expects it.
"""

from __future__ import annotations

from collections.abc import Iterator

from idetic.model import Capability, PrincipalKind, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Signal
from idetic.spec.problems import Finding, ProblemLevel, SpecProblem, Steps, ordered
from idetic.spec.typology import (
    CandidateGround,
    PromotionPath,
    PromotionPolicy,
    ScopeEnd,
    WriteMode,
    cell_of,
)

_PRINCIPALS = ("visibility", "principals")
_O, _M = PrincipalKind.OPERATOR, PrincipalKind.MAINTENANCE
# What memory needs somebody for: whom to grant it to, and what is never done without.
_NEEDED = {
    Capability.OBSERVE: (PrincipalKind.AGENT, "nothing is ever written down"),
    Capability.READ: (PrincipalKind.AGENT, "what is written is never read"),
    Capability.PROMOTE: (_O, "a candidate waits for independent sources, whatever a person knows"),
    Capability.UNDO: (_O, "a wrong automatic decision stays"),
    Capability.ERASE: (_O, "a person who asks to be forgotten is not"),
    Capability.MAINTAIN: (_M, "no worker embeds, consolidates or closes abandoned sessions"),
}


def warnings_of(spec: MemorySpec) -> tuple[SpecProblem, ...]:
    """What the author of a spec should look at again, in the documents' order."""
    found = ordered([*_ungranted(spec), *_unwritten(spec), *_unread(spec), *_dropped(spec)])
    return tuple(SpecProblem.of(one, level=ProblemLevel.WARNING) for one in found)


def notes_of(spec: MemorySpec) -> tuple[SpecProblem, ...]:
    """What is worth knowing about a spec that does as it says."""
    return tuple(SpecProblem.of(one, level=ProblemLevel.NOTE) for one in _plain_notes(spec))


def has_candidates(spec: MemorySpec) -> bool:
    """Whether closing a session may leave candidates, which wait for a promotion."""
    return _route(spec) is None and Typology.EPISODIC not in spec.typology.at(Tier.PERSISTENT)


def leaving_policy(spec: MemorySpec) -> PromotionPolicy:
    """The policy that a session's statements meet when it closes."""
    persistent = Typology.EPISODIC in spec.typology.at(Tier.PERSISTENT)
    return spec.promotion_of(Tier.PERSISTENT if persistent else Tier.SESSION, Typology.EPISODIC)


def _ungranted(spec: MemorySpec) -> Iterator[Finding]:
    """Capabilities that the spec's own memory needs, and that it grants to nobody."""
    for capability, (kind, otherwise) in _NEEDED.items():
        if capability is Capability.PROMOTE and not has_candidates(spec):
            continue
        if not any(spec.may(each, capability) for each in PrincipalKind):
            yield Finding(
                _PRINCIPALS,
                f"Nobody may `{capability}`, so {otherwise}.",
                f"Add `{capability}` to `{kind}`.",
            )


def _unwritten(spec: MemorySpec) -> Iterator[Finding]:
    """Preferences that nobody may state and no pattern becomes."""
    if Typology.PROCEDURAL not in spec.typology.at(Tier.PERSISTENT):
        return
    policy = spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL)
    stated = any(spec.may(kind, Capability.PREFER) for kind in PrincipalKind)
    if policy.mode is WriteMode.EXPLICIT and not stated and not policy.auto_extract:
        yield Finding(
            _PRINCIPALS,
            "Nobody may `prefer`, and no pattern is extracted, so procedural memory stays empty.",
            "Add `prefer` to `operator`, or take `procedural` out of `typology.persistent`.",
        )


def _unread(spec: MemorySpec) -> Iterator[Finding]:
    """Tiers whose entries weigh nothing in recall, and signals that find nothing by themselves."""
    # Summaries of a log's loops are read by themselves, not by recall.
    aside = {Tier.SESSION} if spec.backend.log is not None else set()
    for tier, weight in spec.retrieval.tiers.items():
        if weight == 0 and spec.typology.at(tier) and tier not in aside:
            yield Finding(
                ("retrieval", "tiers", tier.value),
                f"The {tier} tier has the weight 0, so recall never finds its entries.",
                f"Write `{tier}: 1.0`, or let the tier hold nothing.",
            )
    finding = (Signal.SEMANTIC, Signal.LEXICAL, Signal.ENVELOPE)
    if not any(spec.retrieval.signals.get(signal) for signal in finding):
        yield Finding(
            ("retrieval", "signals"),
            "No signal looks at what an entry says, so a question never finds its answer.",
            "Give `semantic` or `lexical` a weight above 0.",
        )


def _dropped(spec: MemorySpec) -> Iterator[Finding]:
    """Scopes whose end nothing outlives. A log writes what outlives its sessions by itself."""
    if spec.backend.log is not None:
        return
    why = _route(spec)
    if why is not None and _goes(spec, Tier.SESSION):
        steps, because, keep = why
        yield Finding(
            steps,
            f"What you observe in a session is dropped when the session closes, because {because}.",
            f"To keep it, {keep}.",
        )
    policy = spec.promotion_of(Tier.INTERACTION, Typology.EPISODIC)
    here = Typology.EPISODIC in spec.typology.at(Tier.INTERACTION)
    carried = policy.path is not PromotionPath.NONE and Typology.EPISODIC in spec.typology.at(
        Tier.SESSION
    )
    if here and not carried and _goes(spec, Tier.INTERACTION):
        yield Finding(
            ("typology", "session"),
            "What you observe in an interaction is dropped when it closes, because nothing of it "
            "is carried into its session.",
            "To keep it, let the session tier hold `episodic` and leave `promotion` as it is.",
        )


def _plain_notes(spec: MemorySpec) -> Iterator[Finding]:
    """That most observations go, where only some of them become candidates that stay."""
    grounds = leaving_policy(spec).candidates
    if not has_candidates(spec) or spec.backend.log is not None or not _goes(spec, Tier.SESSION):
        return
    dropped = "What you observe in a session is dropped when the session closes, unless"
    if Typology.SEMANTIC not in spec.typology.at(Tier.PERSISTENT):
        said = spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL).pattern_attributes
        yield Finding(
            ("typology", "persistent"),
            f"{dropped} its claim says how things are done: {', '.join(said)}.",
            "To keep facts too, add `semantic` to `typology.persistent`.",
        )
    elif CandidateGround.ANY not in grounds:
        cell = cell_of(Tier.SESSION, Typology.EPISODIC)
        if CandidateGround.REPETITION in grounds:
            days = leaving_policy(spec).candidate_days
            dropped = f"What you observe in a session goes after {days:g} days, unless"
        yield Finding(
            ("promotion",),
            f"{dropped} it has a ground to be kept: {', '.join(grounds)}.",
            f"To keep everything as a candidate, set `candidates: [any]` for the cell `{cell}` "
            "under `promotion.deviations`, with the reason.",
        )


def _goes(spec: MemorySpec, tier: Tier) -> bool:
    """Whether a tier holds episodes, and lets them go with their scope."""
    held = Typology.EPISODIC in spec.typology.at(tier)
    return held and spec.lifecycle_of(tier, Typology.EPISODIC).at_scope_end is ScopeEnd.DROP


def _route(spec: MemorySpec) -> tuple[Steps, str, str] | None:
    """Why nothing leads from a session to persistent memory: where, because of what, and how to
    keep it; None where something does."""
    mix, policy = spec.typology.at(Tier.PERSISTENT), leaving_policy(spec)
    extracts = Typology.PROCEDURAL in mix and spec.writes_of(
        Tier.PERSISTENT, Typology.PROCEDURAL
    ).auto_extract  # fmt: skip
    if Typology.EPISODIC not in mix and Typology.SEMANTIC not in mix and not extracts:
        return (
            ("typology", "persistent"),
            "the persistent tier holds neither episodes nor facts",
            "add `semantic` or `episodic` to `typology.persistent`",
        )
    if policy.path is PromotionPath.NONE:
        keep = "remove the deviation that sets `path: none`"
        return ("promotion",), "the promotion path of episodes is `none`", keep
    refers = bool(spec.references.canonical)
    if policy.candidates == (CandidateGround.REFERENCE,) and not refers:
        return (
            ("promotion",),
            "only what refers to canonical content becomes a candidate, and there is none",
            "name canonical tables, or add `claim` to `candidates`",
        )
    return None
