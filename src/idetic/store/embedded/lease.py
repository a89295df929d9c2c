"""A lease on the shared server."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psycopg
from psycopg import sql

from idetic.errors import EmbeddedServerError

from .address import connection_string
from .cluster import DATABASE
from .credentials import SUPERUSER, ensure_password, password_of
from .failures import told_as_ours
from .home import Home
from .locks import FileLock, start_lock, users_lock
from .postmaster import stop_server
from .server import ensure_running, trim_log


class EmbeddedServer:
    """A lease on the embedded PostgreSQL server of one home.

    All processes that name the same home share one server, under these rules:

    1. `acquire` starts the server if it is not running. The first start unpacks PostgreSQL
       and makes the database; nothing is downloaded.
    2. Each lease counts, also several in one process. The last `release` stops the server.
       A process that ends without releasing does so on its way out.
    3. A process that is killed cannot release. The server then stays, and stops with the
       next last `release`, or by `stop()`.
    4. A *kept* server stays when its last user leaves, until `stop()`. It is kept by
       `keep=True`, by `IDETIC_KEEP_SERVER=1` (unless `keep=False`), or by `keep()`.
    5. `stop()` stops the server whoever uses it, and ends rule 4.
    6. The server listens on a Unix socket in a private directory, never on TCP, and asks
       every role for a password. It survives the terminal and Ctrl-C of whoever started it.

    Every method blocks; asynchronous callers run them in a thread.
    """

    def __init__(self, home: Home, lock: FileLock) -> None:
        self._home = home
        self._lock: FileLock | None = lock
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self.home: Path = home.path
        self.log_path: Path = home.log
        atexit.register(self._release_at_exit)

    @classmethod
    def acquire(cls, home: Path | None = None, *, keep: bool | None = None) -> EmbeddedServer:
        """Start or join the server; see the class for the rules."""
        place = Home.at(home)
        if keep is None:
            keep = os.environ.get("IDETIC_KEEP_SERVER", "") not in ("", "0")
        with told_as_ours(place):
            place.create()
            with start_lock(place):
                ensure_running(place)
                lock = users_lock(place)
                lock.share()
                if keep:
                    place.kept.touch()
            return cls(place, lock)

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def dsn(self, *, user: str | None = None, dbname: str | None = None) -> str:
        """A connection string; without arguments the superuser's, to the database `idetic`."""
        role = user or SUPERUSER
        with told_as_ours(self._home):
            password = password_of(self._home, role)
        if password is None:
            raise EmbeddedServerError(
                f"The embedded database knows no password for the role {role!r}.",
                remedy="Stop the server; the next start sets a new one."
                if role == SUPERUSER
                else f"Call `ensure_login({role!r})` first.",
            )
        return connection_string(
            self._home, user=role, password=password, dbname=dbname or DATABASE
        )

    def ensure_login(self, role: str) -> None:
        """Make `role` exist and able to log in through `dsn(user=role)`."""
        if self._can_log_in(role):
            return
        with told_as_ours(self._home), start_lock(self._home):
            password = ensure_password(self._home, role)
            try:
                with psycopg.connect(self.dsn(), autocommit=True) as connection:
                    _set_login(connection, role, password)
            except psycopg.Error as error:
                raise EmbeddedServerError(
                    f"The role {role!r} could not be given a login: {error}."
                ) from error

    def ensure_running(self) -> None:
        """Start the server again if it died under this lease."""
        with told_as_ours(self._home), start_lock(self._home):
            ensure_running(self._home)

    def release(self) -> None:
        """Give the lease back; the last one out stops the server. Safe to repeat."""
        with self._guard:
            lock, self._lock = self._lock, None
        if lock is None:
            return
        atexit.unregister(self._release_at_exit)
        if self._pid != os.getpid():
            # A forked child: the lease is its parent's.
            lock.close()
            return
        try:
            with told_as_ours(self._home):
                _leave(self._home, lock)
        finally:
            lock.close()

    def _release_at_exit(self) -> None:
        # Too late to tell anyone; the next user of the home meets the same trouble.
        with suppress(EmbeddedServerError):
            self.release()

    def _can_log_in(self, role: str) -> bool:
        with told_as_ours(self._home):
            if password_of(self._home, role) is None:
                return False
        try:
            psycopg.connect(self.dsn(user=role)).close()
        except psycopg.OperationalError:
            return False
        return True


def _leave(home: Home, lock: FileLock) -> None:
    if not home.path.exists():
        return
    with start_lock(home):
        lock.unlock()
        trim_log(home)
        if lock.try_alone() and not home.kept.exists():
            stop_server(home)


def _set_login(
    connection: psycopg.Connection[tuple[object, ...]], role: str, password: str
) -> None:
    # Hashed here: the password itself is in no statement that a server might show someone.
    hashed = connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    ).decode()
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    verb = sql.SQL("ALTER" if known else "CREATE")
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(
            verb, sql.Identifier(role), sql.Literal(hashed)
        )
    )
