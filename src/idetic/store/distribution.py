"""The distribution of one agent over Citus: its plan in one transaction, or nothing at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import psycopg

from idetic.errors import DatabaseUnsupported, DistributionRefused
from idetic.spec.memory_spec import MemorySpec
from idetic.store.database import Administration, Connection
from idetic.store.distribution_plan import SETTINGS, Distribution, bare, plan_distribution
from idetic.store.driver import privilege_needed
from idetic.store.migrator import locked
from idetic.store.nodes import look, mending, over
from idetic.store.templates import composed, raw

# Whom Citus goes to the workers as: the roles of statements, that of the keys, which are on every
# node and note there when they were used, and the owner of what it moves.
ACTING = [
    *("idetic_app", "idetic_auditor", "idetic_curator", "idetic_worker"),
    *("idetic_actor", "idetic_subconscious", "idetic_steward", "idetic_keys"),
    "idetic_owner",
]
# Functions that serve the coordinator's own tables.
HERE = ["enter_v1", "enqueue_v1", "check_job_v1", "job_key_v1", "authenticate_v1", "key_turn_v1"]
PAGE = "docs/how-to/move-to-citus.md"
_NOTHING = "Nothing was distributed."
_LEFT = "The tables are distributed; `idetic doctor` says what each node lacks."


@dataclass(frozen=True, slots=True)
class Distributor:
    """Plans and does the distribution of one agent, with the admin login's rights."""

    administration: Administration
    agent: str
    specs: Mapping[str, MemorySpec]

    async def plan(self) -> Distribution:
        """Which table goes where, and what stands in the way; on any server."""
        async with self.administration.connection() as connection, connection.transaction():
            return await self._plan(connection)

    async def distribute(self) -> Distribution:
        """Do it. Says what was pending when it began; what was distributed already stays.

        The login's own role acts: Citus goes to the workers as the current role, and our owner
        cannot log in.
        """
        async with self.administration.connection() as connection, locked(connection):
            plan = await self._plan(connection)
            check_distribution(plan)
            await _set(connection, plan.pending)
            for placement in plan.pending:
                await _run(connection, placement.table, placement.statement or "", _NOTHING)
            cursor = await connection.execute(raw(composed(bare("acting"), roles=ACTING)))
            for (change,) in await cursor.fetchall():
                await _run(connection, "over these roles", change, _NOTHING)
            await _spread_functions(connection, plan)
        await self._mend()
        return plan

    async def _mend(self) -> None:
        """Say again what a node has otherwise: a copy of a function is open to PUBLIC, whoever may
        call the original, and what was changed on a worker nobody else hears of."""
        async with self.administration.connection() as connection, locked(connection):
            found = (await look(over(connection))).findings
            await _set(connection, found)
            for statement in await mending(over(connection), found):
                await _run(connection, "what a node lacks", statement, _LEFT)

    async def _plan(self, connection: Connection) -> Distribution:
        """The plan; a login that may not see every row is refused, for it would plan wrongly."""
        with privilege_needed(
            "This login may not see every row of every table, so it cannot plan this.",
            "Use an admin login that row-level security does not bind: "
            "`Idetic.open(dsn, admin_dsn=…)`, or IDETIC_ADMIN_DSN. Nothing was changed.",
        ):
            return await plan_distribution(connection, self.agent, self.specs)


def check_distribution(plan: Distribution) -> None:
    """Refuse what cannot be done, with everything that stands in the way at once."""
    if not plan.citus:
        raise DatabaseUnsupported(
            "This database has no Citus, so there is nothing to distribute to.",
            remedy=f"See {PAGE} for what a cluster needs; `idetic distribute AGENT --plan` shows "
            "the statements here. Nothing was changed.",
        )
    if plan.broken:
        listed = "\n".join(f"  {b.table}: {b.message} {b.remedy}" for b in plan.broken)
        raise DistributionRefused(
            f"These tables do not meet the rules of Citus:\n{listed}\n",
            remedy="Correct each as listed, then call again. Nothing was changed.",
            problems=[
                {
                    "primitive": b.rule,
                    "path": b.table,
                    "line": None,
                    "message": b.message,
                    "remedy": b.remedy,
                }
                for b in plan.broken
            ],
        )
    if plan.loaded:
        raise DistributionRefused(
            f"These tables hold rows already: {', '.join(plan.loaded)}.",
            remedy="Citus would leave a second copy that append-only triggers keep for ever. Take "
            "a new database and this order: tables (`pg_restore --section=pre-data`), the "
            "statements of `idetic distribute AGENT --plan`, rows (`--section=data`), the rest "
            f"(`--section=post-data`). See {PAGE}. Nothing was changed.",
        )


async def _set(connection: Connection, changes: Iterable[object]) -> None:
    """Have Citus change shards in order and with their triggers, if there is a change to make."""
    for setting in SETTINGS if changes else ():
        await connection.execute(raw(bare(setting)))


async def _spread_functions(connection: Connection, plan: Distribution) -> None:
    """Make the functions known to every node: to the tenant's alone, if they take one."""
    # By schema, a table that the calls of its functions follow.
    beside = {t.table.split(".")[0].strip('"'): t.table for t in plan.tables if t.tenant}
    query = composed(bare("functions"), schemas=[*beside, "idetic"], here=HERE)
    cursor = await connection.execute(raw(query))
    for function, schema, tenant in await cursor.fetchall():
        how = bare("delegated" if tenant and schema in beside else "everywhere")
        change = composed(how, function=function, beside=beside.get(schema, ""))
        await _run(connection, function, change, _NOTHING)


async def _run(connection: Connection, table: str, statement: str, left: str) -> None:
    """Run one statement of the plan, and say in our words what Citus or the server refuses."""
    try:
        with privilege_needed(
            f"This login may not distribute {table}.",
            "Use an admin login that owns the tables or is a superuser: "
            f"`Idetic.open(dsn, admin_dsn=…)`, or IDETIC_ADMIN_DSN. {left}",
        ):
            await connection.execute(raw(statement))
    except psycopg.Error as error:
        # A worker that does not answer is told in the same class as a server that went away.
        a_worker = not connection.broken and (error.sqlstate or "").startswith("08")
        if isinstance(error, psycopg.OperationalError) and not a_worker:
            raise
        raise DistributionRefused(
            f"Citus refused {table}: {error.diag.message_primary}.",
            remedy=f"Correct what Citus names, then call again. {left}",
        ) from None
