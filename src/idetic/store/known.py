"""What a pass reads about an anchor while it holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import (
    Contradiction,
    ContradictionStatus,
    Corroboration,
    Lineage,
    Relation,
    SourceType,
)
from idetic.model import Entry, Origin, Ref, Tier


@dataclass(frozen=True, slots=True)
class Known:
    """An entry with its vector, and whether something rests on it so that it must stay."""

    entry: Entry
    vector: Any
    rests: bool

    @property
    def id(self) -> UUID:
        """The entry's id."""
        return self.entry.id


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A session or an interaction."""

    id: UUID
    tier: Tier
    session_id: UUID
    opened_at: datetime
    opened_by: str
    renewed_at: datetime | None
    closed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a contradiction stands since when, and where it stood before its last move."""

    ref: Ref
    status: ContradictionStatus
    at: datetime | None
    previous: ContradictionStatus | None
    previous_at: datetime | None


def vector_of(text: str | None) -> Any:
    """A vector from pgvector's text, or None."""
    if text is None:
        return None
    import numpy as np  # noqa: PLC0415 - importing idetic stays light

    return np.fromstring(text[1:-1], dtype=np.float32, sep=",")


def lineage_of(row: tuple[Any, ...]) -> Lineage:
    """One row of lineage."""
    source, relation, origin, trust, at, session, interaction, provenance = row
    return Lineage(
        source, Relation(relation), Origin(origin), trust, at, session, interaction,
        _named(provenance),
    )  # fmt: skip


def corroboration_of(row: tuple[Any, ...]) -> Corroboration:
    """One row of the corroborations junction."""
    row_id, kind, ref, at, by, origin, session, notes, withdrawn, provenance = row
    return Corroboration(
        row_id, SourceType(kind), ref, at, by, Origin(origin), session, notes, withdrawn,
        _named(provenance),
    )  # fmt: skip


def contradiction_of(row: tuple[Any, ...], noun: str) -> Contradiction:
    """One row of a contradictions table."""
    row_id, memory_id, ref_id, at, by, status, notes, resolved_at, resolved_by = row
    return Contradiction(
        row_id, memory_id, Ref(noun, ref_id), at, by, ContradictionStatus(status), notes,
        resolved_at, resolved_by,
    )  # fmt: skip


def resolution_of(row: tuple[Any, ...], noun: str) -> Resolution:
    """How one row of a contradictions table stands."""
    ref_id, status, at, previous, previous_at = row
    before = None if previous is None else ContradictionStatus(previous)
    return Resolution(Ref(noun, ref_id), ContradictionStatus(status), at, before, previous_at)


def _named(provenance: Any) -> Mapping[str, Any]:
    """Provenance by name; whatever else somebody put there names nothing."""
    return provenance if isinstance(provenance, dict) else {}
