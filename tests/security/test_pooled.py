"""Behind a pooler that lends each server connection for one transaction, tenancy holds as before.

Over PgBouncer, with fewer server connections than clients. The controls show on the same PgBouncer
what becomes of a role that is taken once per connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from uuid import uuid4

import anyio
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from idetic import Idetic, errors
from idetic.errors import DatabaseUnsupported
from idetic.model import Capability
from idetic.store.database import APP_ROLE
from tests.conftest import TestDatabase
from tests.security.conftest import Prepared, opened
from tests.security.test_tenancy import Probe, of_the_chain, reading
from tests.support.pgbouncer import pgbouncer
from tests.support.pooled import PooledDatabase, pooled
from tests.support.servers import TestServer
from tests.support.tenants import Populated, Tenant

pytestmark = pytest.mark.anyio

ROUNDS = 5
Crowd = tuple[PooledDatabase, Populated]


@pytest.fixture(scope="module", params=["one", "three", "three, own login"])
async def crowd(
    request: pytest.FixtureRequest, prepared: Prepared, anyio_backend: str
) -> AsyncIterator[Crowd]:
    """Two tenants of every shipped agent over so many server connections, as the application's
    role or as a login that may become it."""
    count, _, own = request.param.partition(", ")
    as_whom = login_with(prepared.server) if own else nullcontext(APP_ROLE)
    async with prepared.copied() as (database, tenants):
        with (
            as_whom as login,
            pooled(prepared.server, database, {"one": 1, "three": 3}[count], login) as through,
        ):
            async for populated in opened(through.database, tenants):
                yield through, populated


@contextmanager
def login_with(server: TestServer, power: str = "NOSUPERUSER NOBYPASSRLS") -> Iterator[str]:
    """A login that may become the application's role, and has a power besides."""
    role = f"login_{uuid4().hex[:12]}"
    server.ensure_login(role)
    named = sql.Identifier(role)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("GRANT idetic_app TO {}").format(named))
        connection.execute(sql.SQL("ALTER ROLE {} " + power).format(named))
        try:
            yield role
        finally:
            connection.execute(sql.SQL("DROP ROLE {}").format(named))


# --- what a role that is taken once is worth ----------------------------------------------------


@pytest.fixture(scope="module")
async def populated(prepared: Prepared, anyio_backend: str) -> AsyncIterator[TestDatabase]:
    async with prepared.copied() as (database, _):
        yield database


@contextmanager
def two_clients(
    server: TestServer, database: TestDatabase, connections: int
) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    """Two clients of one pooler, each of which has become the application's role, once."""
    name = str(conninfo_to_dict(database.admin_dsn)["dbname"])
    with pgbouncer(server, connections=connections) as pooler:
        dsn = pooler.dsn(dbname=name)
        with (
            psycopg.connect(dsn, autocommit=True) as one,
            psycopg.connect(dsn, autocommit=True) as other,
        ):
            one.execute(f"SET ROLE {APP_ROLE}")
            yield one, other


def acting(client: psycopg.Connection) -> tuple[str, int]:
    """Who a client is, and of how many tenants it sees memory."""
    with client.transaction():
        row = client.execute(
            "SELECT current_user, (SELECT count(DISTINCT org_id) FROM worlds.world_agent_memory)"
        ).fetchone()
    assert row is not None
    return row


def test_control_a_role_taken_once_is_lost_to_another_client(
    server: TestServer, populated: TestDatabase
) -> None:
    """Two clients whose transactions alternate on one server connection."""
    with two_clients(server, populated, 1) as (one, other):
        assert acting(one) == (APP_ROLE, 0), "row-level security binds it"
        assert acting(other) == (APP_ROLE, 0), "which never became anybody"
        other.execute("RESET ROLE")
        assert acting(one) == (one.info.user, 2), "it is the superuser"


def test_control_a_role_taken_once_stays_behind_on_another_connection(
    server: TestServer, populated: TestDatabase
) -> None:
    """A client whose server connection is lent to another one meanwhile."""
    with two_clients(server, populated, 2) as (one, other):
        assert acting(one) == (APP_ROLE, 0)
        with other.transaction():
            assert acting(other) == (APP_ROLE, 0)
            assert acting(one) == (one.info.user, 2), "it is the superuser"


def test_control_without_a_pooler_a_role_taken_once_lasts(populated: TestDatabase) -> None:
    dsn = populated.admin_dsn
    with (
        psycopg.connect(dsn, autocommit=True) as one,
        psycopg.connect(dsn, autocommit=True) as other,
    ):
        one.execute(f"SET ROLE {APP_ROLE}")
        other.execute("RESET ROLE")
        assert acting(one) == (APP_ROLE, 0)


