"""`db.distribute`: an agent's tables over a Citus cluster, by tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idetic.errors import InputError, SpecNotFound
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store.distribution import Distributor, check_distribution
from idetic.store.distribution_plan import Distribution

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic

_SHOWN = 60


async def distribute(db: Idetic, agent: str, *, dry_run: bool) -> Distribution:
    """Check everything, apply the specs once more, distribute.

    Applied first, in a transaction of its own: on Citus the compiler leaves out what does not run
    there. What it leaves runs with or without distributed tables, so an interruption between the
    two harms nothing, and the next call goes on.
    """
    distributor = await _distributor(db, agent)
    plan = await distributor.plan()
    if dry_run:
        return plan
    check_distribution(plan)
    for name in plan.agents:
        await db.apply(distributor.specs[name])
    return await distributor.distribute()


async def stay_distributed(db: Idetic, agent: str) -> None:
    """Let what is new join the others, after a change of a spec whose tables are distributed.

    Until then it would run on the coordinator, by roles that the workers do not let in.
    """
    distributor = await _distributor(db, agent)
    if any(each.tenant and each.done for each in (await distributor.plan()).tables):
        await distributor.distribute()


async def _distributor(db: Idetic, agent: str) -> Distributor:
    """What distributes an agent's tables, with the newest spec of every agent beside it."""
    if not isinstance(agent, str):
        raise InputError("agent must be the name of an agent that this database holds.")
    # Oldest first, so the newest version of each stays.
    stored = {each.agent: each.spec for each in await db.spec_versions()}
    if agent not in stored:
        raise SpecNotFound(
            f"This database holds no agent {agent[:_SHOWN]!r}.",
            remedy="`idetic spec list` shows what it holds; `idetic spec apply` adds one.",
        )
    specs: dict[str, MemorySpec] = {name: load(spec) for name, spec in stored.items()}
    return Distributor(db.administration, agent, specs)
