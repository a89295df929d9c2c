"""Numbered core migrations, applied under an advisory lock, and the checks at open.

Opening sets an empty database up; an older one is changed by `idetic upgrade` alone (`upgrade.py`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib import resources

import psycopg
from psycopg import errors as pg

from idetic.errors import DatabaseUnsupported, UpgradeNeeded, UpgradeStopped
from idetic.store import queue_schema, templates
from idetic.store.database import Connection
from idetic.store.ownership import hand_over
from idetic.store.requirements import check_server, ensure_extensions
from idetic.store.templates import raw

# Any constant will do; this one spells "idetic" in the low bytes.
LOCK = 0x6964_6574_6963
# The schemas of the core, whose objects belong to our owner.
SCHEMAS = ("idetic", "idetic_jobs")


Numbered = list[tuple[int, str]]


def migrations(folder: str = "core") -> Numbered:
    """Every migration this release carries in a folder, as (number, file name), in order."""
    place = resources.files("idetic.store") / "sql" / folder
    found = place.iterdir() if place.is_dir() else ()
    names = sorted(f.name for f in found if re.match(r"\d{4}_.*\.sql$", f.name))
    return [(int(name[:4]), name) for name in names]


async def is_current(connection: Connection) -> bool:
    """Whether this database has every migration; one cheap query, the usual answer.

    One that has some of them is of an older release, and is never changed by being opened.
    """
    known = await applied(connection)
    check_known(known)
    if known and missing(known):
        here = migrations()[-1][0]
        raise UpgradeNeeded(
            f"This database is of an older Idetic: it has core {max(known)}, and this release "
            f"needs core {here}."
        )
    return bool(known) and await queue_schema.is_current(connection)


def missing(known: Mapping[int, str], folder: str = "core") -> Numbered:
    """What a release carries and a database lacks."""
    return [(number, name) for number, name in migrations(folder) if number not in known]


def check_known(known: Mapping[int, str], folder: str = "core", what: str = "core") -> None:
    """What a database has must be what this release carries under the same numbers."""
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


@cache
def digest_of(name: str, folder: str = "core") -> str:
    """The digest of a migration's file, as the database keeps it."""
    return hashlib.sha256(templates.read(f"{folder}/{name}").encode()).hexdigest()


async def applied(connection: Connection) -> dict[int, str]:
    """The core migrations that this database has, by number, with their digests."""
    cursor = await connection.execute("SELECT to_regclass('idetic.migrations') IS NOT NULL")
    row = await cursor.fetchone()
    if not row or not row[0]:
        return {}
    cursor = await connection.execute("SELECT number, digest FROM idetic.migrations")
    found: dict[int, str] = dict(await cursor.fetchall())
    return found


async def migrate(connection: Connection) -> list[str]:
    """Set a database up, or its queue; returns what was applied. Two processes at once are safe.

    All in one transaction: a killed one leaves nothing that would look like an older release.
    """
    await prepare(connection)
    async with locked(connection):
        known = await _registered(connection)
        check_known(known)
        await queue_schema.install(connection)
        done = [await apply_core(connection, *each) for each in missing(known)]
        await hand_over(connection, SCHEMAS)
        return done


async def prepare(connection: Connection) -> None:
    """Make roles and extensions, committed on their own.

    On Citus the workers must have them before anything names them.
    """
    check_server(connection)
    async with locked(connection):
        try:
            await ensure_extensions(connection)
            await connection.execute(raw(templates.read("roles.sql")))
            await connection.execute(raw(templates.read("roles_on_nodes.sql")))
        except pg.InsufficientPrivilege as error:
            raise DatabaseUnsupported(
                f"The login may not set Idetic up: {error.diag.message_primary}.",
                remedy="Run `idetic upgrade` once with a login that may create roles and "
                "extensions (IDETIC_ADMIN_DSN, or `Idetic.open(dsn, admin_dsn=…)`), then go on "
                "with this one.",
            ) from None


async def migrate_next(connection: Connection) -> str | None:
    """Apply the first core migration that is missing, in a transaction of its own; its name."""
    async with locked(connection):
        known = await _registered(connection)
        check_known(known)
        for number, name in missing(known)[:1]:
            with named(name):
                await apply_core(connection, number, name)
            await hand_over(connection, SCHEMAS)
            return name
    return None


@contextmanager
def named(migration: str) -> Iterator[None]:
    """Say which migration it was that stopped; a lost connection is told as any other."""
    try:
        yield
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        raise UpgradeStopped(f"{migration} stopped: {error.diag.message_primary}.") from None


async def migrate_queue(connection: Connection) -> list[str]:
    """Bring the queue to the installed procrastinate; what was new."""
    async with locked(connection):
        done = await queue_schema.install(connection)
        await hand_over(connection, SCHEMAS)
        return done


@asynccontextmanager
async def locked(connection: Connection) -> AsyncIterator[None]:
    """A transaction in which nobody else changes the schema of this database."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        yield


async def _registered(connection: Connection) -> dict[int, str]:
    await connection.execute(raw(templates.read("migrations_table.sql")))
    return await applied(connection)


async def apply_core(connection: Connection, number: int, name: str) -> str:
    """Run one core file and note it; its name."""
    await connection.execute(raw(templates.read(f"core/{name}")))
    await connection.execute(
        "INSERT INTO idetic.migrations (number, name, digest) VALUES (%s, %s, %s)",
        (number, name, digest_of(name)),
    )
    return name
