"""The answer of a recall: hits that carry their own explanation, as a text and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import Entry, plain
from idetic.spec.primitives import FusionMethod, Signal
from idetic.store.recall_grounds import QuestionGrounds, SignalScore
from idetic.store.recall_query import Hit

__all__ = ["Hit", "NotUsed", "Recall", "SignalScore", "as_data", "explain"]


@dataclass(frozen=True, slots=True)
class AppliedFloors:
    """The floors of a recall: those of its spec, or of the process if it overrides them."""

    question: float = 0.0
    hit: float = 0.0


NO_FLOORS = AppliedFloors()


@dataclass(frozen=True, slots=True)
class NotUsed:
    """A signal that a recall could not use, the reason, and what to do."""

    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a query: the hits in order, with the numbers behind their order.

    `known` is the probability that memory knows something about the question; `grounds` has the
    numbers behind it.
    """

    query: str
    hits: tuple[Hit, ...]
    fusion: FusionMethod
    weights: Mapping[Signal, float]
    considered: int
    candidates: int
    at: datetime
    profile_id: UUID | None = None
    pending: int = 0
    not_used: tuple[NotUsed, ...] = ()
    # The dates in the question, as it words them.
    dates: tuple[str, ...] = ()
    known: float | None = None
    grounds: QuestionGrounds | None = None
    # Below which prompts and answers leave something out; the hits here are all of them.
    floors: AppliedFloors = NO_FLOORS
    # Whether it was recorded already that these were read.
    receipted: bool = False

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries alone, in order."""
        return tuple(hit.entry for hit in self.hits)


def explain(recall: Recall) -> str:
    """A readable account: each hit with every signal's rank, value and share of the score."""
    found = f"{len(recall.hits)} of {recall.considered} entries for {recall.query!r}"
    lines = [f"{found}, {recall.candidates} candidates, fused by {recall.fusion}"]
    if recall.dates:
        lines.append(f"Dates in the question: {', '.join(recall.dates)}")
    if recall.known is not None:
        lines.append(f"Known: {recall.known:.2f}{_grounds(recall.grounds)}")
    for number, hit in enumerate(recall.hits, start=1):
        lines.append(f"{number}. {hit.score:.4f}  {hit.excerpt}  ({hit.standing})")
        lines.append(f"   {_provenance(hit.entry)}")
        if hit.relevance is not None:
            lines.append(f"   relevance {hit.relevance:.3f}")
        if hit.reranked is not None:
            lines.append(f"   reranked  {hit.reranked:.4f}, of the fused score and the reranker's")
        for signal, word in hit.signals.items():
            if word.contribution:
                rank = "" if word.rank is None else f"rank {word.rank}, "
                said = f"{rank}value {word.value:.3f}, adds {word.contribution:.4f}"
                lines.append(f"   {signal.value:<9} {said}")
    lines += [f"Not used: {n.what}, because {n.why}. {n.remedy}" for n in recall.not_used]
    return "\n".join(lines)


def _grounds(grounds: QuestionGrounds | None) -> str:
    """Why memory may know something, or not: the nearest, and the words nobody has said."""
    if grounds is None:
        return ""
    told = []
    if grounds.nearest is not None:
        told.append(f"best cosine {grounds.nearest:.2f}")
    if grounds.rarity is not None:
        share = grounds.covered / grounds.total if grounds.total else 0.0
        told.append(f"{share:.0%} of the question's rare words stand together")
        if grounds.unheard:
            told.append(f"never heard: {', '.join(grounds.unheard)}")
    return f" ({'; '.join(told)})" if told else ""


def _provenance(entry: Entry) -> str:
    """Where a hit comes from, in one line for a reader."""
    refs = ", ".join(f"{r.noun} {r.id} v{r.version}" for r in entry.refs) or "nothing"
    said = f", said by {entry.speaker}" if entry.speaker else ""
    until = f" until {entry.invalid_at:%Y-%m-%d}" if entry.invalid_at else ""
    return (
        f"{entry.tier}/{entry.typology}, valid from {entry.valid_at:%Y-%m-%d}{until}, by "
        f"{entry.created_by} (origin {entry.origin}, trust {entry.trust}){said}, refers to {refs}"
    )


_RECALL = (
    "query known fusion weights considered candidates pending profile_id at not_used dates grounds "
    "floors"
).split()
_ENTRY = (
    "id body_text speaker tier typology state valid_at invalid_at created_by origin trust refs"
).split()
_HIT = "standing score relevance similarity excerpt piece strength reranked signals".split()


def as_data(recall: Recall) -> dict[str, Any]:
    """The same for programs: plain data, ready for JSON."""
    hits = [
        {name: getattr(hit.entry, name) for name in _ENTRY}
        | {name: getattr(hit, name) for name in _HIT}
        for hit in recall.hits
    ]
    data = {name: getattr(recall, name) for name in _RECALL}
    told: dict[str, Any] = plain({**data, "hits": hits})
    return told
