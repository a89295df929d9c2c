"""The database's part of `spec migrate`: a family is closed, another made, and the spec switched.

A family that is closed has an object of the kind `closed` among its compiled objects. The digest of
that is what the migration was asked for, so that only the same one goes on with it. Each function
here is one transaction under the lock of all schema changes: killed, it has done nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idetic.errors import PlanRefused
from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.compiler import Extensions, rendered
from idetic.store.database import Connection, Database, fetch
from idetic.store.driver import privilege_needed
from idetic.store.family import Family, families
from idetic.store.migrator import OWNER, hand_over_one, locked
from idetic.store.plan import CLOSED, FILE, Plan, ReferenceContext, extensions_of, make_plan
from idetic.store.queue import WORKER_ROLE
from idetic.store.registry import check_upgraded, make_objects, store_version
from idetic.store.scope import quoted
from idetic.store.templates import BoundStatement, filled, raw, statement

_PATH = "spec_migration.sql"
_OBJECTS = "queries/upgrade.sql"


@dataclass(frozen=True, slots=True)
class AnchorEnd:
    """An anchor that has memory: the values of its keys in their order, and where it ends."""

    values: tuple[Any, ...]
    position: int
    log_position: int


async def anchor_ends(database: Database, family: Family) -> list[AnchorEnd]:
    """Every anchor of a family that has memory, over all tenants, as workers see them."""
    names = family.names() | {
        "keys": ", ".join(f"a.{quoted(key)}" for key in family.keys),
        "log_end": "a.log_position" if family.log_table else "0",
    }
    asked = BoundStatement(statement(filled(templates.query(_PATH, "anchors"), names)))
    rows = await database.run_all(None, [asked], role=WORKER_ROLE)
    return [AnchorEnd(row[2:], row[0], row[1]) for row in rows]


async def begin(
    connection: Connection,
    before: MemorySpec,
    spec: MemorySpec,
    contexts: Sequence[ReferenceContext],
    asked: str,
) -> Plan:
    """Make the new family and close the old one; a migration that was begun goes on.

    `asked` is the digest of all that was asked for.
    """
    async with locked(connection):
        plan = await make_plan(connection, spec, contexts, moving=True)
        check_upgraded(plan)
        under_way = await _closed_for(connection, before)
        if under_way not in (None, asked):
            raise PlanRefused(
                f"Another migration of {spec.agent} is under way: with another spec, or with other "
                "values for new anchor keys.",
                remedy="Give the same spec and values as before, or call with --abandon first.",
            )
        await make_objects(connection, plan)
        if under_way is None:
            await _run(connection, "close", before, plan.extensions)
            row = _closed(before) | {"digest": asked, "version": plan.from_version}
            await fetch(connection, _OBJECTS, "record_object", **row)
        return plan


async def switch(
    connection: Connection,
    before: MemorySpec,
    spec: MemorySpec,
    contexts: Sequence[ReferenceContext],
    asked: str,
    *,
    by: str,
    at: datetime,
) -> Plan:
    """Store the version whose family has the memory now. From here on agents open that one."""
    async with locked(connection):
        plan = await make_plan(connection, spec, contexts, moving=True)
        if plan.from_version == plan.to_version:
            return plan
        if await _closed_for(connection, before) != asked:
            raise PlanRefused(
                "This migration was abandoned meanwhile.",
                remedy="Nothing was switched. Call `idetic spec migrate` again to begin anew.",
            )
        await _run(connection, "leave", before, plan.extensions)
        await store_version(connection, plan, by=by, at=at)
        return plan


async def abandon(connection: Connection, before: MemorySpec) -> bool:
    """Open the family again that a migration closed; whether there was one."""
    async with locked(connection):
        if await _closed_for(connection, before) is None:
            return False
        await _run(connection, "open", before, await extensions_of(connection))
        await fetch(connection, _OBJECTS, "forget_object", **_closed(before))
        return True


def _closed(spec: MemorySpec) -> dict[str, Any]:
    """The compiled object that says that a spec's family is closed."""
    return {"agent": spec.agent, "kind": CLOSED, "name": spec.backend.place}


async def _closed_for(connection: Connection, spec: MemorySpec) -> str | None:
    """The digest of the migration that closed a spec's family, if one did."""
    known = await fetch(connection, FILE, "known", agent=spec.agent)
    named = (CLOSED, spec.backend.place)
    found: str | None = next((digest for *each, digest in known if tuple(each) == named), None)
    return found


async def _run(connection: Connection, what: str, spec: MemorySpec, extensions: Extensions) -> None:
    """Run a part of the file for each family of a spec."""
    text = rendered(spec, extensions, templates.query(_PATH, what))
    with privilege_needed(
        "This login may not migrate a spec.",
        "Use an admin login (`Idetic.open(dsn, admin_dsn=…)`, IDETIC_ADMIN_DSN) that is a member "
        "of idetic_owner.",
    ):
        for each in templates.split_statements(text):
            await connection.execute(raw(each))
    for family in families(spec) if what == "close" else ():
        name = f"{family.name}_closed_v1"
        await hand_over_one(connection, "function", family.schema, name, OWNER)
