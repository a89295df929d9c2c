"""Applying a spec: the plan's steps in one transaction, then the version, append-only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psycopg import errors as pg
from psycopg import sql
from psycopg.types.json import Jsonb

from idetic.errors import DatabaseUnsupported, PlanRefused, UpgradeNeeded
from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.compiler import DatabaseObject
from idetic.store.database import Connection
from idetic.store.distribution import SETTINGS, bare
from idetic.store.family import Family, families
from idetic.store.family_migration import record_all, record_object
from idetic.store.migrator import LOCK
from idetic.store.ownership import OWNER, hand_over, hand_over_one
from idetic.store.plan import Context, Plan, Step, make_plan
from idetic.store.retention_rows import register_policies
from idetic.store.templates import raw


async def apply_spec(
    connection: Connection,
    spec: MemorySpec,
    contexts: Sequence[Context],
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
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        plan = await make_plan(connection, spec, contexts)
        check_upgraded(plan)
        if plan.refusals:
            raise PlanRefused(
                reasons(plan), remedy="Nothing was changed. Mend the spec or the tables it names."
            )
        if plan.changes:
            await _prepare(connection, plan, families(spec))
        for step in plan.changes:
            if empty and step.kind == "prints":
                continue
            await _run(connection, step, spec, plan.to_version)
        if plan.from_version is None:
            await record_all(connection, spec.agent)
        if plan.from_version != plan.to_version:
            await _store_version(connection, plan, by, at)
        if not plan.empty:
            await register_policies(connection, spec, plan.to_version, at)
        return plan


def check_upgraded(plan: Plan) -> None:
    """Refuse a family whose tables are of an older release."""
    if plan.migrations:
        lacking = ", ".join(migration.name for migration in plan.migrations)
        raise UpgradeNeeded(
            f"The tables of {plan.spec.agent} are of an older Idetic: they lack {lacking}."
        )


async def _prepare(connection: Connection, plan: Plan, made: Sequence[Family]) -> None:
    """What the steps need that a copied database or an odd schema does not have."""
    trgm, vector = map(sql.Identifier, (plan.extensions.trgm, plan.extensions.vector))
    database = sql.Identifier(connection.info.dbname)
    try:
        await connection.execute(
            raw("GRANT CREATE ON DATABASE {} TO idetic_owner").format(database)
        )
    except pg.InsufficientPrivilege:
        raise DatabaseUnsupported(
            "This login may not apply a spec.",
            remedy="Use an admin login: `Idetic.open(dsn, admin_dsn=…)`. Nothing was changed.",
        ) from None
    acting = (role for family in made for role in (*family.writers, *family.readers))
    needed = dict.fromkeys((OWNER, "idetic_guard", *acting))
    for schema in (trgm, vector):
        await connection.execute(
            raw(f"GRANT USAGE ON SCHEMA {{}} TO {', '.join(needed)}").format(schema)
        )
    # pg_trgm defines its setting when it is loaded; a function may only name it after.
    await connection.execute(raw("SELECT {}.similarity('a', 'b')").format(trgm))
    await connection.execute("SET LOCAL check_function_bodies = off")
    # What is distributed already is changed on every shard, in order and with its triggers.
    for setting in SETTINGS if plan.extensions.citus else ():
        await connection.execute(raw(bare(setting)))


def reasons(plan: Plan) -> str:
    """Every reason once, with all it applies to."""
    by_reason: dict[str, list[str]] = {}
    for step in plan.refusals:
        by_reason.setdefault(step.why, []).append(f"{step.kind} {step.name}")
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items()) + "."


async def _run(connection: Connection, step: Step, spec: MemorySpec, version: int) -> None:
    item = step.object
    if item is None:
        return
    try:
        await _make(connection, item)
    except pg.InsufficientPrivilege:
        raise DatabaseUnsupported(
            f"This login may not make {item.kind} {item.name}.",
            remedy="Apply the spec with an admin login (`Idetic.open(dsn, admin_dsn=…)`) that is a "
            "member of idetic_owner and owns the canonical tables the spec points at.",
        ) from None
    except (pg.CheckViolation, pg.InvalidForeignKey) as error:
        raise PlanRefused(
            f"{item.kind} {item.name} does not fit what is there.", remedy=_misfit(error, spec)
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
    for statement in templates.statements(item.ddl):
        await connection.execute(raw(statement))
    if item.kind == "context":
        await hand_over(connection, [item.name])
    owner = OWNER if item.runs_as == "admin" else f"idetic_{item.runs_as}"
    await hand_over_one(connection, item.kind, item.schema, item.name, owner)


async def _fill(connection: Connection, item: DatabaseObject) -> None:
    """Rows of ours out of canonical rows: as the role that row-level security lets read them all.

    A superuser is not bound by it, and on Citus must not change roles within a transaction.
    """
    cursor = await connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    if await cursor.fetchone() != (True,):
        await connection.execute(raw(f"SET LOCAL ROLE idetic_{item.runs_as}"))
    await connection.execute(raw(item.ddl))
    await connection.execute("RESET ROLE")


async def _make_schema(connection: Connection, item: DatabaseObject) -> None:
    """A schema is ours if it was not there before."""
    cursor = await connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", (item.name,))
    known = await cursor.fetchone() is not None
    await connection.execute(raw(item.ddl))
    if not known:
        named = sql.Identifier(item.name)
        await connection.execute(raw(f"ALTER SCHEMA {{}} OWNER TO {OWNER}").format(named))


def _misfit(error: pg.CheckViolation | pg.InvalidForeignKey, spec: MemorySpec) -> str:
    if isinstance(error, pg.CheckViolation):
        return "Stored notes are longer than the new `body_text_max`. Nothing was changed."
    tenant = spec.anchor.tenant.name
    needed = [f"{c.table} needs UNIQUE ({tenant}, {c.key})" for c in spec.references.canonical]
    needed += [
        f"{c.versions} needs UNIQUE ({tenant}, {c.key}, {c.version})"
        for c in spec.references.canonical
        if c.versions
    ]
    root = spec.anchor.root
    if root:
        keys = ", ".join(key.name for key in spec.anchor.keys)
        needed.append(f"{root.table} needs UNIQUE ({tenant}, {root.key})")
        needed.append(f"{root.table} needs UNIQUE ({keys}, {root.key})")
    return f"A key to refer to is missing: {'; '.join(needed)}. Nothing was changed."


async def _store_version(connection: Connection, plan: Plan, by: str, at: datetime) -> None:
    await connection.execute(
        """INSERT INTO idetic.spec_versions (agent, version, digest, spec, applied_at, applied_by)
           VALUES (%s, %s, %s, %s, %s, %s)""",
        (plan.spec.agent, plan.to_version, plan.spec.digest, Jsonb(plan.spec.as_data()), at, by),
    )
