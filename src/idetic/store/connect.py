"""Opening a database: embedded or by DSN, checked, migrated, and only then served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psycopg
from anyio import to_thread
from psycopg.conninfo import conninfo_to_dict

from idetic.errors import DatabaseUnavailable, DatabaseUnsupported, IdeticError
from idetic.store.database import APP_ROLE, Database
from idetic.store.embedded import EmbeddedServer
from idetic.store.migrator import is_current, migrate
from idetic.store.sqlstate import translated


@dataclass(frozen=True, slots=True)
class Opened:
    """An open database, and the embedded server's lease if there is one."""

    database: Database
    server: EmbeddedServer | None = None


async def open_database(
    dsn: str | None, admin_dsn: str | None, *, home: Path | None, keep: bool | None
) -> Opened:
    """Open by DSN, or the embedded server when there is none."""
    if dsn is not None:
        await _prepare(admin_dsn or dsn)
        return Opened(await _serve(dsn, admin_dsn or dsn))
    server = await to_thread.run_sync(lambda: EmbeddedServer.acquire(home, keep=keep))
    try:
        admin = server.dsn()
        await _prepare(admin)
        await to_thread.run_sync(server.ensure_login, APP_ROLE)
        return Opened(await _serve(server.dsn(user=APP_ROLE), admin), server)
    except IdeticError:
        await to_thread.run_sync(server.release)
        raise


async def _prepare(dsn: str) -> None:
    with translated():
        async with await _connect(dsn) as connection:
            if not await is_current(connection):
                await migrate(connection)


async def _connect(dsn: str) -> psycopg.AsyncConnection[tuple[object, ...]]:
    try:
        conninfo_to_dict(dsn)
        return await psycopg.AsyncConnection.connect(dsn, autocommit=True, connect_timeout=10)
    except psycopg.ProgrammingError:
        raise DatabaseUnavailable(
            "The DSN cannot be read.", remedy="It looks like 'postgresql://user@host/database'."
        ) from None
    except psycopg.OperationalError as error:
        # libpq's own sentence names host and reason, and never the password.
        raise DatabaseUnavailable(f"{str(error).strip().splitlines()[0].rstrip('.')}.") from None


async def open_role(opened: Opened, role: str) -> Database:
    """The same database as another role of ours: a pool of its own, which can act as nobody else.

    On the embedded server the role logs in itself, so that the server refuses to let it become any
    other. With a DSN the login is the operator's, and every connection takes the role at once.
    """
    dsn, server = opened.database.dsn, opened.server
    if server is not None:
        await to_thread.run_sync(server.ensure_login, role)
        dsn = server.dsn(user=role)
    return await _serve(dsn, opened.database.admin_dsn, role)


async def _serve(dsn: str, admin_dsn: str, role: str = APP_ROLE) -> Database:
    database = Database(dsn, admin_dsn, role=role)
    try:
        await database.open()
        await _check_role(database)
    except IdeticError:
        await database.close()
        raise
    return database


async def _check_role(database: Database) -> None:
    """The pool must not act as a role that row-level security does not bind."""
    async with database.reading() as connection:
        cursor = await connection.execute(
            "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        )
        row = await cursor.fetchone()
    if row is None or row[0]:
        raise DatabaseUnsupported(
            f"The role {database.role} bypasses row-level security.",
            remedy=f"ALTER ROLE {database.role} NOSUPERUSER NOBYPASSRLS;",
        )
