"""Consolidation: facts that overlap become fewer and richer ones, in the background.

Deterministic by default: what says the same is merged. With a reasoner, what merely overlaps is
put before it; its answer is checked, cites only what it was shown, and every change it makes has
a receipt that `undo` takes back. No lock is held while it thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from uuid import UUID

from idetic.evidence import Decided, DispositionCause
from idetic.gates.gate import Gates
from idetic.gateway.gateway import Gateway
from idetic.lifecycle.closing import paired
from idetic.lifecycle.merging import Merging
from idetic.lifecycle.overlap import Overlap, Overlaps, overlapping
from idetic.lifecycle.promotion_gates import policy_of
from idetic.lifecycle.reading import Reader
from idetic.model import Capability, EntryState, Receipt, Scope, Tier, Typology
from idetic.ports import Clock
from idetic.reason.caps import Meter
from idetic.reason.errors import (
    ReasonerCapped,
    ReasonerError,
    ReasonerLied,
    ReasonerUnavailable,
)
from idetic.reason.port import (
    ConflictAsked,
    Evidence,
    MergeAsked,
    Reasoner,
    SummaryAsked,
    Usage,
)
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import ConsolidationMethod
from idetic.store.embeddings import Embeddings
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.known import Known
from idetic.verbs.authorization import require, require_whole_anchor

ReasonerFactory = Callable[[], AbstractAsyncContextManager[Reasoner]]
# Only ids are read of the facts that changed, so a run takes all of them; of episodes that are
# due, the hardest pressed.
MAX_FACTS = 1_000_000
PLAIN, REASONED = "consolidate", "consolidate_reasoned"
MAX_DUE = 1_000


@runtime_checkable
class Metered(Protocol):
    """A reasoner that counts what it takes: also what a question took that came to nothing."""

    @property
    def meter(self) -> Meter:
        """What counts."""
        ...


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a run did, what it took, and what stayed undone and why."""

    decided: tuple[Decided, ...] = ()
    usage: Usage = field(default_factory=Usage)
    asked: int = 0
    failures: tuple[str, ...] = ()
    position: int = 0
    """Where the chain ended when the run looked at it."""
    finished: bool = True
    """Whether the next run begins there; else it looks at the same facts once more."""


@dataclass(slots=True)
class _Asking:
    """What came of the questions of a run so far."""

    decided: list[Decided] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    asked: int = 0
    finished: bool = True


