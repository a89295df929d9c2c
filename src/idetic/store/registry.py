"""The registry of specs: how a spec becomes a schema, and which versions this database holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from psycopg import errors as pg
from psycopg import sql
from psycopg.types.json import Jsonb

from idetic.errors import PlanRefused, UpgradeNeeded
from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.compiler import DatabaseObject
from idetic.store.database import Administration, Connection, Database, fetch
from idetic.store.distribution_plan import SETTINGS, bare
from idetic.store.driver import privilege_needed
from idetic.store.family import families
from idetic.store.family_migration import record_all, record_object
from idetic.store.migrator import OWNER, hand_over, hand_over_one, locked
from idetic.store.plan import FILE, Plan, PlanStep, ReferenceContext, make_plan
from idetic.store.retention_rows import register_policies
from idetic.store.templates import raw


@dataclass(frozen=True, slots=True)
class SpecVersion:
    """One stored version of an agent's spec."""

    agent: str
    version: int
    digest: str
    spec: dict[str, Any]
    applied_at: datetime
    applied_by: str


@dataclass(frozen=True, slots=True)
class Registry:
    """The specs of one database: planned and read as the application, applied as the admin."""

    database: Database
    administration: Administration
    contexts: Sequence[ReferenceContext]

    async def plan(self, spec: MemorySpec) -> Plan:
        """What applying would change. Reads only, as the application role."""
        async with self.database.reading() as connection:
            return await make_plan(connection, spec, self.contexts)

    async def apply(self, spec: MemorySpec, *, by: str, at: datetime, empty: bool = False) -> Plan:
        """Apply with the admin login's rights."""
        async with self.administration.connection() as connection:
            return await apply_spec(connection, spec, self.contexts, by=by, at=at, empty=empty)

    async def versions(self, agent: str | None = None) -> list[SpecVersion]:
        """Every stored version, oldest first, of one agent or of all."""
        async with self.database.reading() as connection:
            rows = await fetch(connection, FILE, "versions", agent=agent)
        stored = [SpecVersion(*row) for row in rows]
        return [replace(version, spec=carried_over(version.spec)) for version in stored]


def carried_over(spec: dict[str, Any]) -> dict[str, Any]:
    """A stored spec in this release's terms: `statement` took the place of `substance`."""
    retrieval = dict(spec["retrieval"])
    signals = dict(retrieval["signals"])
    if "substance" in signals:
        signals["statement"] = signals.pop("substance")
    return {**spec, "retrieval": {**retrieval, "signals": signals}}


async def apply_spec(
    connection: Connection,
    spec: MemorySpec,
    contexts: Sequence[ReferenceContext],
    *,
    by: str,
    at: datetime,
    empty: bool = False,
) -> Plan:
    """Make the database fit the spec. Applying twice changes nothing.

    `empty` leaves out what fills tables: on Citus they are distributed first.

    One transaction under an advisory lock: two processes that apply at once do it once, and a
    killed one leaves nothing half made.
    """
    async with locked(connection):
        plan = await make_plan(connection, spec, contexts)
        check_upgraded(plan)
        if plan.newest or not plan.empty:
            check_open(plan)
        await make_objects(connection, plan, empty=empty)
        if plan.from_version is None:
            await record_all(connection, spec.agent)
        await store_version(connection, plan, by=by, at=at)
        return plan


async def make_objects(connection: Connection, plan: Plan, *, empty: bool = False) -> None:
    """Make what a plan makes, within the caller's transaction."""
    if plan.refusals:
        raise PlanRefused(
            plan.reasons, remedy="Nothing was changed. Correct the spec or the tables it names."
        )
    if plan.changes:
        await _prepare(connection, plan)
    for step in plan.changes:
        if empty and step.kind == "prints":
            continue
        await _run(connection, step, plan.spec, plan.to_version)


async def store_version(connection: Connection, plan: Plan, *, by: str, at: datetime) -> None:
    """Store the version that a plan makes, with its retention policies."""
    spec = plan.spec
    if plan.from_version != plan.to_version:
        row = {"agent": spec.agent, "version": plan.to_version, "digest": spec.digest}
        row |= {"spec": Jsonb(spec.as_data()), "at": at, "by": by}
        await fetch(connection, FILE, "store_version", **row)
    if not plan.empty:
        await register_policies(connection, spec, plan.to_version, at)


def check_open(plan: Plan) -> None:
    """Refuse to change a family that `spec migrate` moves memory out of, or has."""
    if plan.closed:
        raise PlanRefused(
            f"The memory in {plan.spec.backend.place} is moving to another family, or has moved.",
            remedy="Nothing was changed. Call `idetic spec migrate` again: with its spec to "
            "continue, with --abandon to keep this family. After a move, change the newest spec.",
        )


