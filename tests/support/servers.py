"""The server that tests make their databases on: the embedded one, or one that is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psycopg
from psycopg import errors as pg
from psycopg import sql

from idetic.store.embedded import EmbeddedServer
from tests.support.scratch import MEMORY

# What a fixture does to a new database, by its name, before others are copied from it.
Prepare = Callable[[str], None]

# What keeps data through a power cut, and a password from being guessed: a run's own server needs
# neither, and tests of either start servers of their own. A database was copied in 17 ms of a core
# and not 27, dropped in 5 and not 8; a connection took 1 ms of this process and not 7.
_QUICK = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_size": "256MB",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "shared_buffers": "128MB",
    "scram_iterations": "1",
}


class Kind(StrEnum):
    """What a given server is. One can be several: a pooler in front of a Citus coordinator."""

    PLAIN = "plain"
    POOLER = "pooler"
    CITUS = "citus"


@dataclass(frozen=True)
class Recipe:
    """How a template was made: from which other one, if any, and by what."""

    base: str | None
    prepare: Prepare


class TestServer(ABC):
    """A server of databases, as far as tests need one."""

    __test__ = False

    # Whether `CREATE DATABASE … TEMPLATE` copies all that belongs to a database.
    copies = True

    # How it copies: pages through the log.
    strategy = "WAL_LOG"

    def __init__(self, home: Path, kinds: frozenset[Kind]) -> None:
        # A directory of the run's own; the embedded server lives in it.
        self.home = home
        self.kinds = kinds
        self._recipes: dict[str, Recipe] = {}
        self._administrator: psycopg.Connection | None = None

    @abstractmethod
    def dsn(self, *, user: str | None = None, dbname: str | None = None) -> str:
        """Where a role logs in; without one, where the superuser does, past any pooler."""

    @abstractmethod
    def ensure_login(self, role: str) -> None:
        """Make the role exist and able to log in through `dsn(user=role)`."""

    def close(self) -> None:
        """Leave the server as it was found, but for its roles."""
        if self._administrator is not None:
            self._administrator.close()

    def create(self, name: str) -> None:
        """Make a database with nothing in it."""
        self._administer(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        self._administer(statement.format(sql.Identifier(name)))

    def make_template(self, name: str, prepare: Prepare, base: str | None = None) -> None:
        """Make a database that others are copied from, on top of another one if that is named."""
        # Noted first: one that fails half-way is removed at the end, too.
        self._recipes[name] = Recipe(base, prepare)
        self.copy(base, name) if base else self.create(name)
        prepare(name)

    def drop_template(self, name: str) -> None:
        """Remove such a database."""
        del self._recipes[name]
        self.drop(name)

    def copy(self, source: str, name: str) -> None:
        """Make a database that holds what another one held when it was made a template."""
        if self.copies:
            made, template = sql.Identifier(name), sql.Identifier(source)
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY {}")
            self._administer(statement.format(made, template, sql.SQL(self.strategy)))
            return
        recipes = self._chain(source)
        self.create(name)
        try:
            for recipe in recipes:
                recipe.prepare(name)
        except BaseException:
            self.drop(name)
            raise

    def _chain(self, source: str) -> list[Recipe]:
        """The recipes that lead to a template, from the first one on."""
        if source == "template1":
            return []
        assert source in self._recipes, (
            f"This server copies no databases, and nobody said how {source} was made: "
            "fill a copy of a template anew where `server.copies` is false."
        )
        recipe = self._recipes[source]
        return [*(self._chain(recipe.base) if recipe.base else ()), recipe]

    def _administer(self, statement: sql.Composed) -> None:
        """On one connection for the whole run: a new one costs half as much as a database."""
        if self._administrator is None or self._administrator.closed:
            self._administrator = psycopg.connect(self.dsn(), autocommit=True)
        self._administrator.execute(statement)

    def _make_role(self, role: str) -> None:
        """As the migrations do: a role that inherits would have rights that ours never has."""
        statement = sql.SQL("CREATE ROLE {} NOLOGIN NOINHERIT").format(sql.Identifier(role))
        try:
            self._administer(statement)
        except (pg.DuplicateObject, pg.UniqueViolation):
            return


def quick_server(home: Path) -> EmbeddedServer:
    """An embedded server for databases that nobody keeps."""
    change = sql.SQL("ALTER SYSTEM SET {} = {}")
    with EmbeddedServer.acquire(home) as made, psycopg.connect(made.dsn(), autocommit=True) as at:
        for name, value in _QUICK.items():
            at.execute(change.format(sql.Identifier(name), sql.Literal(value)))
    # The next start sets a new password, by the new settings.
    (home / "credentials.json").unlink()
    return EmbeddedServer.acquire(home)


class EmbeddedTestServer(TestServer):
    """The embedded server, in a home that is thrown away with all its databases."""

    def __init__(self, lease: EmbeddedServer) -> None:
        super().__init__(lease.home, frozenset())
        self._lease = lease
        if lease.home.is_relative_to(MEMORY):
            # A copy of files takes half the time, and is dropped in a third; on a disk, where each
            # file is synced, it would take longer.
            self.strategy = "FILE_COPY"

    def dsn(self, *, user: str | None = None, dbname: str | None = None) -> str:
        return self._lease.dsn(user=user, dbname=dbname)

    def ensure_login(self, role: str) -> None:
        self._make_role(role)
        self._lease.ensure_login(role)
