"""The stand-in for Citus refuses what a real cluster refused; what we do passes it.

Each refusal has its control: on a database without the stand-in the same statement runs.
"""

# ruff: noqa: S608
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import psycopg
import pytest

from idetic import Idetic, Observation, Principal, Scope, errors
from idetic.spec.loader import load
from tests.conftest import TestDatabase, World, make_world
from tests.support import aside
from tests.support.citus import roles_kept, stand_in
from tests.support.databases import copy_of
from tests.support.scoped import bind
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio

MEMORY = "worlds.world_agent_memory"


@dataclass(frozen=True)
class Lived:
    """A database with one entry in it, and where it is."""

    database: TestDatabase
    scope: Scope

    @property
    def org(self) -> str:
        return str(self.scope.anchor["org_id"])


def lived(database: TestDatabase, *, distributed: bool) -> Lived:
    async def live() -> Scope:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            if distributed:
                await db.distribute("world_agent")
            world = await make_world(db, await db.agent("world_agent"))
            await world.operator.prefer("Ask before a transfer is released.")
            return world.operator.scope

    return Lived(database, aside.run(live))


@pytest.fixture(scope="module")
def plain(server: TestServer, template: str) -> Iterator[Lived]:
    with copy_of(server, template) as database:
        yield lived(database, distributed=False)


@pytest.fixture(scope="module")
def cluster(server: TestServer, template: str) -> Iterator[Lived]:
    with roles_kept(server.dsn()), copy_of(server, template) as database:
        stand_in(database)
        yield lived(database, distributed=True)


@pytest.fixture
async def world(cluster: Lived) -> AsyncIterator[World]:
    place = cluster.database
    async with Idetic.open(place.dsn, admin_dsn=place.admin_dsn) as db:
        yield await make_world(db, await db.agent("world_agent"))


@dataclass(frozen=True)
class Refused:
    """Statements of one transaction, and the beginning of what Citus says to them."""

    says: str
    statements: tuple[str, ...]
    admin: bool = False

    def run(self, place: Lived) -> None:
        dsn = place.database.admin_dsn if self.admin else place.database.dsn
        with psycopg.connect(dsn) as connection:
            bind(connection, place.scope)
            for statement in self.statements:
                connection.execute(statement.replace("ORG", place.org).encode())
            connection.rollback()


def function(body: str, language: str = "plpgsql", setting: str = "") -> tuple[str, ...]:
    made = f"CREATE FUNCTION worlds.peek() RETURNS void LANGUAGE {language} {setting} AS $${body}$$"
    return made, "GRANT EXECUTE ON FUNCTION worlds.peek TO idetic_app"


NEW_WORLDS = """INSERT INTO worlds.worlds (org_id, domain_id, world_id, name, created_at)
    SELECT 'ORG', gen_random_uuid(), u, 'Payments', now() FROM unnest(ARRAY[gen_random_uuid()]) u"""
NEW_PROFILE = """INSERT INTO idetic.embedding_profiles (profile_id, name, dimensions, fingerprint)
    VALUES (gen_random_uuid(), 'a', 3, 'b') ON CONFLICT DO NOTHING"""
COUNT = f"SELECT count(*) FROM {MEMORY}"
ONE = f"{COUNT} WHERE org_id = 'ORG'"
STATEMENTS = {
    "no tenant": Refused("queries must filter", (COUNT,)),
    "a setting in the same message": Refused(
        "cannot execute a distributed query", (f"SET LOCAL jit = off; {ONE}",)
    ),
    "a forced generic plan": Refused(
        "could not create distributed plan", ("SET plan_cache_mode = force_generic_plan", ONE)
    ),
    "rows from an array": Refused(
        "INSERT ... SELECT FROM unnest",
        (
            "SET ROLE idetic_curator",
            NEW_WORLDS,
        ),
    ),
    "an upsert into a reference table": Refused(
        "permission denied for table embedding_profiles",
        (
            NEW_PROFILE,
        ),
    ),
    "DDL as another role": Refused(
        "CREATE TABLE as idetic_owner after SET ROLE",
        ("SET ROLE idetic_owner", "CREATE TABLE worlds.t (org_id uuid)"),
        admin=True,
    ),
    "a function that is not distributed": Refused(
        "queries must filter",
        (*function(f"BEGIN PERFORM FROM {MEMORY}; END"), "SET ROLE idetic_app",
         "SELECT worlds.peek()"),
        admin=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STATEMENTS)
def test_a_statement_that_citus_refuses_is_refused(cluster: Lived, plain: Lived, what: str) -> None:
    refused = STATEMENTS[what]
    refused.run(plain)
    with pytest.raises(psycopg.Error) as caught:
        refused.run(cluster)
    assert str(caught.value).startswith(refused.says)


FUNCTIONS = {
    "in SQL": (
        "parameterized queries for SQL functions",
        function(f"SELECT FROM {MEMORY} WHERE org_id = 'ORG'", "sql"),
    ),
    "a forced generic plan": (
        "could not create distributed plan",
        function("BEGIN END", setting="SET plan_cache_mode = force_generic_plan"),
    ),
    "a row expanded": (
        "queries must filter",
        function(f"DECLARE r {MEMORY}; BEGIN INSERT INTO {MEMORY} VALUES (r.*); END"),
    ),
    "rows from an array": (
        "INSERT ... SELECT FROM unnest",
        function(f"BEGIN INSERT INTO {MEMORY} (org_id) SELECT u FROM unnest(NULL::uuid[]) u; END"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_function_that_does_not_run_on_citus_is_not_distributed(
    cluster: Lived, what: str
) -> None:
    says, made = FUNCTIONS[what]
    distributed = "SELECT create_distributed_function('worlds.peek()')"
    good = function(f"BEGIN PERFORM FROM {MEMORY} m WHERE m.org_id = 'ORG'; END")
    Refused("", (*good, distributed), admin=True).run(cluster)
    with pytest.raises(psycopg.Error) as caught:
        Refused("", (*made, distributed), admin=True).run(cluster)
    assert str(caught.value).startswith(says)


async def test_what_we_do_passes(world: World) -> None:
    """Every verb that a statement of its own stands behind."""
    operator, auditor = world.operator, world.bind(Principal.auditor("eve"))
    async with world.memory.session() as session:
        async with session.interaction() as turn:
            await turn.observe_many([Observation(f"Desk {n} answers late.") for n in range(3)])
        assert await session.recall("Which desk answers late?")
        assert await session.list()
    kept = await operator.prefer("Ask before a transfer is released.")
    assert kept.entry_id is not None
    assert await operator.recall("What is asked before a transfer?")
    assert [entry.id for entry in await operator.list()] == [kept.entry_id]
    anywhere = world.agent.bind(principal=Principal.auditor("eve"), org_id=world.org_id)
    assert await anywhere.list()
    await operator.archive(kept.entry_id, reason="It is settled.")
    assert (await auditor.verify()).intact
    assert await auditor.history(kept.entry_id)


async def test_a_spec_is_not_migrated_on_a_cluster(cluster: Lived) -> None:
    data = load("world_agent").as_data()
    data["backend"]["family"] = "world_agent_two"
    database = cluster.database
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        with pytest.raises(errors.PlanRefused, match="on a Citus cluster") as caught:
            await db.migrate(data)
        assert "Declare another agent" in caught.value.remedy
        assert len(await db.spec_versions("world_agent")) == 1, "nothing was changed"
