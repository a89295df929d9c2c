"""Primitives 6 to 11: the typology-driven defaults of behaviour, and deviations from them.

A spec accepts the defaults by saying nothing, or deviates per cell with a justification. The cells
are the rows of the documents' tables: episodic memory behaves differently in a transient
tier than in the persistent one; semantic and procedural memory behave alike everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from idetic.model import Origin, Tier, Typology

Sentence = Annotated[str, StringConstraints(min_length=12, max_length=2000, strip_whitespace=True)]
Days = Annotated[float, Field(gt=0, le=36_500)]


class SpecPart(BaseModel):
    """Base of every part of a spec and of every policy: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Cell(StrEnum):
    """A row of the documents' default tables."""

    EPISODIC_TRANSIENT = "episodic_transient"
    EPISODIC_PERSISTENT = "episodic_persistent"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


def cell_of(tier: Tier, typology: Typology) -> Cell:
    """The row of the default tables that an entry of this tier and typology falls into."""
    if typology is Typology.SEMANTIC:
        return Cell.SEMANTIC
    if typology is Typology.PROCEDURAL:
        return Cell.PROCEDURAL
    return Cell.EPISODIC_PERSISTENT if tier is Tier.PERSISTENT else Cell.EPISODIC_TRANSIENT


class Deviation(SpecPart):
    """A departure from a typology default, with its reason."""

    cell: Cell
    set: Annotated[dict[str, Any], Field(min_length=1)]
    justification: Sentence


class Behaviour(SpecPart):
    """A behavioural primitive: the typology defaults, but for the deviations listed."""

    deviations: tuple[Deviation, ...] = ()


class ScopeEnd(StrEnum):
    """What the end of its scope does to an entry that nothing rests on."""

    DROP = "drop_unless_promoted"
    KEEP = "keep"


class ArchiveCause(StrEnum):
    """What archives an entry by itself; a disposition and an explicit archive always may."""

    CANONICAL_CHANGE = "canonical_change"
    FAILED_CORROBORATIONS = "failed_corroborations"


class LifecyclePolicy(SpecPart):
    """Primitive 6: what dies, what archives, what stays."""

    at_scope_end: ScopeEnd
    archive_on: tuple[ArchiveCause, ...] = ()
    failed_corroborations: Annotated[int, Field(ge=1, le=100)] = 3


class DecayModel(StrEnum):
    """How an entry ages."""

    SCOPE = "ends_with_scope"
    FORCING = "forcing_function"
    VALIDITY = "validity_window"
    EXEMPT = "exempt"


class DecayPolicy(SpecPart):
    """Primitive 7: what pressure time creates."""

    model: DecayModel
    half_life_days: Days = 7
    validity_days: Days = 90


class WriteMode(StrEnum):
    """How rows of a typology come to be."""

    AUTOMATIC = "automatic"
    PROMOTION_ONLY = "promotion_only"
    EXPLICIT = "explicit"


class SamplingRule(SpecPart):
    """Which observations of a kind are kept: a share of them, or every n-th.

    `where` says of which kind, by keys of the envelope and their values; without it, of every kind.
    """

    where: dict[str, str] = Field(default_factory=dict)
    share: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = None
    every: Annotated[int, Field(ge=2, le=1_000_000)] | None = None


class WritePolicy(SpecPart):
    """Primitive 8: when and how rows are written."""

    mode: WriteMode
    auto_extract: bool = False
    min_confidence: Annotated[float, Field(ge=0.5, le=1)] = 0.9
    # The claim attributes that say how something is done: what auto-extraction looks at.
    pattern_attributes: tuple[str, ...] = ("prefers", "instruction")
    # Whose plain words are evidence of a pattern: claims are drawn from them when a session ends.
    # Of people alone: what an agent or a tool says is nobody's preference.
    pattern_origins: tuple[Literal[Origin.USER, Origin.OPERATOR], ...] = (
        Origin.USER,
        Origin.OPERATOR,
    )
    # Of automatic episodic writes; the first rule that an observation meets decides about it.
    sampling: Annotated[tuple[SamplingRule, ...], Field(max_length=20)] = ()


class PromotionPath(StrEnum):
    """How an entry moves up."""

    COMPOUNDING = "compounding"
    CORROBORATION = "corroboration"
    META_SEMANTIC = "meta_semantic"
    NONE = "none"


class CandidateGround(StrEnum):
    """What makes an observation worth keeping as a candidate when its session ends.

    `recurrence`: several sources of the session said it. `repetition`: somebody may say it again in
    a later one; a candidate with no other ground goes if nobody has within `candidate_days`.
    """

    CLAIM = "claim"
    REFERENCE = "reference"
    RECURRENCE = "recurrence"
    ANY = "any"
    REPETITION = "repetition"


class Independence(StrEnum):
    """When sources speak independently of each other.

    `principals`: one principal alone is one source, in however many sessions it repeats itself; as
    soon as another supports it, each session counts. `sessions`: each session counts, whoever
    opened it; an agent can then promote what it says itself.
    """

    PRINCIPALS = "principals"
    SESSIONS = "sessions"

    def counted(self, voices: Sequence[str]) -> int:
        """How many of some sources count, each named by who stands behind it."""
        alone = self is Independence.PRINCIPALS and len(set(voices)) == 1
        return 1 if alone else len(voices)


