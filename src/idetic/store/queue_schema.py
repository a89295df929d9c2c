"""The queue's tables: procrastinate's own, made from whatever release of it is installed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psycopg

from idetic.errors import DatabaseUnsupported
from idetic.store.database import Connection, fetch
from idetic.store.templates import raw

SCHEMA = "idetic_jobs"


@cache
def carried() -> tuple[str, ...]:
    """The migrations of the installed procrastinate, in order.

    Found without importing it: every open asks, and the import takes a third of a second.
    """
    found = find_spec("procrastinate")
    places = found.submodule_search_locations if found else None
    if not places:
        raise DatabaseUnsupported(
            "The package procrastinate is not installed.", remedy="Run `pip install procrastinate`."
        )
    return tuple(sorted(f.name for f in Path(places[0], "sql", "migrations").glob("*.sql")))


async def applied(connection: Connection) -> set[str]:
    """The migrations of procrastinate that this database has."""
    cursor = await connection.execute("SELECT name FROM idetic.queue_migrations")
    return {name for (name,) in await cursor.fetchall()}


async def is_current(connection: Connection) -> bool:
    """Whether the queue has all that the installed procrastinate needs."""
    return set(carried()) <= await applied(connection)


async def check_known(connection: Connection) -> None:
    """Refuse to work a queue that a newer procrastinate has set up."""
    unknown = await applied(connection) - set(carried())
    if unknown:
        raise DatabaseUnsupported(
            f"A newer procrastinate has set this queue up ({max(unknown)}).",
            remedy="Upgrade the `procrastinate` package on this machine, then start the worker.",
        )


async def install(connection: Connection) -> list[str]:
    """Make or upgrade the queue's tables, as idetic_owner; says which migrations were new.

    A new database gets procrastinate's schema, which is the sum of its migrations; an older one
    gets the migrations that it lacks.
    """
    await fetch(connection, "queries/queue.sql", "schema")
    known = await applied(connection)
    missing = [name for name in carried() if name not in known]
    if not missing:
        return []
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 - slow, and rarely needed

    folder = Path(SchemaManager.get_migrations_path())
    scripts = [(folder / name).read_text("utf-8") for name in missing] if known else []
    # procrastinate names no schema, so its statements run with one as their search path.
    cursor = await connection.execute("SELECT current_setting('search_path')")
    before = await cursor.fetchone() or ("",)
    path = "SELECT set_config('search_path', %s, true)"
    await connection.execute(path, (SCHEMA,))
    for script in scripts or [SchemaManager.get_schema()]:
        await _run(connection, script, newest=max(known, default="none"))
    await connection.execute(path, before)
    for name in missing:
        await connection.execute("INSERT INTO idetic.queue_migrations (name) VALUES (%s)", (name,))
    return missing


async def _run(connection: Connection, script: str, *, newest: str) -> None:
    """Run a script of procrastinate's; where it fails, name the release that would fit."""
    try:
        await connection.execute(raw(script))
    except psycopg.Error as error:
        raise DatabaseUnsupported(
            f"The queue cannot follow the installed procrastinate: {error.diag.message_primary}.",
            remedy=f"Nothing was changed. Stop every worker and try again, or install the "
            f"procrastinate whose newest migration is {newest}.",
        ) from None
