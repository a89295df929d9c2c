"""A question in the database's terms, and what of it the recall statement's text depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import Origin, Scope, Tier, Typology
from idetic.spec.primitives import Signal
from idetic.store import scope as scoping
from idetic.store.entry_sql import texts

DIMENSIONS = 384
# What narrows a question where it is asked for, and is no part of its text otherwise.
NARROWING = {
    "typologies": "m.typology = ANY (%(typologies)s::idetic.typology[])",
    "origins": "m.origin = ANY (%(origins)s::idetic.origin[])",
    "min_trust": "m.trust >= %(min_trust)s::integer",
    "sessions": "m.session_id = ANY (%(sessions)s::uuid[])",
    "since": "m.valid_at >= %(since)s::timestamptz",
    "until": "m.valid_at < %(until)s::timestamptz",
    "min_importance": "m.importance >= %(min_importance)s::real",
}
_NUMBERS = "[" + ",".join(["%.6g"] * DIMENSIONS) + "]"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in the database's terms."""

    text: str
    limit: int
    at: datetime
    weights: Mapping[Signal, float]
    vector: Sequence[float] | None = None
    profile_id: UUID | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    tiers: Sequence[Tier] = tuple(Tier)
    typologies: Sequence[Typology] = ()
    origins: Sequence[Origin] = ()
    min_trust: int = 0
    as_of: datetime | None = None
    include_archived: bool = False
    include_candidates: bool = False
    where: Mapping[str, Any] = field(default_factory=dict)
    sessions: Sequence[UUID] = ()
    since: datetime | None = None
    until: datetime | None = None
    # Of entries that mirror a log.
    min_importance: float | None = None


def form_of(scope: Scope, asked: Asked) -> tuple[Any, ...]:
    """What the text of the statement depends on; the rest are its values."""
    return (
        # The function that makes the predicate: no form outlives a test's sabotage.
        scoping.predicate,
        tuple(value is None for value in scope.anchor.values()),
        tuple(asked.weights.items()),
        asked.vector is None,
        asked.as_of is None,
        asked.include_archived,
        asked.include_candidates,
        tuple(asked.tiers),
        tuple(asked.envelope),
        tuple(asked.where),
        tuple(bool(getattr(asked, name)) for name in NARROWING),
    )


def values_of(scope: Scope, asked: Asked) -> dict[str, Any]:
    """The values of a question, whether its form of the statement uses them or not."""
    given = (*asked.envelope.values(), *asked.where.values())
    return {
        **scoping.bound(scope),
        "text": asked.text,
        "vector": None if asked.vector is None else _NUMBERS % tuple(asked.vector),
        "profile": asked.profile_id,
        "limit": asked.limit,
        "moment": asked.as_of or asked.at,
        "typologies": [typology.value for typology in asked.typologies],
        "origins": [origin.value for origin in asked.origins],
        "min_trust": asked.min_trust,
        "sessions": list(asked.sessions),
        "since": asked.since,
        "until": asked.until,
        "min_importance": asked.min_importance,
        **{f"asked_{number}": texts(value) for number, value in enumerate(given)},
    }
