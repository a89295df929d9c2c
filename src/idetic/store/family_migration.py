"""Numbered migrations of families: what brings an agent's tables from one release to the next.

A file in `sql/family_migrations` is written in the templates' language and rendered for each spec.
It holds plain SQL, and says with `-- alters: table {name}_memory` and `-- drops: function …` which
compiled objects it brings to what the templates say now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.compiler import DatabaseObject, Extensions, rendered
from idetic.store.database import Connection
from idetic.store.migrator import check_known, digest_of, migrations, missing, named
from idetic.store.ownership import OWNER, hand_over_one
from idetic.store.pipeline import Rows
from idetic.store.templates import raw

FOLDER = "family_migrations"
# What holds rows, or would have to be built over all of them: no release replaces these unasked.
STRUCTURAL = ("table", "index")
# What is compiled against tables, and costs nothing to make again when they change.
DEPENDENT = ("access", "function", "grant", "trigger", "view")
_SAYS = re.compile(r"^\s*-- (alters|drops): (\w+) (.+?)\s*$", re.MULTILINE)
_FILE = "queries/upgrade.sql"

Named = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FamilyMigration:
    """One migration, rendered for one spec: its SQL, and the objects it alters and drops."""

    number: int
    name: str
    ddl: str
    alters: frozenset[Named]
    drops: frozenset[Named]


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
    known: dict[int, str] = dict(await _ask(connection, "family_migrations", agent=spec.agent))
    check_known(known, FOLDER, f"family of {spec.agent}")
    return [family_migration(*each, spec, extensions) for each in missing(known, FOLDER)]


async def record_all(connection: Connection, agent: str) -> None:
    """Note every migration for a family that was just made, from the newest templates."""
    for number, name in migrations(FOLDER):
        await _record(connection, agent, number, name)


async def record_object(
    connection: Connection, agent: str, item: DatabaseObject, version: int
) -> None:
    """Note an object of an agent as it was made."""
    about = {"agent": agent, "kind": item.kind, "name": item.name}
    query = raw(templates.query(_FILE, "record_object"))
    await connection.execute(query, {**about, "digest": item.digest, "version": version})


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
    with named(f"{migration.name}, for {agent},"):
        await connection.execute(raw(migration.ddl))
    await connection.execute("SET LOCAL row_security = on")
    await _switch(connection, forced, "FORCE")
    for table in tables:
        await hand_over_one(connection, "table", table.schema, table.name, OWNER)
    for item in altered:
        await record_object(connection, agent, item, version)
    for kind, name in sorted(migration.drops):
        await _do(connection, "forget_object", agent=agent, kind=kind, name=name)
    await _do(connection, "make_again", agent=agent, kinds=list(DEPENDENT))
    await _record(connection, agent, migration.number, migration.name)


async def _forced(connection: Connection, tables: Sequence[DatabaseObject]) -> list[str]:
    """The tables that have to let a login see their rows for as long as a migration runs."""
    if await _ask(connection, "bound") != [(True,)]:
        return []
    names = [f"{table.schema}.{table.name}" for table in tables]
    return [name for (name,) in await _ask(connection, "forced", tables=names)]


async def _switch(connection: Connection, tables: Iterable[str], how: str) -> None:
    for table in tables:
        await connection.execute(raw(f"ALTER TABLE IF EXISTS {table} {how} ROW LEVEL SECURITY"))


async def _record(connection: Connection, agent: str, number: int, name: str) -> None:
    digest = digest_of(name, FOLDER)
    await _do(connection, "record_migration", agent=agent, number=number, name=name, digest=digest)


async def _do(connection: Connection, query: str, **values: Any) -> None:
    await connection.execute(raw(templates.query(_FILE, query)), values)


async def _ask(connection: Connection, query: str, **values: Any) -> Rows:
    cursor = await connection.execute(raw(templates.query(_FILE, query)), values)
    return await cursor.fetchall()