class PromotionPolicy(SpecPart):
    """Primitive 9: what triggers a move up a tier."""

    path: PromotionPath
    independence: Independence = Independence.PRINCIPALS
    min_corroborations: Annotated[int, Field(ge=1, le=100)] = 3
    min_sessions: Annotated[int, Field(ge=1, le=100)] = 2
    min_versions: Annotated[int, Field(ge=2, le=100)] = 2
    # How many anchors have to know the same until it holds at the broader one.
    min_anchors: Annotated[int, Field(ge=2, le=100)] = 2
    dedup_similarity: Annotated[float, Field(gt=0, le=1)] = 0.95
    dedup_trigram: Annotated[float, Field(gt=0, le=1)] = 0.85
    candidates: Annotated[tuple[CandidateGround, ...], Field(min_length=1)] = (
        CandidateGround.CLAIM,
        CandidateGround.REFERENCE,
        CandidateGround.RECURRENCE,
        CandidateGround.REPETITION,
    )
    candidate_days: Days = 30


class ConflictRule(StrEnum):
    """What a contradicting write does."""

    NOOP = "noop"
    VALIDITY = "update_with_temporal_validity"
    SUPERSEDE = "update_with_supersession"


class ConflictPolicy(SpecPart):
    """Primitive 10: what happens when a new entry contradicts an old one."""

    rule: ConflictRule


class ConsolidationMethod(StrEnum):
    """How observations merge into fewer, richer entries."""

    COMPOUNDING = "compounding_at_boundaries"
    MERGE = "merge"
    SUPERSESSION = "append_with_supersession"
    # A 1:1 mirror (CHAOS long-term memory) merges nothing; no typology defaults to this.
    NONE = "none"


class ConsolidationPolicy(SpecPart):
    """Primitive 11: how observations merge."""

    method: ConsolidationMethod


LIFECYCLE: Mapping[Cell, LifecyclePolicy] = {
    Cell.EPISODIC_TRANSIENT: LifecyclePolicy(at_scope_end=ScopeEnd.DROP),
    Cell.EPISODIC_PERSISTENT: LifecyclePolicy(at_scope_end=ScopeEnd.KEEP),
    Cell.SEMANTIC: LifecyclePolicy(
        at_scope_end=ScopeEnd.KEEP,
        archive_on=(ArchiveCause.CANONICAL_CHANGE, ArchiveCause.FAILED_CORROBORATIONS),
    ),
    Cell.PROCEDURAL: LifecyclePolicy(at_scope_end=ScopeEnd.KEEP),
}
DECAY: Mapping[Cell, DecayPolicy] = {
    Cell.EPISODIC_TRANSIENT: DecayPolicy(model=DecayModel.SCOPE),
    Cell.EPISODIC_PERSISTENT: DecayPolicy(model=DecayModel.FORCING),
    Cell.SEMANTIC: DecayPolicy(model=DecayModel.VALIDITY),
    Cell.PROCEDURAL: DecayPolicy(model=DecayModel.EXEMPT),
}
WRITES: Mapping[Cell, WritePolicy] = {
    Cell.EPISODIC_TRANSIENT: WritePolicy(mode=WriteMode.AUTOMATIC),
    Cell.EPISODIC_PERSISTENT: WritePolicy(mode=WriteMode.PROMOTION_ONLY),
    Cell.SEMANTIC: WritePolicy(mode=WriteMode.PROMOTION_ONLY),
    Cell.PROCEDURAL: WritePolicy(mode=WriteMode.EXPLICIT, auto_extract=True),
}
PROMOTION: Mapping[Cell, PromotionPolicy] = {
    Cell.EPISODIC_TRANSIENT: PromotionPolicy(path=PromotionPath.COMPOUNDING),
    Cell.EPISODIC_PERSISTENT: PromotionPolicy(path=PromotionPath.CORROBORATION),
    Cell.SEMANTIC: PromotionPolicy(path=PromotionPath.META_SEMANTIC),
    Cell.PROCEDURAL: PromotionPolicy(path=PromotionPath.NONE),
}
CONFLICT: Mapping[Cell, ConflictPolicy] = {
    Cell.EPISODIC_TRANSIENT: ConflictPolicy(rule=ConflictRule.NOOP),
    Cell.EPISODIC_PERSISTENT: ConflictPolicy(rule=ConflictRule.NOOP),
    Cell.SEMANTIC: ConflictPolicy(rule=ConflictRule.VALIDITY),
    Cell.PROCEDURAL: ConflictPolicy(rule=ConflictRule.SUPERSEDE),
}
CONSOLIDATION: Mapping[Cell, ConsolidationPolicy] = {
    Cell.EPISODIC_TRANSIENT: ConsolidationPolicy(method=ConsolidationMethod.COMPOUNDING),
    Cell.EPISODIC_PERSISTENT: ConsolidationPolicy(method=ConsolidationMethod.COMPOUNDING),
    Cell.SEMANTIC: ConsolidationPolicy(method=ConsolidationMethod.MERGE),
    Cell.PROCEDURAL: ConsolidationPolicy(method=ConsolidationMethod.SUPERSESSION),
}

# By the spec's key, in the documents' order.
DEFAULTS: Mapping[str, Mapping[Cell, SpecPart]] = MappingProxyType(
    {
        "lifecycle": LIFECYCLE,
        "decay": DECAY,
        "writes": WRITES,
        "promotion": PROMOTION,
        "conflict": CONFLICT,
        "consolidation": CONSOLIDATION,
    }
)
