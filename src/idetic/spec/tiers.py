"""Primitives 2 and 3: what each tier holds, and the tier model itself, as types."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from idetic.model import Tier, Typology
from idetic.spec.primitives import KeyType, Name, Weight
from idetic.spec.typology import Sentence, SpecPart


class TypologyMix(SpecPart):
    """Primitive 2: which typologies each tier holds; a tier that is not declared holds none."""

    interaction: tuple[Typology, ...] = ()
    session: tuple[Typology, ...]
    persistent: tuple[Typology, ...]

    def at(self, tier: Tier) -> tuple[Typology, ...]:
        """The typologies of one tier."""
        held: tuple[Typology, ...] = getattr(self, tier.value)
        return held

    def cells(self) -> tuple[tuple[Tier, Typology], ...]:
        """Every (tier, typology) the agent produces, in a fixed order."""
        return tuple((tier, typology) for tier in Tier for typology in self.at(tier))


class BoundaryKind(StrEnum):
    """What carries memory out of a tier into the next one.

    A lifecycle event is somebody's close. A scope change is the same principal opening a scope at
    another anchor of the tenant. An anchor escalation is a promotion to a broader anchor.
    """

    LIFECYCLE_EVENT = "lifecycle_event"
    SCOPE_CHANGE = "scope_change"
    ANCHOR_ESCALATION = "anchor_escalation"


class TransientTier(SpecPart):
    """A tier that ends: what it is called here, what ends it, what it holds."""

    name: Name | None = None
    boundary: Literal[BoundaryKind.LIFECYCLE_EVENT, BoundaryKind.SCOPE_CHANGE]
    event: Name
    holds: Sentence
    # How long a scope may stay silent before it is taken for abandoned and closed for its holder.
    lease_minutes: Annotated[float, Field(gt=0, le=525_600, allow_inf_nan=False)] = 60


class PersistentTier(SpecPart):
    """The tier that stays; with a broader one above it, an anchor escalation leads there."""

    name: Name | None = None
    boundary: Literal[BoundaryKind.ANCHOR_ESCALATION] | None = None
    event: Name | None = None
    holds: Sentence


class BroaderTier(SpecPart):
    """Persistent memory of a broader anchor: `keys` are those of the anchor that it keeps."""

    name: Name
    keys: Annotated[tuple[Name, ...], Field(min_length=1, max_length=3)]
    holds: Sentence
    weight: Weight = 1.0


class Tiers(SpecPart):
    """Primitive 3: two to four tiers. `session` and `persistent` are in every model.

    The keys are the engine's levels of durability; each may have a name of the agent's own.
    """

    interaction: TransientTier | None = None
    session: TransientTier
    persistent: PersistentTier
    broader: BroaderTier | None = None

    @property
    def transient(self) -> dict[Tier, TransientTier]:
        """The tiers that end, the shortest-lived first."""
        ends = {Tier.SESSION: self.session}
        return ends if self.interaction is None else {Tier.INTERACTION: self.interaction, **ends}

    @property
    def declared(self) -> tuple[Tier, ...]:
        """The levels that this model has, the shortest-lived first."""
        return (*self.transient, Tier.PERSISTENT)

    def name_of(self, tier: Tier) -> str:
        """What a tier is called here."""
        model: TransientTier | PersistentTier | None = getattr(self, tier.value)
        return tier.value if model is None or model.name is None else model.name

    @property
    def names(self) -> dict[str, Tier]:
        """The levels of durability by their own names and by those of the agent."""
        return {**{tier.value: tier for tier in self.declared},
                **{self.name_of(tier): tier for tier in self.declared}}  # fmt: skip


# What an anchor has in the place of a key that a broader anchor does not keep.
WHOLE: Mapping[KeyType, Any] = MappingProxyType(
    {KeyType.UUID: UUID(int=0), KeyType.TEXT: "(all)", KeyType.BIGINT: -(2**63)}
)
