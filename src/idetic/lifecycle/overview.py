"""The overview: what an operator wants to know before anything else. Every number has its list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from idetic.errors import InputError
from idetic.evidence import TRANSITIONS
from idetic.model import Capability, Scope, Tier, Typology
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.retention import RetentionState
from idetic.store.overview import Overseeing
from idetic.store.quarantine import Sourcing
from idetic.store.queue import Queue, TaskBacklog
from idetic.verbs.authorization import require

MAX_DAYS = 366
# Far more quarantines than anybody keeps standing.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class CellCount:
    """The current entries of one cell; `candidates` of them still wait for support."""

    tier: Tier
    typology: Typology
    count: int
    candidates: int


@dataclass(frozen=True, slots=True)
class DayCount:
    """Entries of one cell that were written on one day (UTC)."""

    day: datetime
    tier: Tier
    typology: Typology
    count: int


@dataclass(frozen=True, slots=True)
class Refusals:
    """What the guard refused on one day (UTC), by its reason."""

    day: datetime
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """How memory stands within one scope. Numbers only.

    `due`, `contradictions`, `candidates` and `quarantines` are the lengths of the queues;
    `unembedded` entries wait for a vector, the first since `unembedded_since`; `jobs` is the
    background work that waits for this scope, by task.
    """

    at: datetime
    since: datetime
    cells: tuple[CellCount, ...] = ()
    written: tuple[DayCount, ...] = ()
    refused: tuple[Refusals, ...] = ()
    states: Mapping[RetentionState, int] = field(default_factory=dict)
    due: int = 0
    contradictions: int = 0
    candidates: int = 0
    quarantines: int = 0
    unembedded: int = 0
    unembedded_since: datetime | None = None
    jobs: tuple[TaskBacklog, ...] = ()

    @property
    def entries(self) -> int:
        """How many entries are current."""
        return sum(cell.count for cell in self.cells)


class Overviews:
    """Counts what one agent's memory holds, for whoever may read it."""

    def __init__(
        self,
        spec: MemorySpec,
        overseeing: Overseeing,
        sourcing: Sourcing,
        queue: Queue,
        clock: Clock,
    ):
        self._spec = spec
        self._overseeing = overseeing
        self._sourcing = sourcing
        self._queue = queue
        self._clock = clock

    async def overview(self, scope: Scope, days: int) -> Overview:
        """Count; the histories go back so many days, today included."""
        require(self._spec, scope, Capability.READ)
        if type(days) is not int or not 1 <= days <= MAX_DAYS:
            raise InputError(f"days is a whole number from 1 to {MAX_DAYS}.")
        now = self._clock.now()
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        since = today - timedelta(days=days - 1)
        waiting = [status.value for status, after in TRANSITIONS.items() if after]
        jobs = await self._queue.backlog(scope)
        async with self._sourcing.look(scope, now) as sourced:
            quarantines = len([one for one in await sourced.quarantines(MOST) if one[1] is None])
        async with self._overseeing.look(scope, now) as seen:
            cells = [CellCount(Tier(t), Typology(y), *rest) for t, y, *rest in await seen.cells()]
            written = await seen.written(since)
            states = await seen.states()
            unembedded, unembedded_since = await seen.unembedded()
            return Overview(
                at=now,
                since=since,
                cells=tuple(cells),
                written=tuple(DayCount(d, Tier(t), Typology(y), n) for d, t, y, n in written),
                refused=tuple(Refusals(*row) for row in await seen.refused(since)),
                states={state: sum(tiers.values()) for state, tiers in states.items()},
                due=await seen.due(),
                contradictions=await seen.contradicted(waiting),
                candidates=sum(cell.candidates for cell in cells),
                quarantines=quarantines,
                unembedded=unembedded,
                unembedded_since=unembedded_since,
                jobs=tuple(jobs),
            )
