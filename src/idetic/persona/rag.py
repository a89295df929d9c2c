"""What asking long-term memory gives back: hits that carry their own explanation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, overload
from uuid import UUID

from idetic.errors import InputError
from idetic.model import Tier
from idetic.persona.events import EventKind, LtmHit, Visibility, kind_of, visibility_of
from idetic.recall.hits import NotUsed, SignalScore
from idetic.spec.primitives import Signal
from idetic.store.recall_query import Filters
from idetic.verbs.arguments import check_moment, check_uuid


@dataclass(frozen=True, slots=True)
class RagFilters:
    """What narrows a question. Nothing, unless said."""

    kinds: Sequence[EventKind] = ()
    visibilities: Sequence[Visibility] = ()
    loop_ids: Sequence[UUID] = ()
    since: datetime | None = None
    until: datetime | None = None
    min_importance: float | None = None

    def checked(self, tiers: Sequence[Tier]) -> Filters:
        """The filters of a recall within some tiers."""
        check_moment(self.since, "since")
        check_moment(self.until, "until")
        least = self.min_importance
        if least is not None and not (isinstance(least, int | float) and 0 <= least <= 1):
            raise InputError("min_importance is a number from 0 to 1.")
        asked = {
            "kind": [kind_of(kind).value for kind in _listed(self.kinds)],
            "visibility": [visibility_of(one).value for one in _listed(self.visibilities)],
        }
        return Filters(
            tiers=tiers,
            where={key: values for key, values in asked.items() if values},
            sessions=[check_uuid(one, "loop_ids") for one in _listed(self.loop_ids)],
            since=self.since,
            until=self.until,
            min_importance=least,
        )


@dataclass(frozen=True, slots=True)
class RagHit(LtmHit):
    """One entry that answers, with each signal's rank, value and share of the score."""

    signals: Mapping[Signal, SignalScore] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RagAnswer(Sequence[RagHit]):
    """The hits, best first, and how they came to be. `collections` are those that were asked."""

    query: str
    hits: tuple[RagHit, ...]
    collections: tuple[str, ...]
    considered: int
    candidates: int
    pending: int = 0
    not_used: tuple[NotUsed, ...] = ()

    @overload
    def __getitem__(self, index: int) -> RagHit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RagHit]: ...
    def __getitem__(self, index: int | slice) -> RagHit | Sequence[RagHit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def explain(self) -> str:
        """A readable account of the answer."""
        found = f"{len(self.hits)} of {self.considered} entries for {self.query!r}"
        lines = [f"{found}, {self.candidates} candidates, of {', '.join(self.collections)}"]
        for number, hit in enumerate(self.hits, start=1):
            entry = hit.entry
            lines.append(f"{number}. {hit.score:.4f}  {entry.summary}")
            lines.append(
                f"   {entry.persona} {entry.kind}, {entry.visibility}, {entry.ts:%Y-%m-%d}"
            )
            lines += [
                f"   {signal.value:<9} rank {word.rank}, value {word.value or 0:.3f}, "
                f"adds {word.contribution:.4f}"
                for signal, word in hit.signals.items()
                if word.contribution
            ]
        lines += [f"Not used: {n.what}, because {n.why}. {n.remedy}" for n in self.not_used]
        return "\n".join(lines)


def merged(query: str, answers: Iterable[RagAnswer], limit: int) -> RagAnswer:
    """Several answers as one, by score."""
    all_of = list(answers)
    hits = sorted(
        (hit for answer in all_of for hit in answer),
        key=lambda hit: (-hit.score, hit.entry.ts, hit.entry.id),
    )
    return RagAnswer(
        query,
        tuple(hits[:limit]),
        tuple(name for answer in all_of for name in answer.collections),
        sum(answer.considered for answer in all_of),
        sum(answer.candidates for answer in all_of),
        sum(answer.pending for answer in all_of),
        tuple(dict.fromkeys(told for answer in all_of for told in answer.not_used)),
    )


def _listed(values: object) -> Sequence[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError("A filter with several values is a list.")
    return list(values)
