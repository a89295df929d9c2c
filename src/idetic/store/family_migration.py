"""Numbered migrations of families: what brings an agent's tables from one release to the next.

A file in `sql/family_migrations` is written in the templates' language and rendered for each spec.
It holds plain SQL, and says with `-- alters: table {name}_memory` and `-- drops: function …` which
compiled objects it brings to what the templates say now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.compiler import DatabaseObject, Extensions, rendered
from idetic.store.database import Connection, fetch
from idetic.store.migrator import (
    OWNER,
    check_known,
    digest_of,
    hand_over_one,
    migrations,
    missing,
    stop_named,
)
from idetic.store.templates import raw

FOLDER = "family_migrations"
# What holds rows, or would have to be built over all of them: no release replaces these unasked.
STRUCTURAL = ("table", "index")
# What is compiled against tables, and costs nothing to make again when they change.
DEPENDENT = ("access", "function", "grant", "trigger", "view")
_SAYS = re.compile(r"^\s*-- (alters|drops): (\w+) (.+?)\s*$", re.MULTILINE)
_FILE = "queries/upgrade.sql"


@dataclass(frozen=True, slots=True)
class FamilyMigration:
    """One migration, rendered for one spec: its SQL, and the objects it alters and drops."""

    number: int
    name: str
    ddl: str
    alters: frozenset[tuple[str, str]]
    drops: frozenset[tuple[str, str]]


def newest() -> int:
    """The number of the last family migration of this release; 0 if it has none."""
    return max((number for number, _ in migrations(FOLDER)), default=0)


def family_migration(
    number: int, name: str, spec: MemorySpec, extensions: Extensions
) -> FamilyMigration:
    """A migration of this release for one spec."""
    ddl = rendered(spec, extensions, templates.read(f"{FOLDER}/{name}"))
    said = [(what, (kind, each)) for what, kind, each in _SAYS.findall(ddl)]
    altered, dropped = (frozenset(n for w, n in said if w == what) for what in ("alters", "drops"))
    return FamilyMigration(number, name, ddl, altered, dropped)


async def pending(
    connection: Connection, spec: MemorySpec, extensions: Extensions
) -> list[FamilyMigration]:
    """What the family of an agent lacks, in order."""
    rows = await fetch(connection, _FILE, "family_migrations", agent=spec.agent)
    known: dict[int, str] = dict(rows)
    check_known(known, FOLDER, f"family of {spec.agent}")
    return [family_migration(*each, spec, extensions) for each in missing(known, FOLDER)]


async def record_all(connection: Connection, agent: str) -> None:
    """Note every migration for a family that was just made, from the newest templates."""
    for number, name in migrations(FOLDER):
        await _record(connection, agent, number, name)


async def _record(connection: Connection, agent: str, number: int, name: str) -> None:
    """Note a migration as done for one agent, with the digest of its text."""
    row = {"agent": agent, "number": number, "name": name, "digest": digest_of(name, FOLDER)}
    await fetch(connection, _FILE, "record_migration", **row)


async def record_object(
    connection: Connection, agent: str, item: DatabaseObject, version: int
) -> None:
    """Note an object of an agent as it was made."""
    row = {"agent": agent, "kind": item.kind, "name": item.name, "digest": item.digest}
    await fetch(connection, _FILE, "record_object", **row, version=version)


async def run(
    connection: Connection,
    spec: MemorySpec,
    version: int,
    migration: FamilyMigration,
    objects: Sequence[DatabaseObject],
) -> None:
    """Run a migration within the caller's transaction, and note what it changed."""
    agent, altered = spec.agent, [o for o in objects if (o.kind, o.name) in migration.alters]
    tables = [item for item in altered if item.kind == "table"]
    forced = await _forced(connection, tables)
    await _switch(connection, forced, "NO FORCE")
    # Whoever may not see a row is told, and does not leave it as it was in silence.
    await connection.execute("SET LOCAL row_security = off")
    with stop_named(f"{migration.name}, for {agent},"):
        await connection.execute(raw(migration.ddl))
    await connection.execute("SET LOCAL row_security = on")
    await _switch(connection, forced, "FORCE")
    for table in tables:
        await hand_over_one(connection, "table", table.schema, table.name, OWNER)
    for item in altered:
        await record_object(connection, agent, item, version)
    for kind, name in sorted(migration.drops):
        await fetch(connection, _FILE, "forget_object", agent=agent, kind=kind, name=name)
    await fetch(connection, _FILE, "make_again", agent=agent, kinds=list(DEPENDENT))
    await _record(connection, agent, migration.number, migration.name)


async def _forced(connection: Connection, tables: Sequence[DatabaseObject]) -> list[str]:
    """The tables that have to let a login see their rows for as long as a migration runs."""
    if await fetch(connection, _FILE, "bound") != [(True,)]:
        return []
    names = [f"{table.schema}.{table.name}" for table in tables]
    return [name for (name,) in await fetch(connection, _FILE, "forced", tables=names)]


async def _switch(connection: Connection, tables: Iterable[str], how: str) -> None:
    """Force row-level security on the tables' owner, or stop forcing it."""
    for table in tables:
        await connection.execute(raw(f"ALTER TABLE IF EXISTS {table} {how} ROW LEVEL SECURITY"))
