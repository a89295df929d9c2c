"""A lease on the shared server; and its status, keeping and stopping from outside."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from idetic.errors import EmbeddedServerError

from .files import FileLock, count_users, start_lock, users_lock
from .home import SUPERUSER, Home
from .installation import DATABASE, Installation
from .server import answers, connection_string, ensure_running, live_pid, stop_server, trim_log
from .server_memory import ServerMemory, server_memory
from .watch import Watch


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
    7. A lease that watches (`watch()`; every open `Idetic` does) brings a server back that died.
       One that `stop()` stopped stays stopped until the next `acquire`.

    Every method blocks; asynchronous callers run them in a thread.
    """

    def __init__(self, home: Home, lock: FileLock) -> None:
        self._home = home
        self._lock: FileLock | None = lock
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._watch: Watch | None = None
        self.home = home.path
        self.log_path = home.log
        atexit.register(self._release_at_exit)

    @classmethod
    def acquire(cls, home: Path | None = None, *, keep: bool | None = None) -> EmbeddedServer:
        """Start or join the server; see the class for the rules."""
        place = Home.at(home)
        if keep is None:
            keep = os.environ.get("IDETIC_KEEP_SERVER", "") not in ("", "0")
        with place.os_errors_explained():
            place.create()
            with start_lock(place.path):
                place.stopped.unlink(missing_ok=True)
                ensure_running(place)
                lock = users_lock(place.path)
                lock.share()
                if keep:
                    place.kept.touch()
            return cls(place, lock)

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def dsn(self, *, user: str | None = None, dbname: str | None = None) -> str:
        """A connection string; without arguments the superuser's, to the database `idetic`."""
        role = user or SUPERUSER
        with self._home.os_errors_explained():
            password = self._home.passwords().get(role)
        if password is None:
            raise EmbeddedServerError(
                f"The embedded database knows no password for the role {role!r}.",
                remedy="Stop the server; the next start sets a new one."
                if role == SUPERUSER
                else f"Call `ensure_login({role!r})` first.",
            )
        login = {"user": role, "password": password, "dbname": dbname or DATABASE}
        return connection_string(self._home, **login)

    def ensure_login(self, role: str) -> None:
        """Make `role` exist and able to log in through `dsn(user=role)`."""
        if self._can_log_in(role):
            return
        with self._home.os_errors_explained(), start_lock(self.home):
            password = self._home.ensure_password(role)
            try:
                with psycopg.connect(self.dsn(), autocommit=True) as connection:
                    _set_login(connection, role, password)
            except psycopg.Error as error:
                raise EmbeddedServerError(
                    f"The role {role!r} could not be given a login: {error}."
                ) from error

    def ensure_running(self) -> None:
        """Start the server again if it died or was stopped under this lease."""
        with self._home.os_errors_explained(), start_lock(self.home):
            self._home.stopped.unlink(missing_ok=True)
            ensure_running(self._home)

    def watch(self) -> None:
        """From now on, bring the server back when it dies, until this lease is released."""
        with self._guard:
            if self._watch is None and self._lock is not None:
                self._watch = Watch(self._home, self._revive)

    def _revive(self) -> None:
        """Start the server for whoever still uses it; decided under the lock that stops it."""
        with self._home.os_errors_explained(), start_lock(self.home):
            if self._lock is not None and not self._home.stopped.exists():
                ensure_running(self._home)

    def release(self) -> None:
        """Give the lease back; the last one out stops the server. Safe to repeat."""
        with self._guard:
            lock, self._lock = self._lock, None
            if self._watch is not None:
                self._watch.end()
        if lock is None:
            return
        atexit.unregister(self._release_at_exit)
        try:
            # In a forked child the lease is its parent's.
            if self._pid == os.getpid() and self.home.exists():
                with self._home.os_errors_explained(), start_lock(self.home):
                    lock.unlock()
                    trim_log(self._home)
                    if lock.try_alone() and not self._home.kept.exists():
                        stop_server(self._home)
        finally:
            lock.close()

    def _release_at_exit(self) -> None:
        """Give the lease back when the program ends without having done so."""
        # Too late to tell anyone; the next user of the home meets the same trouble.
        with suppress(EmbeddedServerError):
            self.release()

    def _can_log_in(self, role: str) -> bool:
        """Whether the role's kept password opens a connection right now."""
        with self._home.os_errors_explained():
            if role not in self._home.passwords():
                return False
        try:
            psycopg.connect(self.dsn(user=role)).close()
        except psycopg.OperationalError:
            return False
        return True


def _set_login(
    connection: psycopg.Connection[tuple[object, ...]], role: str, password: str
) -> None:
    """Create a role that can log in with a password, or give an existing one that password."""
    # Hashed here: the password itself is in no statement that a server might show someone.
    hashed = connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    ).decode()
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    change = sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(
        sql.SQL("ALTER" if known else "CREATE"), sql.Identifier(role), sql.Literal(hashed)
    )
    connection.execute(change)


@dataclass(frozen=True)
class ServerStatus:
    """The status of one home's server."""

    running: bool
    """Whether it accepts connections."""
    pid: int | None
    home: Path
    data_dir: Path
    socket_dir: Path
    version: str | None
    """PostgreSQL's version, once it is unpacked."""
    kept: bool
    users: int | None
    """How many leases are out; None where the system does not tell."""


def status(home: Path | None = None) -> ServerStatus:
    """Look without touching: nothing is created, started or waited for."""
    place = Home.at(home)
    with place.os_errors_explained():
        installation = Installation.find(place)
        return ServerStatus(
            running=answers(place),
            pid=live_pid(place),
            home=place.path,
            data_dir=place.data,
            socket_dir=place.socket_dir,
            version=installation.version if installation else None,
            kept=place.kept.exists(),
            users=count_users(place.path),
        )


def memory(home: Path | None = None) -> ServerMemory | None:
    """How much memory the server has and may take; None if none runs."""
    place = Home.at(home)
    with place.os_errors_explained():
        pid = live_pid(place)
        return None if pid is None else server_memory(pid, place.settings.read_text("utf-8"))


def stop(home: Path | None = None) -> bool:
    """Stop the server, whoever uses it, and no longer keep it; whether there was one."""
    place = Home.at(home)
    with place.os_errors_explained():
        if not place.path.exists():
            return False
        place.check()
        with start_lock(place.path):
            place.kept.unlink(missing_ok=True)
            place.stopped.touch()
            return stop_server(place)


def keep(home: Path | None = None) -> None:
    """Let the server stay when its last user leaves, until `stop`."""
    place = Home.at(home)
    with place.os_errors_explained():
        place.create()
        with start_lock(place.path):
            place.kept.touch()
