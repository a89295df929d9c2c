"""The core of a database: what the server must have, numbered migrations, and who owns the result.

Opening sets an empty database up; an older one is changed by `idetic upgrade` alone (`upgrade.py`).

All DDL runs as the login, and the owners are set afterwards. Citus has a connection to each node
for each role, and what one role has not committed another does not see: with a role for each step,
the workers would not find what the step before has made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib import resources

import psycopg
from psycopg import errors as pg
from psycopg import sql

from idetic.errors import DatabaseError, DatabaseUnsupported, UpgradeNeeded, UpgradeStopped
from idetic.store import queue, templates
from idetic.store.database import Connection, fetch
from idetic.store.templates import raw

OWNER = "idetic_owner"
# Any constant will do; this one spells "idetic" in the low bytes.
LOCK = 0x6964_6574_6963
# The schemas of the core, whose objects belong to our owner.
SCHEMAS = ("idetic", "idetic_jobs")
_EXTENSIONS = {"vector": (0, 8), "pg_trgm": (1, 6), "btree_gist": (1, 5)}
# What has an owner of its own; an index, a trigger, a policy is its table's.
_OWNED = {"table": "TABLE", "view": "VIEW", "domain": "DOMAIN", "function": "FUNCTION"}

Numbered = list[tuple[int, str]]


def migrations(folder: str = "core") -> Numbered:
    """Every migration this release carries in a folder, as (number, file name), in order."""
    place = resources.files("idetic.store") / "sql" / folder
    found = place.iterdir() if place.is_dir() else ()
    names = sorted(f.name for f in found if re.match(r"\d{4}_.*\.sql$", f.name))
    return [(int(name[:4]), name) for name in names]


def missing(known: Mapping[int, str], folder: str = "core") -> Numbered:
    """What a release carries and a database lacks."""
    return [(number, name) for number, name in migrations(folder) if number not in known]


@cache
def digest_of(name: str, folder: str = "core") -> str:
    """The digest of a migration's file, as the database keeps it."""
    return hashlib.sha256(templates.read(f"{folder}/{name}").encode()).hexdigest()


def check_known(known: Mapping[int, str], folder: str = "core", what: str = "core") -> None:
    """Refuse a database whose migrations are not those of this release, number by number."""
    newest = max((number for number, _ in migrations(folder)), default=0)
    if known and max(known) > newest:
        raise DatabaseUnsupported(
            f"This database was migrated by a newer Idetic ({what} {max(known)}, here {newest}).",
            remedy="Upgrade the `idetic` package on this machine.",
        )
    for number, name in migrations(folder):
        if number in known and known[number] != digest_of(name, folder):
            raise DatabaseUnsupported(
                f"This database was made by another Idetic: its {name} is not the one of this "
                "release.",
                remedy="Nothing was changed. Use the release that made it, or move its memory: "
                "`idetic export` there, `idetic import` into a new database here.",
            )


async def applied(connection: Connection) -> dict[int, str]:
    """The core migrations that this database has, by number, with their digests."""
    cursor = await connection.execute("SELECT to_regclass('idetic.migrations') IS NOT NULL")
    if await cursor.fetchone() != (True,):
        return {}
    cursor = await connection.execute("SELECT number, digest FROM idetic.migrations")
    found: dict[int, str] = dict(await cursor.fetchall())
    return found


async def is_current(connection: Connection) -> bool:
    """Whether this database has every migration; one cheap query, the usual answer.

    One that has some of them is of an older release, and is never changed by being opened.
    """
    known = await applied(connection)
    check_known(known)
    if known and missing(known):
        here = migrations()[-1][0]
        raise UpgradeNeeded(
            f"This database was made by an older Idetic: it has core {max(known)}, "
            f"and this release needs core {here}."
        )
    return bool(known) and await queue.is_current(connection)


async def migrate(connection: Connection) -> list[str]:
    """Set a database up, or its queue; returns what was applied. Two processes at once are safe.

    All in one transaction: a killed one leaves nothing that would look like an older release.
    """
    await prepare(connection)
    async with locked(connection):
        lacking = await _lacking(connection)
        await queue.install(connection)
        for number, name in lacking:
            await _apply(connection, number, name)
        await hand_over(connection, SCHEMAS)
        return [name for _, name in lacking]


async def migrate_next(connection: Connection) -> str | None:
    """Apply the first core migration that is missing, in a transaction of its own; its name."""
    async with locked(connection):
        for number, name in (await _lacking(connection))[:1]:
            with stop_named(name):
                await _apply(connection, number, name)
            await hand_over(connection, SCHEMAS)
            return name
    return None


