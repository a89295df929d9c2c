"""`db.migrate`: an agent's memory into the family of a changed spec, anchor by anchor."""

from __future__ import annotations

import getpass
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idetic.engine import Binding, Engine
from idetic.errors import PlanRefused
from idetic.keys import KeyState
from idetic.model import PlainData, Principal, Scope
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store import spec_migration
from idetic.store.plan import Plan, PlanStep, make_plan
from idetic.store.registry import Registry, check_upgraded
from idetic.store.spec_migration import AnchorEnd, anchor_ends
from idetic.transfer.anchor_moves import AnchorMove
from idetic.transfer.new_anchors import KeyValues, Values, check_movable
from idetic.verbs.arguments import Progress

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic

Engines = Callable[[MemorySpec, Plan], Awaitable[list[Engine]]]


@dataclass(frozen=True, slots=True)
class SpecMigration(PlainData):
    """What a migration did, or would do: how many anchors and links there are, and were moved.

    `keys` are the API keys that name an anchor by its old keys: no memory answers to them any more.
    """

    agent: str
    version: int
    old: str
    new: str
    anchors: int
    links: int
    moved: int = 0
    rows: int = 0
    done: bool = False
    keys: tuple[str, ...] = ()
    steps: tuple[PlanStep, ...] = ()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """One anchor that has to be moved: the two engines, its end, and where it goes."""

    old: Engine
    new: Engine
    end: AnchorEnd
    to: Values


class Migration:
    """One call of `db.migrate`."""

    def __init__(
        self, db: Idetic, registry: Registry, engines: Engines, spec: MemorySpec, values: KeyValues
    ):
        self._db, self._registry, self._engines = db, registry, engines
        self._spec, self._values = spec, values

    async def run(self, *, dry_run: bool, progress: Progress | None) -> SpecMigration:
        """Check everything, make the new family, move what is not moved yet, and switch."""
        before, plan = await self._compared()
        if before.digest == self._spec.digest:
            return self._report(before, plan, [], done=True)
        check_movable(before, self._spec)
        self._check(plan)
        waiting = await self._anchors(before, plan)
        if dry_run:
            return self._report(before, plan, waiting, keys=await self._stale_keys(before))
        asked = self._asked()
        async with self._db.administration.connection() as connection:
            plan = await spec_migration.begin(
                connection, before, self._spec, self._registry.contexts, asked
            )
        # Once more: nobody can write any longer, and until now somebody could.
        waiting = await self._anchors(before, plan)
        left = await self._unmoved(waiting)
        rows = await self._move(left, progress)
        if await self._unmoved(waiting):
            raise PlanRefused("An anchor was moved in part.", remedy="Call again; it continues.")
        async with self._db.administration.connection() as connection:
            done = await spec_migration.switch(
                connection,
                before,
                self._spec,
                self._registry.contexts,
                asked,
                by=getpass.getuser(),
                at=self._db.clock.now(),
            )
        keys = await self._stale_keys(before)
        return self._report(before, done, waiting, moved=len(left), rows=rows, keys=keys, done=True)

    async def _compared(self) -> tuple[MemorySpec, Plan]:
        """The spec that holds the memory now, and the plan of the one that is to."""
        agent = self._spec.agent
        stored = await self._registry.versions(agent)
        if not stored:
            raise PlanRefused(
                f"This database holds no memory of {agent}.",
                remedy="There is nothing to move: `idetic spec apply` makes its tables.",
            )
        async with self._registry.database.reading() as connection:
            plan = await make_plan(connection, self._spec, self._registry.contexts, moving=True)
        return load(stored[-1].spec), plan

    def _check(self, plan: Plan) -> None:
        """Refuse what cannot be begun."""
        check_upgraded(plan)
        if self._db.database.citus:
            raise PlanRefused(
                "A spec cannot be migrated on a Citus cluster.",
                remedy="Nothing was changed. Declare another agent for the changed spec.",
            )
        if plan.refusals:
            raise PlanRefused(
                plan.reasons,
                remedy="Nothing was changed. Correct the spec or the tables that it names.",
            )

    def _asked(self) -> str:
        """The digest of all that this call asks for."""
        said = json.dumps([self._spec.digest, self._values.as_data()], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    async def _anchors(self, before: MemorySpec, plan: Plan) -> list[_Waiting]:
        """Every anchor that has memory, with where it goes."""
        found = []
        olds, news = await self._engines(before, plan), await self._engines(self._spec, plan)
        for old, new in zip(olds, news, strict=True):
            ends = await anchor_ends(self._db.database, old.anchors.family)
            to = self._values.moves(before, self._spec, [end.values for end in ends])
            found += [_Waiting(old, new, end, to[end.values]) for end in ends]
        return found

    async def _unmoved(self, waiting: list[_Waiting]) -> list[_Waiting]:
        """Those that are not in the new family yet, one link longer than they were."""
        there: dict[tuple[int, Values], AnchorEnd] = {}
        for new in {id(one.new): one.new for one in waiting}.values():
            ends = await anchor_ends(self._db.database, new.anchors.family)
            there |= {(id(new), end.values): end for end in ends}
        return [
            one
            for one in waiting
            if (end := there.get((id(one.new), one.to))) is None
            or (end.position, end.log_position) != (one.end.position + 1, one.end.log_position)
        ]

    async def _move(self, waiting: list[_Waiting], progress: Progress | None) -> int:
        """Move anchors one by one, each in a transaction; how many rows went."""
        total, done, rows = sum(one.end.position for one in waiting), 0, 0
        for one in waiting:
            size = one.end.position

            def report(share: float, before: int = done, size: int = size) -> None:
                if progress is not None:
                    progress(before + int(share * size), total)

            rows += await AnchorMove(
                self._bound(one.old, one.end.values), self._bound(one.new, one.to), report
            ).run()
            done += size
        return rows

    def _bound(self, engine: Engine, values: Values) -> Binding:
        """An anchor of one of the two families, as whoever maintains it."""
        keys = (key.name for key in engine.spec.anchor.keys)
        anchor = dict(zip(keys, values, strict=True))
        return Binding(
            engine, Scope(engine.spec.agent, anchor, Principal.maintenance(getpass.getuser()))
        )

    async def _stale_keys(self, before: MemorySpec) -> tuple[str, ...]:
        """The API keys that name anchors by keys which change."""
        names = [[key.name for key in spec.anchor.keys] for spec in (before, self._spec)]
        if names[0] == names[1]:
            return ()
        held, now = await self._db.keys.list(self._spec.agent), self._db.clock.now()
        return tuple(str(key.id) for key in held if key.state(now) is KeyState.ACTIVE)

    def _report(
        self,
        before: MemorySpec,
        plan: Plan,
        waiting: list[_Waiting],
        *,
        moved: int = 0,
        rows: int = 0,
        keys: tuple[str, ...] = (),
        done: bool = False,
    ) -> SpecMigration:
        """What was done, or would be."""
        links = sum(one.end.position for one in waiting)
        places = before.backend.place, self._spec.backend.place
        return SpecMigration(
            self._spec.agent, plan.to_version, *places, len(waiting), links, moved, rows, done,
            keys, () if done else plan.steps,
        )  # fmt: skip
