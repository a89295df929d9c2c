"""A server that is given to a run of the tests, by its address.

`IDETIC_TEST_DSN` is a superuser's address on any PostgreSQL that Idetic supports. What the
application's logins do goes to `IDETIC_TEST_APP_DSN` instead, where that is set: a pooler in front
of the same server. `IDETIC_TEST_CREATEDB` and `IDETIC_TEST_DROPDB` are commands that take a
database's name, for clusters where SQL alone does not make one; `IDETIC_TEST_COPYDB` takes the name
of one to copy before it. docs/how-to/run-the-tests.md tells more.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.servers import Kind, TestServer

_PATIENCE = 300.0
_SELF = """SELECT current_setting('server_version'), current_setting('shared_preload_libraries')"""


class GivenServer(TestServer):
    """A server that runs already. Other runs may use it at the same time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        # Not tmp_path: pytest makes that 0700, and a pooler may run as another user.
        home = Path(tempfile.mkdtemp(prefix="idetic-tests-"))
        home.chmod(0o755)
        self._admin = environment["IDETIC_TEST_DSN"]
        self._app = environment.get("IDETIC_TEST_APP_DSN") or self._admin
        self._createdb = shlex.split(environment.get("IDETIC_TEST_CREATEDB", ""))
        self._dropdb = shlex.split(environment.get("IDETIC_TEST_DROPDB", ""))
        self._copydb = shlex.split(environment.get("IDETIC_TEST_COPYDB", ""))
        self.copies = bool(self._copydb) or not self._createdb
        super().__init__(home, look_at(environment).kinds)

    def dsn(self, *, user: str | None = None, dbname: str | None = None) -> str:
        named = {"dbname": dbname} if dbname else {}
        if user is None:
            return make_conninfo(self._admin, **named)
        password = {"password": self._password} if self._password else {}
        return make_conninfo(self._app, user=user, **password, **named)

    def ensure_login(self, role: str) -> None:
        """With the address's own password, so that a pooler's list of users can be written
        beforehand; without one in it, the server is taken to trust its clients."""
        self._make_role(role)
        login = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(
            sql.Identifier(role), sql.Literal(self._password)
        )
        with psycopg.connect(self._admin) as connection:
            # Runs that share the server would meet in the role's row: "tuple concurrently updated".
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('idetic tests: logins'))")
            connection.execute(login)

    def create(self, name: str) -> None:
        self._run(self._createdb, name) if self._createdb else super().create(name)

    def drop(self, name: str) -> None:
        self._run(self._dropdb, name) if self._dropdb else super().drop(name)

    def copy(self, source: str, name: str) -> None:
        if self._copydb:
            self._run(self._copydb, source, name)
            return
        if self.copies and Kind.POOLER in self.kinds:
            # A pooler keeps connections of clients that have gone, and a template may have none.
            with psycopg.connect(self._admin, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    (source,),
                )
        super().copy(source, name)

    def close(self) -> None:
        for name in list(self._recipes):
            self.drop_template(name)
        super().close()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def _password(self) -> str | None:
        found = (conninfo_to_dict(dsn).get("password") for dsn in (self._app, self._admin))
        return next((str(password) for password in found if password), None)

    def _run(self, command: list[str], *names: str) -> None:
        call = [*command, *names]
        done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=_PATIENCE)
        assert done.returncode == 0, f"{shlex.join(call)}: {done.stderr or done.stdout}"


def is_given(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a server is given to this run."""
    return bool(environment.get("IDETIC_TEST_DSN"))


@dataclass(frozen=True)
class Found:
    """What a given server says of itself."""

    version: str
    kinds: frozenset[Kind]


def look_at(environment: Mapping[str, str] = os.environ) -> Found:
    """Ask the given server what it is."""
    if bool(environment.get("IDETIC_TEST_CREATEDB")) != bool(environment.get("IDETIC_TEST_DROPDB")):
        raise pytest.UsageError("IDETIC_TEST_CREATEDB and IDETIC_TEST_DROPDB go together.")
    try:
        with psycopg.connect(environment["IDETIC_TEST_DSN"], connect_timeout=10) as connection:
            row = connection.execute(_SELF).fetchone()
    except psycopg.Error as error:
        raise pytest.UsageError(f"IDETIC_TEST_DSN: {error}") from None
    assert row is not None
    kinds = {
        Kind.PLAIN: True,
        Kind.POOLER: bool(environment.get("IDETIC_TEST_APP_DSN")),
        Kind.CITUS: "citus" in row[1],
    }
    return Found(row[0], frozenset(kind for kind, so in kinds.items() if so))
