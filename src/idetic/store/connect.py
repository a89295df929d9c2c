"""Opening a database: embedded or by DSN, checked, set up if it is empty, and only then served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from anyio import to_thread
from psycopg.conninfo import conninfo_to_dict

from idetic.errors import CapabilityRefused, DatabaseUnavailable, DatabaseUnsupported, IdeticError
from idetic.store.database import APP_ROLE, Administration, Connection, Database
from idetic.store.driver import translated
from idetic.store.embedded import EmbeddedServer
from idetic.store.migrator import is_current, migrate
from idetic.store.templates import BoundStatement, Statement

_WHO = BoundStatement(
    Statement(
        """SELECT session_user, login.rolsuper OR login.rolbypassrls,
                  acting.rolsuper OR acting.rolbypassrls
           FROM pg_roles AS login, pg_roles AS acting
           WHERE login.rolname = session_user AND acting.rolname = current_user"""
    )
)
LOGIN = (
    f"Make a login for programs with this one, which has set the database up: `CREATE ROLE my_app "
    f"LOGIN PASSWORD '…' IN ROLE {APP_ROLE};`. Then open with both: `Idetic.open(dsn_of_my_app, "
    "admin_dsn=this_one)`; for commands, the first is --dsn or IDETIC_DSN, this one "
    "IDETIC_ADMIN_DSN."
)


@dataclass(frozen=True, slots=True)
class OpenedDatabase:
    """An open database, the way to administer it, and the embedded server's lease if any."""

    database: Database
    administration: Administration
    server: EmbeddedServer | None = None


async def open_database(
    dsn: str | None, admin_dsn: str | None, *, home: Path | None, keep: bool | None
) -> OpenedDatabase:
    """Open by DSN, or the embedded server when there is none."""
    if dsn is not None:
        admin = admin_dsn or dsn
        await set_up(admin)
        return OpenedDatabase(await _serve(dsn), Administration(admin))
    server = await to_thread.run_sync(lambda: EmbeddedServer.acquire(home, keep=keep))
    try:
        admin = server.dsn()
        await set_up(admin)
        await to_thread.run_sync(server.ensure_login, APP_ROLE)
        database = await _serve(server.dsn(user=APP_ROLE))
        server.watch()
        return OpenedDatabase(database, Administration(admin), server)
    except IdeticError:
        await to_thread.run_sync(server.release)
        raise


async def set_up(dsn: str) -> None:
    """Set an empty database up with an admin login's rights; one of an older release is refused."""
    async with admin_connection(dsn) as connection:
        if not await is_current(connection):
            await migrate(connection)


@asynccontextmanager
async def admin_connection(dsn: str | None) -> AsyncIterator[Connection]:
    """The admin login's connection to a database of any release, or of none; for an upgrade."""
    if dsn is not None:
        with translated():
            async with await _connect(dsn) as connection:
                yield connection
        return
    server = await to_thread.run_sync(EmbeddedServer.acquire, None)
    try:
        async with admin_connection(server.dsn()) as connection:
            yield connection
    finally:
        await to_thread.run_sync(server.release)


async def login_to_make(connection: Connection) -> str | None:
    """How to make a login for programs, if memory is not opened with this one."""
    cursor = await connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user"
    )
    return LOGIN if await cursor.fetchone() == (True,) else None


async def _connect(dsn: str) -> Connection:
    """An autocommit connection to a DSN; a DSN or server that fails is told in a sentence."""
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


async def open_role(opened: OpenedDatabase, role: str) -> Database:
    """The same database as another role of ours: a pool of its own, which can act as nobody else.

    On the embedded server the role logs in itself, so that the server refuses to let it become any
    other. With a DSN the login is the operator's, and every transaction takes the role first.
    """
    dsn, server = opened.database.dsn, opened.server
    if server is not None:
        await to_thread.run_sync(server.ensure_login, role)
        dsn = server.dsn(user=role)
    return await _serve(dsn, role)


async def _serve(dsn: str, role: str = APP_ROLE) -> Database:
    """The application's pool, opened and its role checked; closed again if either fails."""
    database = Database(dsn, role=role)
    try:
        await database.open()
        await _check_role(database)
    except IdeticError:
        await database.close()
        raise
    return database


async def _check_role(database: Database) -> None:
    """Neither the pool's login nor the role that it takes may be above row-level security.

    The login too: a transaction that forgets its role, or resets it, has the login's rights.
    """
    try:
        ((login, over, role_over),) = await database.run_all(None, [_WHO])
    except CapabilityRefused:
        raise DatabaseUnsupported(
            f"This login may not act as {database.role}.",
            remedy=f"With an admin login: `GRANT {APP_ROLE} TO` this login.",
        ) from None
    if role_over:
        raise DatabaseUnsupported(
            f"The role {database.role} bypasses row-level security.",
            remedy=f"ALTER ROLE {database.role} NOSUPERUSER NOBYPASSRLS;",
        )
    if over:
        raise DatabaseUnsupported(
            f"The login {login} bypasses row-level security, so memory is not opened with it.",
            remedy=LOGIN,
        )