def test_control_what_a_client_leaves_on_its_connection_is_seen(
    server: TestServer, populated: TestDatabase
) -> None:
    with pooled(server, populated, 1) as through:
        assert through.remains() == {}
        with psycopg.connect(through.database.dsn, autocommit=True) as client:
            client.execute(f"SET ROLE {APP_ROLE}")
            client.execute("SET idetic.scope = 'somebody'")
            client.execute("SET search_path = worlds")
            client.execute("SELECT pg_advisory_lock(7)")
            client.execute("CREATE TEMPORARY TABLE left_here ()")
        assert through.remains() == {
            "role": APP_ROLE,
            "ours": "idetic.scope",
            "settings": "search_path",
            "locks": "7",
            "tables": "left_here",
        }


# --- many tenants, few connections --------------------------------------------------------------


@reading
async def test_nothing_of_another_tenant_is_read_over_a_pooler(
    crowd: Crowd, name: str, probe: Probe
) -> None:
    mine, theirs = crowd[1].tenants[name]
    assert await probe(mine, theirs) == []


async def test_tenants_that_work_at_once_see_their_own_and_nothing_else(crowd: Crowd) -> None:
    through, populated = crowd
    tenants = [tenant for pair in populated.tenants.values() for tenant in pair]
    async with anyio.create_task_group() as group:
        # Each from two places, so that one anchor is asked for at once, too.
        for tenant in [*tenants, *tenants]:
            group.start_soon(work, tenant)
    for tenant in tenants:
        verified = await tenant.holder(Capability.AUDIT).verify()
        assert (of_the_chain(verified), verified.links > 2 * ROUNDS) == ([], True)
    assert through.pooler.server_connections(through.name) <= 3, "fewer than those who worked"
    assert through.remains() == {}


async def work(tenant: Tenant) -> None:
    """Sessions of one tenant, one after the other; whatever is read is its own."""
    for _ in range(ROUNDS):
        async with tenant.memory.session() as session:
            # In letters: the gate takes some runs of digits for a card.
            word = uuid4().hex.translate(str.maketrans("0123456789", "ghijklmnop"))
            text = f"Gauge {word} was read."
            seen = await session.observe(text, envelope=tenant.envelope())
            assert seen.entry_id
            recalled = await tenant.memory.recall("which gauge was read", limit=50)
            listed = [*await tenant.memory.list(limit=50), *await session.list(limit=50)]
            assert text in {entry.body_text for entry in listed}
            for entry in (*recalled.entries, *listed, await tenant.memory.get(seen.entry_id)):
                assert entry.anchor == tenant.anchor
            assert len(await tenant.memory.history(seen.entry_id)) == 1


async def test_a_statement_that_fails_leaves_nothing_on_its_connection(crowd: Crowd) -> None:
    through, populated = crowd
    for mine, theirs in populated.tenants.values():
        for entry in (theirs.transient, uuid4()):
            with pytest.raises(errors.EntryNotFound):
                await mine.holder(Capability.ARCHIVE).archive(entry, reason="not mine")
        assert through.remains() == {}


# --- logins that row-level security does not bind -----------------------------------------------


async def refused(dsn: str, admin_dsn: str | None) -> None:
    with pytest.raises(DatabaseUnsupported, match="row-level security") as caught:
        async with Idetic.open(dsn, admin_dsn=admin_dsn):
            pass
    assert caught.value.remedy


@pytest.mark.parametrize("power", ["SUPERUSER", "BYPASSRLS"])
async def test_a_login_that_row_level_security_does_not_bind_is_refused(
    server: TestServer, database: TestDatabase, power: str
) -> None:
    """Even if it may become a role that is bound: behind a pooler it would not stay that role."""
    name = str(conninfo_to_dict(database.dsn)["dbname"])
    with login_with(server, power) as role, pgbouncer(server, logins=[role]) as pooler:
        for dsn in (pooler.dsn(user=role, dbname=name), server.dsn(user=role, dbname=name)):
            await refused(dsn, database.admin_dsn)


async def test_the_superuser_is_refused_without_another_login_for_administration(
    server: TestServer, database: TestDatabase
) -> None:
    with pgbouncer(server) as pooler:
        name = str(conninfo_to_dict(database.dsn)["dbname"])
        await refused(pooler.dsn(dbname=name), None)


async def test_control_the_same_login_without_the_power_is_served(
    server: TestServer, database: TestDatabase
) -> None:
    name = str(conninfo_to_dict(database.dsn)["dbname"])
    with login_with(server) as role, pgbouncer(server, logins=[role]) as pooler:
        for dsn in (pooler.dsn(user=role, dbname=name), server.dsn(user=role, dbname=name)):
            async with Idetic.open(dsn, admin_dsn=database.admin_dsn) as db:
                await db.agent("world_agent")