def check_upgraded(plan: Plan) -> None:
    """Refuse a family whose tables are of an older release."""
    if plan.migrations:
        lacking = ", ".join(migration.name for migration in plan.migrations)
        raise UpgradeNeeded(
            f"The tables of {plan.spec.agent} were made by an older Idetic: they lack {lacking}."
        )


async def _prepare(connection: Connection, plan: Plan) -> None:
    """What the steps need that a copied database or an odd schema does not have."""
    trgm, vector = map(sql.Identifier, (plan.extensions.trgm, plan.extensions.vector))
    database = sql.Identifier(connection.info.dbname)
    with privilege_needed(
        "This login may not apply a spec.",
        "Use an admin login: `Idetic.open(dsn, admin_dsn=…)`. Nothing was changed.",
    ):
        grant = raw("GRANT CREATE ON DATABASE {} TO idetic_owner").format(database)
        await connection.execute(grant)
    acting = (role for family in families(plan.spec) for role in family.writers + family.readers)
    needed = ", ".join(dict.fromkeys((OWNER, "idetic_guard", *acting)))
    for schema in (trgm, vector):
        await connection.execute(raw(f"GRANT USAGE ON SCHEMA {{}} TO {needed}").format(schema))
    # pg_trgm defines its setting when it is loaded; a function may only name it after.
    await connection.execute(raw("SELECT {}.similarity('a', 'b')").format(trgm))
    await connection.execute("SET LOCAL check_function_bodies = off")
    # What is distributed already is changed on every shard, in order and with its triggers.
    for setting in SETTINGS if plan.extensions.citus else ():
        await connection.execute(raw(bare(setting)))


async def _run(connection: Connection, step: PlanStep, spec: MemorySpec, version: int) -> None:
    """Make one object of the plan and record it; what the tables do not allow is a refusal."""
    item = step.object
    if item is None:
        return
    try:
        with privilege_needed(
            f"This login may not make {item.kind} {item.name}.",
            "Apply the spec with an admin login (`Idetic.open(dsn, admin_dsn=…)`) that is a "
            "member of idetic_owner and owns the canonical tables the spec points at.",
        ):
            await _make(connection, item)
    except (pg.CheckViolation, pg.InvalidForeignKey) as error:
        long = "Stored notes are longer than the new `body_text_max`. Nothing was changed."
        raise PlanRefused(
            f"{item.kind} {item.name} differs from the table in the database.",
            remedy=long if isinstance(error, pg.CheckViolation) else _missing_keys(spec),
        ) from None
    await record_object(connection, step.owner, item, version)


async def _make(connection: Connection, item: DatabaseObject) -> None:
    """Make one object as the login, and give it to whom it belongs."""
    if item.kind == "schema":
        await _make_schema(connection, item)
        return
    if item.kind == "prints":
        await _fill(connection, item)
        return
    for statement in templates.split_statements(item.ddl):
        await connection.execute(raw(statement))
    if item.kind == "context":
        await hand_over(connection, [item.name])
    owner = OWNER if item.runs_as == "admin" else f"idetic_{item.runs_as}"
    await hand_over_one(connection, item.kind, item.schema, item.name, owner)


async def _fill(connection: Connection, item: DatabaseObject) -> None:
    """Rows of ours out of canonical rows: as the role that row-level security lets read them all.

    A superuser is not bound by it, and on Citus must not change roles within a transaction.
    """
    if await fetch(connection, FILE, "superuser") != [(True,)]:
        await connection.execute(raw(f"SET LOCAL ROLE idetic_{item.runs_as}"))
    await connection.execute(raw(item.ddl))
    await connection.execute("RESET ROLE")


async def _make_schema(connection: Connection, item: DatabaseObject) -> None:
    """A schema is ours if it was not there before."""
    known = await fetch(connection, FILE, "schema", name=item.name)
    await connection.execute(raw(item.ddl))
    if not known:
        named = sql.Identifier(item.name)
        await connection.execute(raw(f"ALTER SCHEMA {{}} OWNER TO {OWNER}").format(named))


def _missing_keys(spec: MemorySpec) -> str:
    """The remedy that lists every unique key which the spec's references need."""
    tenant, root = spec.anchor.tenant.name, spec.anchor.root
    canonicals = spec.references.canonical
    needed = [f"{c.table} needs UNIQUE ({tenant}, {c.key})" for c in canonicals]
    needed += [
        f"{c.versions} needs UNIQUE ({tenant}, {c.key}, {c.version})"
        for c in canonicals
        if c.versions
    ]
    if root:
        keys = ", ".join(key.name for key in spec.anchor.keys)
        needed.append(f"{root.table} needs UNIQUE ({tenant}, {root.key})")
        needed.append(f"{root.table} needs UNIQUE ({keys}, {root.key})")
    return f"A key to refer to is missing: {'; '.join(needed)}. Nothing was changed."
