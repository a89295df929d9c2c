"""`MemorySpec`: one agent's answers to every primitive, frozen.

Besides the primitives it declares the audit posture and how the leak defence is calibrated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field

from idetic.errors import InputError
from idetic.model import Capability, Origin, PrincipalKind, Tier, Typology
from idetic.spec import typology as defaults
from idetic.spec.primitives import (
    Anchor,
    Backend,
    Boundary,
    Gate,
    GateKind,
    Injection,
    Name,
    References,
    Retrieval,
    Visibility,
)
from idetic.spec.retention import (
    RETENTION,
    TYPOLOGY_OF,
    Lifecycle,
    RetainedEntity,
    RetentionPolicy,
)
from idetic.spec.tiers import WHOLE, Tiers, TypologyMix
from idetic.spec.typology import Behaviour, Cell, DecayModel, Sentence, SpecPart, cell_of

P = TypeVar("P", bound=SpecPart)

# Whoever reads stands behind a boundary, if they are an audience: an agent, an auditor and
# maintenance are none.
BOUNDARY_OF = MappingProxyType(
    {
        PrincipalKind.OPERATOR: Boundary.OPERATOR,
        PrincipalKind.CUSTOMER: Boundary.CUSTOMER,
    }
)
# Gates that take something out; the others say how a text is told.
_REMOVING = frozenset({GateKind.SECRETS, GateKind.PII, GateKind.STRIP_IDENTIFIERS})

# The answers about harm to others: a spec gives all of them, or leaves all to the documented ones.
DISCIPLINE = ("references", "gates", "visibility", "leak_defence", "audit")


class Audit(SpecPart):
    """The append-only audit posture. It is universal: no exemption from it could be kept."""

    posture: Literal["universal"] = "universal"
    action_kinds: Annotated[tuple[Name, ...], Field(min_length=1)]


class Reasons(StrEnum):
    """Whether the agent reasons over canonical content, or with it through tools."""

    OVER = "over"
    WITH = "with"


class GuardRole(StrEnum):
    """What the shadow guard is to this agent."""

    PRIMARY = "primary"
    BACKSTOP = "backstop"


class LeakDefence(SpecPart):
    """How the shadow guard is calibrated. Its numbers are contracts, not settings.

    `together_hours` is how long what was written at an anchor, by whomever, is put together with a
    new note to see whether the two restate a canonical text.
    """

    reasons: Reasons
    guard: GuardRole
    because: Sentence
    together_hours: Annotated[int, Field(ge=1, le=8_760)] = 24


class MemorySpec(SpecPart):
    """The declared memory of one agent, in the documents' order.

    Foundational and discipline primitives have no defaults: a missing answer is an error.
    Behavioural primitives default by typology; `*_of` methods give the resolved policy.
    """

    agent: Name
    title: Annotated[str, Field(min_length=1, max_length=80)]
    purpose: Sentence

    # Foundational: explicit.
    anchor: Anchor
    typology: TypologyMix
    tiers: Tiers
    backend: Backend
    retrieval: Retrieval

    # Behavioural: typology defaults, or justified deviations.
    lifecycle: Lifecycle = Lifecycle()
    decay: Behaviour = Behaviour()
    writes: Behaviour = Behaviour()
    promotion: Behaviour = Behaviour()
    conflict: Behaviour = Behaviour()
    consolidation: Behaviour = Behaviour()
    injection: Injection = Injection()

    # Discipline: explicit.
    references: References
    gates: tuple[Gate, ...]
    visibility: Visibility
    leak_defence: LeakDefence
    audit: Audit

    def lifecycle_of(self, tier: Tier, typology: Typology) -> defaults.LifecyclePolicy:
        """Primitive 6 for one (tier, typology)."""
        return _resolved(self.lifecycle, defaults.LIFECYCLE, cell_of(tier, typology))

    def retention_of(self, entity: RetainedEntity) -> RetentionPolicy:
        """The retention policy of one entity."""
        override = self.lifecycle.retention.get(entity)
        given = override.model_dump(exclude={"because"}, exclude_none=True) if override else {}
        return RETENTION[entity].model_copy(update=given | self._pressed(entity))

    def _pressed(self, entity: RetainedEntity) -> dict[str, Any]:
        """How time presses on memory of an entity, and within how many days (ADR-058 D12)."""
        typology = TYPOLOGY_OF.get(entity)
        if typology is None:
            return {}
        policy = self.decay_of(Tier.PERSISTENT, typology)
        days = {
            DecayModel.VALIDITY: policy.validity_days,
            DecayModel.FORCING: policy.half_life_days,
        }
        return {"decay": policy.model, "decay_days": days.get(policy.model)}

    def decay_of(self, tier: Tier, typology: Typology) -> defaults.DecayPolicy:
        """Primitive 7 for one (tier, typology)."""
        return _resolved(self.decay, defaults.DECAY, cell_of(tier, typology))

    def writes_of(self, tier: Tier, typology: Typology) -> defaults.WritePolicy:
        """Primitive 8 for one (tier, typology)."""
        return _resolved(self.writes, defaults.WRITES, cell_of(tier, typology))

    def promotion_of(self, tier: Tier, typology: Typology) -> defaults.PromotionPolicy:
        """Primitive 9 for one (tier, typology)."""
        return _resolved(self.promotion, defaults.PROMOTION, cell_of(tier, typology))

    def conflict_of(self, tier: Tier, typology: Typology) -> defaults.ConflictPolicy:
        """Primitive 10 for one (tier, typology)."""
        return _resolved(self.conflict, defaults.CONFLICT, cell_of(tier, typology))

    def consolidation_of(self, tier: Tier, typology: Typology) -> defaults.ConsolidationPolicy:
        """Primitive 11 for one (tier, typology)."""
        return _resolved(self.consolidation, defaults.CONSOLIDATION, cell_of(tier, typology))

    def tier_of(self, name: str) -> Tier:
        """The tier with this name: its own, or the agent's name for it."""
        tier = self.tiers.names.get(name) if isinstance(name, str) else None
        if tier is None:
            raise InputError(
                f"A tier of {self.agent} must be one of {', '.join(self.tiers.names)}."
            )
        return tier

    def broader_anchor(self, anchor: Mapping[str, Any]) -> dict[str, Any] | None:
        """The broader anchor of an anchor; None if there is none, or if it is the broader one."""
        model = self.tiers.broader
        if model is None:
            return None
        types = {key.name: key.type for key in self.anchor.keys}
        above = {k: v if k in model.keys else WHOLE[types[k]] for k, v in anchor.items()}
        return None if above == dict(anchor) else above

    def is_broader(self, anchor: Mapping[str, Any]) -> bool:
        """Whether an anchor is the broader one of its tenant."""
        return self.tiers.broader is not None and self.broader_anchor(anchor) is None

    def may(self, kind: PrincipalKind, capability: Capability) -> bool:
        """Whether the spec grants this capability to this kind of principal."""
        return capability in self.visibility.principals.get(kind, ())

    def removed_for(self, kind: PrincipalKind) -> tuple[GateKind, ...]:
        """The gates that remove parts of everything a principal reads; often none."""
        boundary = BOUNDARY_OF.get(kind)
        applied = (each for gate in self.gates if gate.boundary is boundary for each in gate.apply)
        return tuple(each for each in applied if each in _REMOVING)

    @property
    def proposes(self) -> bool:
        """Whether this spec allows proposals: patterns, or revision signals."""
        crossed = (gate.apply for gate in self.gates if gate.boundary is Boundary.AGGREGATION)
        patterns = any(GateKind.STRIP_IDENTIFIERS in kinds for kinds in crossed)
        return patterns or any(one.contradictions for one in self.references.canonical)

    def trust_of(self, origin: Origin) -> int:
        """The starting trust of an origin, 0 to 100."""
        return self.visibility.trust[origin]

    def as_data(self) -> dict[str, Any]:
        """The spec as plain data; `MemorySpec.model_validate` reads it back."""
        return self.model_dump(mode="json", by_alias=True)

    @cached_property
    def digest(self) -> str:
        """A hash of everything the spec says: two specs with one digest are the same spec.

        Computed once: every statement is looked up by it, and 130 us were a tenth of a write.
        """
        text = json.dumps(self.as_data(), sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with changes; it has no digest, because its content differs."""
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("digest", None)
        return copy


def _resolved(behaviour: Behaviour, table: Mapping[Cell, P], cell: Cell) -> P:
    """The policy of one cell: the default with the spec's deviations."""
    default = table[cell]
    changes = {k: v for d in behaviour.deviations if d.cell is cell for k, v in d.set.items()}
    if not changes:
        return default
    return type(default).model_validate({**default.model_dump(), **changes})
