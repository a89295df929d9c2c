"""What Idetic asks of a server: the version, and the extensions with theirs."""

from __future__ import annotations

import re

from psycopg import errors as pg
from psycopg import sql

from idetic.errors import DatabaseError, DatabaseUnsupported
from idetic.store.database import Connection

_EXTENSIONS = {"vector": (0, 8), "pg_trgm": (1, 6), "btree_gist": (1, 5)}


def check_server(connection: Connection) -> None:
    """Refuse a PostgreSQL that is too old."""
    version = connection.info.server_version
    if version < 150_000:
        raise DatabaseUnsupported(
            f"PostgreSQL {version // 10_000} is too old; Idetic needs 15 or newer.",
            remedy="Upgrade the server, or use the embedded one: `Idetic.open()`.",
        )


async def ensure_extensions(connection: Connection) -> None:
    """Make the extensions that are missing; refuse one that is too old."""
    for name, least in _EXTENSIONS.items():
        try:
            await connection.execute(
                sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(name))
            )
        except (pg.UndefinedFile, pg.FeatureNotSupported):
            raise DatabaseUnsupported(
                f"The extension {name} is not installed on this server.",
                remedy=f"Install {name} for this PostgreSQL, or use the embedded one.",
            ) from None
        cursor = await connection.execute(
            "SELECT extversion FROM pg_extension WHERE extname = %s", (name,)
        )
        row = await cursor.fetchone()
        if row is None:
            raise DatabaseError(f"The extension {name} did not come up.")
        found = tuple(int(part) for part in re.findall(r"\d+", row[0])[:2])
        if found < least:
            wanted = ".".join(map(str, least))
            raise DatabaseUnsupported(
                f"The extension {name} is {row[0]}; Idetic needs {wanted} or newer.",
                remedy=f"Run `ALTER EXTENSION {name} UPDATE` after installing a newer build.",
            )