async def migrate_queue(connection: Connection) -> list[str]:
    """Bring the queue to the installed procrastinate; what was new."""
    async with locked(connection):
        done = await queue.install(connection)
        await hand_over(connection, SCHEMAS)
        return done


async def _lacking(connection: Connection) -> Numbered:
    """The core migrations that the database lacks, after making the table that counts them."""
    await connection.execute(raw(templates.read("migrations_table.sql")))
    known = await applied(connection)
    check_known(known)
    return missing(known)


async def _apply(connection: Connection, number: int, name: str) -> None:
    """Run one core file and note it."""
    await connection.execute(raw(templates.read(f"core/{name}")))
    await connection.execute(
        "INSERT INTO idetic.migrations (number, name, digest) VALUES (%s, %s, %s)",
        (number, name, digest_of(name)),
    )


@asynccontextmanager
async def locked(connection: Connection) -> AsyncIterator[None]:
    """A transaction in which nobody else changes the schema of this database."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        yield


@contextmanager
def stop_named(migration: str) -> Iterator[None]:
    """Say which migration it was that stopped; a lost connection is told as any other."""
    try:
        yield
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        raise UpgradeStopped(f"{migration} stopped: {error.diag.message_primary}.") from None


async def prepare(connection: Connection) -> None:
    """Make roles and extensions, committed on their own.

    On Citus the workers must have them before anything names them.
    """
    version = connection.info.server_version
    if version < 150_000:
        raise DatabaseUnsupported(
            f"PostgreSQL {version // 10_000} is too old; Idetic needs 15 or newer.",
            remedy="Upgrade the server, or use the embedded one: `Idetic.open()`.",
        )
    async with locked(connection):
        try:
            for name, least in _EXTENSIONS.items():
                await _ensure_extension(connection, name, least)
            await connection.execute(raw(templates.read("roles.sql")))
            await connection.execute(raw(templates.read("roles_on_nodes.sql")))
        except pg.InsufficientPrivilege as error:
            raise DatabaseUnsupported(
                f"The login may not set Idetic up: {error.diag.message_primary}.",
                remedy="Run `idetic upgrade` once with a login that may create roles and "
                "extensions (IDETIC_ADMIN_DSN, or `Idetic.open(dsn, admin_dsn=…)`), then go on "
                "with this one.",
            ) from None


async def _ensure_extension(connection: Connection, name: str, least: tuple[int, int]) -> None:
    """Make an extension if it is missing; refuse one that is too old."""
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
        raise DatabaseError(f"PostgreSQL did not create the extension {name}.")
    found = tuple(int(part) for part in re.findall(r"\d+", row[0])[:2])
    if found < least:
        wanted = ".".join(map(str, least))
        raise DatabaseUnsupported(
            f"The extension {name} is {row[0]}; Idetic needs {wanted} or newer.",
            remedy=f"Run `ALTER EXTENSION {name} UPDATE` after installing a newer build.",
        )


async def hand_over(connection: Connection, schemas: Sequence[str]) -> None:
    """Give our owner every object of schemas of ours that the login has made.

    A new function is open to PUBLIC; those of ours are closed, and name their callers.
    """
    file, ours = "queries/ownership.sql", list(schemas)
    for kind, name in await fetch(connection, file, "made_here", schemas=ours):
        await connection.execute(raw(f"ALTER {kind} {name} OWNER TO {OWNER}"))
    for (name,) in await fetch(connection, file, "open_to_all", schemas=ours):
        await connection.execute(raw(f"REVOKE EXECUTE ON ROUTINE {name} FROM PUBLIC"))


async def hand_over_one(
    connection: Connection, kind: str, schema: str, name: str, owner: str
) -> None:
    """Give one object of a family to a role of ours, which may create there only for that long."""
    if kind not in _OWNED:
        return
    role, place = sql.Identifier(owner), sql.Identifier(schema)
    owned = raw(_OWNED[kind] + " {}").format(sql.Identifier(schema, name))
    lent = owner != OWNER
    if lent:
        await connection.execute(raw("GRANT CREATE ON SCHEMA {} TO {}").format(place, role))
    if kind == "function":
        await connection.execute(raw("REVOKE EXECUTE ON {} FROM PUBLIC").format(owned))
    await connection.execute(raw("ALTER {} OWNER TO {}").format(owned, role))
    if lent:
        await connection.execute(raw("REVOKE CREATE ON SCHEMA {} FROM {}").format(place, role))
