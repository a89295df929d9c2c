"""Two tenants of every shipped agent, in a database with and in one without row-level security."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from idetic import Idetic
from idetic.spec.loader import load, shipped
from idetic.store.family import families
from tests.conftest import TestDatabase
from tests.support import aside
from tests.support.catalog import tables_of
from tests.support.databases import copy_of
from tests.support.forgetful import forget
from tests.support.servers import TestServer
from tests.support.templates import apply_agent
from tests.support.tenants import Populated, Tenant, make_tenant

Tenants = dict[str, tuple[Tenant, Tenant]]


@dataclass(frozen=True)
class Prepared:
    """A database with two tenants of every shipped agent, to be copied."""

    server: TestServer
    template: str
    name: str
    tenants: Tenants

    @asynccontextmanager
    async def copied(self) -> AsyncIterator[tuple[TestDatabase, Tenants]]:
        """A copy of it; where the server makes none, another one with tenants of its own."""
        if self.server.copies:
            with copy_of(self.server, self.name) as database:
                yield database, self.tenants
        else:
            with copy_of(self.server, self.template) as database:
                yield database, await settle(self.server, database)


async def settle(server: TestServer, database: TestDatabase) -> Tenants:
    """Two tenants of every shipped agent."""
    tenants = {}
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        for name in shipped():
            agent = await apply_agent(server, db, name)
            one = await make_tenant(db, agent, database.admin_dsn)
            tenants[name] = (one, await make_tenant(db, agent, database.admin_dsn))
    return tenants


@pytest.fixture(scope="session")
def prepared(server: TestServer, template: str) -> Iterator[Prepared]:
    with copy_of(server, template) as database:
        tenants = aside.run(settle, server, database) if server.copies else {}
        name = str(conninfo_to_dict(database.dsn)["dbname"])
        yield Prepared(server, template, name, tenants)


async def opened(database: TestDatabase, tenants: Tenants) -> AsyncIterator[Populated]:
    """The database, open, with every tenant bound to it."""
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        here = {}
        for name, (one, other) in tenants.items():
            agent = await db.agent(name)
            mine, theirs = (
                replace(tenant, agent=agent, admin_dsn=database.admin_dsn)
                for tenant in (one, other)
            )
            here[name] = (mine, theirs)
        yield Populated(database, db, here)


# For one file at a time: while an async fixture lives, no test without a loop can run one.
# `anyio_backend` is asked for by name because tests without `async` use these fixtures too.
@pytest.fixture(scope="module")
async def guarded(prepared: Prepared, anyio_backend: str) -> AsyncIterator[Populated]:
    """As shipped."""
    async with prepared.copied() as (database, tenants):
        async for populated in opened(database, tenants):
            yield populated


@pytest.fixture(scope="module")
async def unguarded(prepared: Prepared, anyio_backend: str) -> AsyncIterator[Populated]:
    """The same with row-level security switched off on every table."""
    async with prepared.copied() as (database, tenants):
        with psycopg.connect(database.admin_dsn) as connection:
            for schema in {f.schema for agent in tenants for f in families(load(agent))}:
                for table in tables_of(connection, schema):
                    off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
                    connection.execute(off.format(sql.Identifier(schema, table.name)))
        async for populated in opened(database, tenants):
            yield populated


@pytest.fixture(params=shipped())
def name(request: pytest.FixtureRequest) -> str:
    agent: str = request.param
    return agent


@pytest.fixture
def no_predicate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The application layer forgets its own predicate in every statement."""
    forget(monkeypatch.setattr)
