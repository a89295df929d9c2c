"""An upgrade: what a database lacks of this release, and bringing it there, step by step.

Each migration is a transaction of its own under the lock of all schema changes, so that a killed
upgrade goes on where it was, and two at once do each thing once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from idetic.errors import PlanRefused, SpecError
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store import family_migration, migrator, queue
from idetic.store.compiler import compile_spec
from idetic.store.database import Connection, fetch
from idetic.store.plan import Plan, ReferenceContext, make_plan
from idetic.store.registry import apply_spec, carried_over

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CoreVersions:
    """The core of a database, and what this release and its queue would add."""

    held: int
    carried: int
    migrations: tuple[str, ...]
    queue: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyVersions:
    """The family of one agent: the last migration that it has, and what applying would change."""

    held: int
    carried: int
    plan: Plan

    @property
    def agent(self) -> str:
        """Whose family it is."""
        return self.plan.spec.agent


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What lies between a database and this release."""

    core: CoreVersions
    families: tuple[FamilyVersions, ...]

    @property
    def fresh(self) -> bool:
        """Whether the database has nothing of ours yet."""
        return self.core.held == 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        core = self.core.migrations or self.core.queue
        return not core and all(family.plan.empty for family in self.families)


async def plan_upgrade(connection: Connection, contexts: Sequence[ReferenceContext]) -> Upgrade:
    """Compare a database with this release, all of it at one moment; changes nothing.

    Otherwise a migration that commits meanwhile, in another process, would be seen by half.
    """
    async with connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        known = await migrator.applied(connection)
        migrator.check_known(known)
        has = await queue.applied(connection) if known else set()
        core = CoreVersions(
            max(known, default=0),
            migrator.migrations()[-1][0],
            tuple(name for _, name in migrator.missing(known)),
            tuple(name for name in queue.carried() if name not in has),
        )
        specs = await _stored_specs(connection) if known else []
        families = [await _family_versions(connection, spec, contexts) for spec in specs]
        return Upgrade(core, tuple(families))


async def run_upgrade(
    connection: Connection,
    contexts: Sequence[ReferenceContext],
    *,
    by: str,
    at: datetime,
    say: Say,
) -> Upgrade:
    """Bring a database to this release; `say` is told of each thing that was done.

    Every agent is brought over with the spec that the database holds. Returns what was planned.
    """
    planned = await plan_upgrade(connection, contexts)
    check_upgrade(planned)
    if planned.empty:
        return planned
    await _upgrade_core(connection, planned, say)
    for family in planned.families:
        spec = family.plan.spec
        await _migrate_family(connection, spec, contexts, say)
        plan = await apply_spec(connection, spec, contexts, by=by, at=at)
        if not plan.empty:
            say(f"{spec.agent}@{plan.to_version}: {len(plan.changes)} objects made")
    return planned


async def _stored_specs(connection: Connection) -> list[MemorySpec]:
    """The newest spec of every agent, as the database holds it."""
    specs = []
    for agent, spec in await fetch(connection, "queries/upgrade.sql", "agents"):
        try:
            specs.append(load(carried_over(spec)))
        except SpecError as error:
            raise PlanRefused(
                f"This release cannot read the spec of {agent} in this database: {error.message}",
                remedy="Nothing was changed. Correct it with the older release "
                "(`idetic spec apply`), then upgrade.",
            ) from None
    return specs


async def _family_versions(
    connection: Connection, spec: MemorySpec, contexts: Sequence[ReferenceContext]
) -> FamilyVersions:
    """Where an agent's family stands, where this release has it, and the plan between the two."""
    plan = await make_plan(connection, spec, contexts)
    lacking = {migration.number for migration in plan.migrations}
    numbers = [n for n, _ in migrator.migrations(family_migration.FOLDER) if n not in lacking]
    return FamilyVersions(max(numbers, default=0), family_migration.newest(), plan)


def check_upgrade(planned: Upgrade) -> None:
    """Refuse what cannot be done before anything is."""
    refused = [f"{f.agent}: {f.plan.reasons}" for f in planned.families if f.plan.refusals]
    if refused:
        raise PlanRefused(
            " ".join(refused),
            remedy="Nothing was changed. Correct what is named, with the older release.",
        )


async def _upgrade_core(connection: Connection, planned: Upgrade, say: Say) -> None:
    """Set the core up in one go, or bring the queue and then each migration of the core over."""
    if planned.fresh:
        done = await migrator.migrate(connection)
        say(f"core: set up, {len(done)} migrations")
        return
    await migrator.prepare(connection)
    queue = await migrator.migrate_queue(connection)
    if queue:
        say(f"queue: {len(queue)} migrations of procrastinate")
    while name := await migrator.migrate_next(connection):
        say(f"core: {name}")


async def _migrate_family(
    connection: Connection, spec: MemorySpec, contexts: Sequence[ReferenceContext], say: Say
) -> None:
    """Run what the family lacks, one by one; looked at anew each time, under the lock."""
    while True:
        async with migrator.locked(connection):
            plan = await make_plan(connection, spec, contexts)
            if not plan.migrations:
                return
            objects = compile_spec(spec, plan.extensions)
            version = plan.from_version or plan.to_version
            await family_migration.run(connection, spec, version, plan.migrations[0], objects)
        say(f"{spec.agent}: {plan.migrations[0].name}")
