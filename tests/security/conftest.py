"""Two tenants of every shipped agent, in a database with and in one without row-level security."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from idetic import Idetic
from idetic.spec.loader import load, shipped
from idetic.store.embedded import EmbeddedServer
from tests.conftest import TestDatabase
from tests.support.catalog import tables_of
from tests.support.databases import copy_of
from tests.support.forgetful import forget
from tests.support.tenants import Populated, Tenant, make_tenant

Prepared = tuple[str, dict[str, tuple[Tenant, Tenant]]]


# For one file at a time: while an async fixture lives, no test without a loop can run one.
# `anyio_backend` is asked for by name because tests without `async` use these fixtures too.
@pytest.fixture(scope="module")
async def prepared(
    server: EmbeddedServer, template: str, anyio_backend: str
) -> AsyncIterator[Prepared]:
    with copy_of(server, template) as database:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            tenants = {}
            for name in shipped():
                agent = await db.agent(name)
                one = await make_tenant(db, agent, database.admin_dsn)
                tenants[name] = (one, await make_tenant(db, agent, database.admin_dsn))
        yield str(conninfo_to_dict(database.dsn)["dbname"]), tenants


async def _opened(
    database: TestDatabase, tenants: dict[str, tuple[Tenant, Tenant]]
) -> AsyncIterator[Populated]:
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


@pytest.fixture(scope="module")
async def guarded(
    server: EmbeddedServer, prepared: Prepared, anyio_backend: str
) -> AsyncIterator[Populated]:
    """As shipped."""
    name, tenants = prepared
    with copy_of(server, name) as database:
        async for populated in _opened(database, tenants):
            yield populated


@pytest.fixture(scope="module")
async def unguarded(
    server: EmbeddedServer, prepared: Prepared, anyio_backend: str
) -> AsyncIterator[Populated]:
    """The same with row-level security switched off on every table."""
    name, tenants = prepared
    with copy_of(server, name) as database:
        with psycopg.connect(database.admin_dsn) as connection:
            for schema in {load(agent).backend.schema_ for agent in tenants}:
                for table in tables_of(connection, schema):
                    off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
                    connection.execute(off.format(sql.Identifier(schema, table.name)))
        async for populated in _opened(database, tenants):
            yield populated


@pytest.fixture(params=shipped())
def name(request: pytest.FixtureRequest) -> str:
    agent: str = request.param
    return agent


@pytest.fixture
def no_predicate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The application layer forgets its own predicate in every statement."""
    forget(monkeypatch.setattr)
