"""What a recall gives back: hits that carry their own explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from idetic.model import Entry
from idetic.spec.primitives import FusionMethod, Signal, SourceStrength


@dataclass(frozen=True, slots=True)
class SignalScore:
    """One signal's word on one hit: its rank among the candidates, and its value from 0 to 1."""

    rank: int | None
    value: float | None
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled entry, with every signal's rank and value: `explain` needs nothing more.

    `reranked` is the reranker's score, where one sits on top; the order is then its order.
    """

    entry: Entry
    score: float
    signals: Mapping[Signal, SignalScore]
    strength: SourceStrength | None = None
    reranked: float | None = None


@dataclass(frozen=True, slots=True)
class NotUsed:
    """Something a recall did without, why, and what would change that."""

    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a query: hits in order, and how they came to be."""

    query: str
    hits: tuple[Hit, ...]
    fusion: FusionMethod
    weights: Mapping[Signal, float]
    considered: int
    candidates: int
    at: datetime
    profile_id: UUID | None = None
    pending: int = 0
    not_used: tuple[NotUsed, ...] = field(default=())

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries alone, in order."""
        return tuple(hit.entry for hit in self.hits)