class Consolidation:
    """Merges facts of one agent."""

    def __init__(
        self,
        spec: MemorySpec,
        gateway: Gateway,
        holding: Holding,
        embeddings: Embeddings,
        gates: Gates,
        clock: Clock,
        reasoner: ReasonerFactory | None,
    ):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._embeddings = embeddings
        self._gates = gates
        self._clock = clock
        self._reasoner = reasoner

    async def run(self, scope: Scope) -> Consolidated:
        """Consolidate the facts that changed since the last run; one run at a time is enough."""
        require(self._spec, scope, Capability.MAINTAIN)
        require_whole_anchor(scope)
        profile_id = await self._embeddings.active(scope)
        if profile_id is None or not (self._merges(Typology.SEMANTIC) or self._tells):
            return Consolidated()
        position, seen = await self._look(scope, profile_id)
        decided: list[Decided] = []
        if seen.same:
            for one in seen.same:
                decided += await self._settle(scope, one.ids, lambda m, k: m.same(k))
            _, seen = await self._look(scope, profile_id)
        asking = await self._put(scope, seen.near)
        waits = bool(seen.same) or (seen.crowded and self._reasoner is not None)
        finished = asking.finished and not (seen.bare or waits)
        if finished:
            await self._mark(scope, position)
        return Consolidated(
            (*decided, *asking.decided),
            asking.usage,
            asking.asked,
            tuple(asking.failures),
            position,
            finished,
        )

    def _merges(self, typology: Typology) -> bool:
        """Whether a persistent cell consolidates; a 1:1 mirror does not."""
        mix = self._spec.typology.at(Tier.PERSISTENT)
        method = self._spec.consolidation_of(Tier.PERSISTENT, typology).method
        return typology in mix and method is not ConsolidationMethod.NONE

    @property
    def _kind(self) -> str:
        """What the mark of a run is called: one with a reasoner sees more than one without."""
        return PLAIN if self._reasoner is None else REASONED

    async def _mark(self, scope: Scope, position: int) -> None:
        for kind in {self._kind, PLAIN}:
            await self._holding.mark(scope, kind, position, self._clock.now())

    @property
    def _tells(self) -> bool:
        """Whether there are episodes to summarise once they are due."""
        return self._merges(Typology.EPISODIC)

    async def _look(self, scope: Scope, profile_id: UUID) -> tuple[int, Overlaps]:
        """Where the chain ends, and what overlaps there. Nothing is locked."""
        policy, seen = policy_of(self._spec), Overlaps()
        due = await self._due(scope) if self._tells else []
        async with self._holding.look(scope, self._clock.now()) as held:
            position, facts = await held.changed_facts(self._kind, MAX_FACTS)
            if self._merges(Typology.SEMANTIC):
                seen += await overlapping(held, facts, profile_id, policy)
            # An episode that time does not press on yet is left alone, however near it is.
            among = frozenset(due)
            seen += await overlapping(held, due, profile_id, policy, Typology.EPISODIC, among)
        return position, seen

    async def _due(self, scope: Scope) -> list[UUID]:
        found = await self._holding.due(scope, self._clock.now(), MAX_DUE)
        return [
            one.entry.id
            for one in found
            if one.cause is DispositionCause.FORCED and one.entry.typology is Typology.EPISODIC
        ]

    async def _put(self, scope: Scope, questions: Sequence[Overlap]) -> _Asking:
        """Put overlaps before the reasoner, one after the other, until it cannot go on."""
        asking = _Asking()
        if self._reasoner is None or not questions:
            return asking
        try:
            async with self._reasoner() as reasoner:
                for one in questions:
                    await self._put_one(scope, reasoner, one, asking)
        except (ReasonerCapped, ReasonerUnavailable) as error:
            asking.failures.append(error.code)
            asking.finished = False
        return asking

    async def _put_one(
        self, scope: Scope, reasoner: Reasoner, one: Overlap, asking: _Asking
    ) -> None:
        before = reasoner.meter.used if isinstance(reasoner, Metered) else None
        spent = Usage()
        asking.asked += 1
        try:
            made, spent = await self._ask(scope, reasoner, one)
            asking.decided += made
            # Nothing made: an entry changed meanwhile, and the others are to be looked at again.
            asking.finished = asking.finished and bool(made)
        except (ReasonerCapped, ReasonerUnavailable):
            raise
        except ReasonerError as error:
            asking.failures.append(error.code)
        finally:
            if before is not None and isinstance(reasoner, Metered):
                spent = _since(before, reasoner.meter.used)
            asking.usage += spent

    async def _ask(
        self, scope: Scope, reasoner: Reasoner, one: Overlap
    ) -> tuple[list[Decided], Usage]:
        """Two facts are judged, more are merged, episodes summarised; then they are written to."""
        shown = tuple(_evidence(known) for known in one.members)
        if one.members[0].entry.typology is Typology.EPISODIC:
            note = await reasoner.summarise(SummaryAsked(shown, self._spec.backend.body_text_max))
            _check_cites(note.cites, one)
            made = await self._settle(scope, one.ids, lambda m, k: m.summarised(k, note))
            return made, note.usage
        if len(shown) == 2:
            verdict = await reasoner.judge(ConflictAsked(shown[0], shown[1]))
            made = await self._settle(scope, one.ids, lambda m, k: m.judged(k, verdict))
            return made, verdict.usage
        answer = await reasoner.merge(MergeAsked(shown))
        _check_cites(answer.cites, one)
        made = await self._settle(scope, one.ids, lambda m, k: m.answered(k, answer))
        return made, answer.usage

    async def _settle(
        self, scope: Scope, ids: Sequence[UUID], decide: Callable[[Merging, list[Known]], None]
    ) -> list[Decided]:
        """Write a decision, unless one of its entries has changed since it was made."""
        async with self._holding.hold(scope, self._clock.now()) as held:
            known = await held.known("named", ids=list(ids))
            live = [
                k for k in known if k.entry.state is EntryState.CURRENT and not k.entry.candidate
            ]
            if len(live) != len(ids):
                return []
            subjects = await Reader(self._spec, held, None).subjects(live)
            sanitize = self._gates.at(Boundary.PROMOTION)
            work = Merging(self._spec, sanitize, held.at, {s.id: s for s in subjects})
            decide(work, live)
            receipts = await self._write(held, work, live)
        return paired(work.steps, receipts)

    async def _write(self, held: Held, work: Merging, live: Sequence[Known]) -> list[Receipt]:
        """The new entry first: where the guard refuses it, nothing may be replaced by it."""
        receipts: list[Receipt] = []
        written = 0
        if work.steps[0]["op"] == "add":
            receipts = await self._gateway.settle(held, work.steps[:1])
            written = len(receipts)
            if not receipts:
                work.refused(live)
        return receipts + await self._gateway.settle(held, work.steps[written:])


def _check_cites(cites: Sequence[UUID], shown: Overlap) -> None:
    """Whoever wrote the reasoner: an answer rests on what it was shown, and on something."""
    if not cites or not set(cites) <= set(shown.ids):
        raise ReasonerLied("The reasoner cites entries that it was not given, or none.")


def _since(before: Usage, now: Usage) -> Usage:
    cost = None if now.cost is None or before.cost is None else now.cost - before.cost
    return Usage(
        now.prompt_tokens - before.prompt_tokens,
        now.completion_tokens - before.completion_tokens,
        cost,
        now.seconds - before.seconds,
        now.calls - before.calls,
        now.estimated - before.estimated,
    )


def _evidence(known: Known) -> Evidence:
    entry = known.entry
    return Evidence(entry.id, entry.body_text, entry.claim, entry.valid_at)
