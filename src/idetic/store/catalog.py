"""Closing what the server's catalogs tell any role about tables it may not read.

PostgreSQL tells everybody how large a table is, how many rows it has and how often it is written
to. For two personas of which one must not even infer that the other remembers something, that is
closed: to PUBLIC, in this database, so that monitoring needs the role `pg_monitor`.
"""

from __future__ import annotations

from psycopg import errors as pg

from idetic.errors import DatabaseUnsupported
from idetic.store import templates
from idetic.store.database import Connection
from idetic.store.templates import raw

_PATH = "queries/catalog.sql"


async def open_ways(connection: Connection) -> list[str]:
    """By which functions and columns any role can tell how large a table is."""
    functions, columns, _ = await _found(connection)
    return [*functions, *(f"pg_class.{column}" for column in columns)]


async def close_catalog(connection: Connection) -> list[str]:
    """Close them all; what was open. Twice is once."""
    async with connection.transaction():
        functions, columns, others = await _found(connection)
        try:
            for function in functions:
                await connection.execute(raw(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC"))
                await connection.execute(raw(f"GRANT EXECUTE ON FUNCTION {function} TO pg_monitor"))
            if columns:
                shown = ", ".join(others)
                await connection.execute("REVOKE SELECT ON pg_catalog.pg_class FROM PUBLIC")
                await connection.execute(
                    raw(f"GRANT SELECT ({shown}) ON pg_catalog.pg_class TO PUBLIC")
                )
                await connection.execute("GRANT SELECT ON pg_catalog.pg_class TO pg_monitor")
        except pg.InsufficientPrivilege:
            raise DatabaseUnsupported(
                "This login may not close the catalogs.",
                remedy="Only a superuser may: give its address as IDETIC_ADMIN_DSN. Nothing was "
                "changed.",
            ) from None
    return [*functions, *(f"pg_class.{column}" for column in columns)]


async def _found(connection: Connection) -> tuple[list[str], list[str], list[str]]:
    cursor = await connection.execute(raw(templates.query(_PATH, "telling")))
    functions = [row[0] for row in await cursor.fetchall()]
    cursor = await connection.execute(raw(templates.query(_PATH, "shown")))
    row = await cursor.fetchone()
    columns, others = row or ([], [])
    return functions, columns, others
