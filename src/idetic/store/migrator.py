"""Numbered core migrations, applied under an advisory lock, and the checks at open."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from psycopg import errors as pg
from psycopg import sql

from idetic.errors import DatabaseError, DatabaseUnsupported
from idetic.store import queue_schema, templates
from idetic.store.database import Connection
from idetic.store.ownership import hand_over
from idetic.store.templates import raw

# Any constant will do; this one spells "idetic" in the low bytes.
LOCK = 0x6964_6574_6963
# The schemas of the core, whose objects belong to our owner.
SCHEMAS = ("idetic", "idetic_jobs", "idetic_actor", "idetic_subconscious")
_EXTENSIONS = {"vector": (0, 8), "pg_trgm": (1, 6), "btree_gist": (1, 5)}


def migrations() -> list[tuple[int, str]]:
    """Every migration this release carries, as (number, file name), in order."""
    folder = resources.files("idetic.store") / "sql" / "core"
    names = sorted(f.name for f in folder.iterdir() if re.match(r"\d{4}_.*\.sql$", f.name))
    return [(int(name[:4]), name) for name in names]


async def is_current(connection: Connection) -> bool:
    """Whether this database has every migration; one cheap query, the usual answer."""
    known = await _applied(connection)
    _check_known(known)
    newest = migrations()[-1][0]
    return newest in known and await queue_schema.is_current(connection)


def _check_known(known: Mapping[int, str]) -> None:
    """What a database has must be what this release carries under the same numbers."""
    newest = migrations()[-1][0]
    if known and max(known) > newest:
        raise DatabaseUnsupported(
            f"This database was migrated by a newer Idetic (core {max(known)}, here {newest}).",
            remedy="Upgrade the `idetic` package on this machine.",
        )
    for number, name in migrations():
        if number in known and known[number] != digest_of(name):
            raise DatabaseUnsupported(
                f"This database was made by another Idetic: its {name} is not the one of this "
                "release.",
                remedy="Nothing was changed. Use the release that made it, or move its memory: "
                "`idetic export` there, `idetic import` into a new database here.",
            )


@cache
def digest_of(name: str) -> str:
    """The digest of a core file, as the database keeps it."""
    return hashlib.sha256(templates.read(f"core/{name}").encode()).hexdigest()


async def _applied(connection: Connection) -> dict[int, str]:
    cursor = await connection.execute("SELECT to_regclass('idetic.migrations') IS NOT NULL")
    row = await cursor.fetchone()
    if not row or not row[0]:
        return {}
    cursor = await connection.execute("SELECT number, digest FROM idetic.migrations")
    applied: dict[int, str] = dict(await cursor.fetchall())
    return applied


async def migrate(connection: Connection) -> list[str]:
    """Bring the core up to date; returns what was applied. Two processes at once are safe.

    Roles and extensions are committed first: on Citus the workers must have them before anything
    names them.
    """
    _check_version(connection)
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        try:
            await _extensions(connection)
            await connection.execute(raw(templates.read("roles.sql")))
            await connection.execute(raw(templates.read("roles_on_nodes.sql")))
        except pg.InsufficientPrivilege as error:
            raise DatabaseUnsupported(
                f"The login may not set Idetic up: {error.diag.message_primary}.",
                remedy="Open once with a login that may create roles and extensions "
                "(`Idetic.open(dsn, admin_dsn=…)`), then go on with this one.",
            ) from None
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        done = await _apply_missing(connection)
        await hand_over(connection, SCHEMAS)
        return done


async def _apply_missing(connection: Connection) -> list[str]:
    await connection.execute(raw(templates.read("migrations_table.sql")))
    await queue_schema.install(connection)
    known = await _applied(connection)
    done = []
    for number, name in migrations():
        if number in known:
            continue
        await connection.execute(raw(templates.read(f"core/{name}")))
        await connection.execute(
            "INSERT INTO idetic.migrations (number, name, digest) VALUES (%s, %s, %s)",
            (number, name, digest_of(name)),
        )
        done.append(name)
    return done


def _check_version(connection: Connection) -> None:
    version = connection.info.server_version
    if version < 150_000:
        raise DatabaseUnsupported(
            f"PostgreSQL {version // 10_000} is too old; Idetic needs 15 or newer.",
            remedy="Upgrade the server, or use the embedded one: `Idetic.open()`.",
        )


async def _extensions(connection: Connection) -> None:
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
