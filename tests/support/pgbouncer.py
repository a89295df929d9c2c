"""A real PgBouncer in front of the test server, in transaction mode.

In that mode a server connection belongs to a client for one transaction, and what a client left on
it (a role, a setting, a prepared statement, a lock) is there for whoever comes next. So a pooler
with few server connections and many clients shows whatever was meant to last longer.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from idetic.store.embedded.account import Account
from idetic.store.embedded.home import Home
from tests.support.children import child
from tests.support.servers import TestServer

_HOST = "127.0.0.1"
_START_PATIENCE, _STOP_PATIENCE = 15.0, 10.0
# Another process may take a free port before PgBouncer does.
_TRIES = 3
_CONSOLE = "pgbouncer"


@dataclass(frozen=True)
class Pooler:
    """A running PgBouncer: where its clients connect, and what it says of its pools."""

    port: int
    superuser: str
    passwords: Mapping[str, str]

    def dsn(self, *, user: str | None = None, dbname: str) -> str:
        """Where a role logs in through the pooler; without one, where the superuser does."""
        role = user or self.superuser
        login = {"user": role, "password": self.passwords[role]}
        # Stated, so that libpq takes nothing from the environment that is meant for the server.
        plain = {"hostaddr": "", "options": "", "sslmode": "disable", "gssencmode": "disable"}
        return make_conninfo("", host=_HOST, port=self.port, dbname=dbname, **login, **plain)

    def server_connections(self, dbname: str) -> int:
        """How many connections the pooler has to a database of the server now."""
        with psycopg.connect(self.dsn(dbname=_CONSOLE), autocommit=True) as console:
            listed = console.execute("SHOW SERVERS")
            place = [column.name for column in listed.description or ()].index("database")
            return sum(row[place] == dbname for row in listed.fetchall())


@contextmanager
def pgbouncer(
    server: TestServer, *, connections: int = 3, logins: Sequence[str] = ()
) -> Iterator[Pooler]:
    """Run a PgBouncer with so many server connections for each login and database.

    It knows the superuser and the roles of `logins`, whose logins the server must have by now.
    """
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program, "The tests of pooled connections need PgBouncer: run `make pooler`."
    # PgBouncer refuses to run as root. The embedded server's own user may enter its socket's place.
    account = Account.of(Home.at(server.home))
    folder = Path(tempfile.mkdtemp(prefix="idetic-pooler-"))
    try:
        account.own(folder)
        passwords = {role: _password(server.dsn(user=role)) for role in logins}
        with psycopg.connect(server.dsn()) as connection:
            superuser, to = connection.info.user, (connection.info.host, connection.info.port)
            passwords[superuser] = connection.info.password
        for attempt in range(1, _TRIES + 1):
            pooler = Pooler(_free_port(), superuser, passwords)
            _write_settings(folder, account, pooler, to, connections)
            with _running(program, folder, account) as process:
                if _wait_until_ready(pooler, process):
                    yield pooler
                    return
            said = (folder / "log").read_text("utf-8", errors="replace")
            assert attempt < _TRIES, f"PgBouncer did not start:\n{said}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _password(dsn: str) -> str:
    return str(conninfo_to_dict(dsn).get("password") or "")


def _write_settings(
    folder: Path, account: Account, pooler: Pooler, to: tuple[str, int], connections: int
) -> None:
    users = pooler.passwords
    # A server that asks for no password is the caller's to trust; any other is not opened to all.
    asks = "scram-sha-256" if all(users.values()) else "trust"
    settings = {
        "listen_addr": _HOST,
        "listen_port": pooler.port,
        "unix_socket_dir": "",
        "auth_type": asks,
        "auth_file": folder / "users",
        "admin_users": pooler.superuser,
        "pool_mode": "transaction",
        "default_pool_size": connections,
        "max_client_conn": 500,
        # Whoever waits this long waits for itself: it holds one connection and asks for another.
        "query_wait_timeout": 30,
        # What drivers say on connecting, and what is no setting of a transaction.
        "ignore_startup_parameters": "extra_float_digits,options",
    }
    host, port = _doubled(to[0], "'"), to[1]
    lines = ["[databases]", f"* = host='{host}' port={port}", "[pgbouncer]"]
    lines += [f"{name} = {value}" for name, value in settings.items()]
    listed = [f'"{_doubled(role)}" "{_doubled(word)}"' for role, word in users.items()]
    for name, text in {"settings": lines, "users": listed}.items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_text("\n".join([*text, ""]), "utf-8")
        account.own(path)


def _doubled(text: str, quote: str = '"') -> str:
    return text.replace(quote, quote * 2)


@contextmanager
def _running(program: str, folder: Path, account: Account) -> Iterator[subprocess.Popen[str]]:
    """PgBouncer for as long as the block runs; asked to end before it is made to."""
    other = account.is_other
    with (
        (folder / "log").open("wb") as log,
        child(
            [program, str(folder / "settings")],
            patience=None,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            user=account.uid if other else None,
            group=account.gid if other else None,
            extra_groups=[] if other else None,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_PATIENCE)


def _wait_until_ready(pooler: Pooler, process: subprocess.Popen[str]) -> bool:
    """Whether it answers at its console; False if it ended, or never did."""
    deadline = time.monotonic() + _START_PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(psycopg.OperationalError):
            psycopg.connect(pooler.dsn(dbname=_CONSOLE), connect_timeout=2).close()
            return True
        time.sleep(0.05)
    return False
