"""Every node of a cluster has what the coordinator has, or is named with what it has otherwise.

The cluster is a stand-in: its workers are copies of the database, so that each can be broken.
"""

# ruff: noqa: S608
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest

from idetic import Idetic
from idetic.library.health import MOST_FINDINGS, Check, examine
from idetic.store.nodes import look, mending, over
from tests.conftest import TestDatabase
from tests.support import aside
from tests.support.citus import play, roles_kept, stand_in
from tests.support.databases import copy_of
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import administered

pytestmark = pytest.mark.anyio

MEMORY = "worlds.world_agent_memory"
LEDGER = "worlds.world_agent_memory_ledger"


@dataclass(frozen=True)
class Cluster:
    """A coordinator and two workers, distributed and alike."""

    coordinator: TestDatabase
    first: TestDatabase
    second: TestDatabase


WORKERS = tuple(f"test_{uuid4().hex}" for _ in range(2))


@pytest.fixture(scope="module")
def coordinator(server: TestServer, template: str) -> Iterator[TestDatabase]:
    with roles_kept(server.dsn()), copy_of(server, template) as database:
        stand_in(database, *WORKERS)

        async def distribute() -> None:
            async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
                await db.distribute("world_agent")

        aside.run(distribute)
        yield database


@pytest.fixture
def cluster(server: TestServer, coordinator: TestDatabase) -> Iterator[Cluster]:
    try:
        yield Cluster(coordinator, *play(server, coordinator, *WORKERS))
    finally:
        for name in WORKERS:
            server.drop(name)


async def about_nodes(cluster: Cluster) -> list[Check]:
    place = cluster.coordinator
    async with Idetic.open(place.dsn, admin_dsn=place.admin_dsn) as db:
        return [check for check in await examine(db) if check.name.startswith("node")]


REPLACED = """CREATE OR REPLACE FUNCTION idetic.is_bound_v1(p_tenant text) RETURNS boolean
    LANGUAGE sql STABLE AS 'SELECT true'"""
# What is broken on the first worker, how, and what is told of it.
BREAKS = {
    "role": ("INSERT INTO stand_in.lacking VALUES ('idetic_auditor')", "no role idetic_auditor"),
    "unbound role": (
        "INSERT INTO stand_in.unbound VALUES ('idetic_app')",
        "idetic_app is NOSUPERUSER BYPASSRLS",
    ),
    "schema": ("REVOKE USAGE ON SCHEMA worlds FROM idetic_app", "schema worlds has another"),
    "grant": (f"REVOKE SELECT ON {MEMORY} FROM idetic_app", f"table {MEMORY} has another owner"),
    "grant too many": (f"GRANT TRUNCATE ON {MEMORY} TO idetic_app", f"table {MEMORY} has another"),
    "public": ("GRANT EXECUTE ON FUNCTION idetic.chain_v1 TO PUBLIC", "PUBLIC may execute"),
    "definition": (
        REPLACED,
        "idetic.is_bound_v1(p_tenant text) is not the coordinator's",
    ),
    "no function": ("DROP FUNCTION idetic.anchor_id_v1", "no function idetic.anchor_id_v1"),
    "besides": (
        "CREATE FUNCTION worlds.old_v1() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "worlds.old_v1(), which the coordinator does not have",
    ),
    "security": (
        f"ALTER TABLE {MEMORY} DISABLE ROW LEVEL SECURITY",
        f"{MEMORY} has DISABLE ROW LEVEL SECURITY",
    ),
    "unforced": (f"ALTER TABLE {LEDGER} NO FORCE ROW LEVEL SECURITY", "NO FORCE ROW LEVEL"),
    "policy": (f"ALTER POLICY anchor_scope ON {MEMORY} USING (true)", f"policies of {MEMORY}"),
    "trigger": (f"ALTER TABLE {LEDGER} DISABLE TRIGGER USER", f"triggers of {LEDGER}"),
    "column": (f"ALTER TABLE {MEMORY} ADD extra int", f"columns of {MEMORY}"),
    "index": ("DROP INDEX {index}", f"indexes of {MEMORY}"),
    "extension": (
        "UPDATE pg_catalog.pg_extension SET extversion = '0.7.0' WHERE extname = 'vector'",
        "vector is 0.7.0 there",
    ),
}  # fmt: skip
# What saying it again on the coordinator mends; where roles, extensions and the shape of tables are
# concerned, somebody has to see to the node.
SAID_AGAIN = {
    *("schema", "grant", "public", "definition", "no function"),
    *("security", "unforced", "policy", "trigger"),
}
AN_INDEX = f"""SELECT indexrelid::regclass FROM pg_index
    WHERE indrelid = '{MEMORY}'::regclass AND NOT indisunique LIMIT 1"""


async def test_nodes_that_are_alike_are_good(cluster: Cluster) -> None:
    checks = await about_nodes(cluster)
    assert len(checks) == 1, checks
    (check,) = checks
    told = "coordinator:5432, worker-1:5432, worker-2:5432"
    assert (check.verdict.value, check.found) == ("good", told)


async def test_on_a_cluster_the_owner_may_bypass_row_level_security_and_no_other(
    cluster: Cluster, coordinator: TestDatabase
) -> None:
    async with Idetic.open(coordinator.dsn, admin_dsn=coordinator.admin_dsn) as db:
        assert await roles(db) == "good"
        with psycopg.connect(coordinator.admin_dsn, autocommit=True) as admin:
            admin.execute("ALTER ROLE idetic_guard BYPASSRLS")
            try:
                assert await roles(db) == "bad"
            finally:
                admin.execute("ALTER ROLE idetic_guard NOBYPASSRLS")


async def roles(db: Idetic) -> str:
    (check,) = [check for check in await examine(db) if check.name == "roles"]
    return check.verdict.value


async def test_a_plain_server_has_nothing_to_say(db: Idetic) -> None:
    assert not [check for check in await examine(db) if check.name.startswith("node")]
    assert (await db.distribute("world_agent", dry_run=True)).nodes == ()


@pytest.mark.parametrize("what", BREAKS)
async def test_what_a_worker_has_otherwise_is_named_with_the_node(
    cluster: Cluster, what: str
) -> None:
    statement, told = BREAKS[what]
    with psycopg.connect(cluster.first.admin_dsn) as worker:
        (index,) = worker.execute(AN_INDEX.encode()).fetchone() or ("",)
        worker.execute(statement.format(index=index).encode())
    found = await about_nodes(cluster)
    assert {check.verdict.value for check in found} == {"bad"}
    assert {check.name for check in found} - {"nodes"} == {"node worker-1:5432"}
    assert any(told in check.found for check in found), [check.found for check in found]
    assert all(check.remedy and "SELECT" not in check.found for check in found)

    for said in await said_again(cluster):
        with psycopg.connect(cluster.first.admin_dsn) as worker:
            worker.execute(said.encode())
    left = await about_nodes(cluster)
    assert (left[0].verdict.value == "good") == (what in SAID_AGAIN), left


async def said_again(cluster: Cluster) -> list[str]:
    """What distributing says on the coordinator; the stand-in hands nothing on."""
    connect = psycopg.AsyncConnection.connect(cluster.coordinator.admin_dsn, autocommit=True)
    async with await connect as here:
        return await mending(over(here), (await look(over(here))).findings)


async def test_the_plan_tells_it_too(cluster: Cluster) -> None:
    with psycopg.connect(cluster.second.admin_dsn) as worker:
        worker.execute("GRANT EXECUTE ON FUNCTION idetic.chain_v1 TO PUBLIC")
    place = cluster.coordinator
    async with Idetic.open(place.dsn, admin_dsn=place.admin_dsn) as db:
        (found,) = (await db.distribute("world_agent", dry_run=True)).nodes
    assert (found.node, found.aspect) == ("worker-2:5432", "public")


def test_the_printed_plan_tells_it_as_a_remark(cluster: Cluster) -> None:
    with psycopg.connect(cluster.second.admin_dsn) as worker:
        worker.execute("GRANT EXECUTE ON FUNCTION idetic.chain_v1 TO PUBLIC")
    shown = administered(cluster.coordinator, "distribute", "world_agent", "--plan")
    assert "-- NODE worker-2:5432: PUBLIC may execute the function idetic.chain_v1" in shown.out
    data = administered(cluster.coordinator, "distribute", "world_agent", "--plan", "--json").json()
    assert [each["aspect"] for each in data["nodes"]] == ["public"]


async def test_the_coordinator_itself_is_looked_at(
    cluster: Cluster, coordinator: TestDatabase
) -> None:
    grant, revoke = "GRANT EXECUTE ON FUNCTION {} TO", "REVOKE EXECUTE ON FUNCTION {} FROM"
    with psycopg.connect(coordinator.admin_dsn, autocommit=True) as admin:
        admin.execute(f"{grant} PUBLIC".format("idetic.chain_v1").encode())
        try:
            found = await about_nodes(cluster)
        finally:
            admin.execute(f"{revoke} PUBLIC".format("idetic.chain_v1").encode())
    assert [check.name for check in found] == ["node coordinator:5432"]


async def test_a_node_that_does_not_answer_is_named(
    cluster: Cluster, coordinator: TestDatabase, server: TestServer
) -> None:
    server.drop(WORKERS[1])
    (check,) = await about_nodes(cluster)
    assert (check.name, check.verdict.value) == ("node worker-2:5432", "bad")
    assert "does not answer" in check.found
    assert "pg_hba.conf" in check.remedy


async def test_many_findings_are_counted_and_not_all_told(cluster: Cluster) -> None:
    with psycopg.connect(cluster.first.admin_dsn) as worker:
        worker.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA worlds TO PUBLIC")
    found = await about_nodes(cluster)
    assert len(found) == MOST_FINDINGS + 1
    assert "more like these" in found[-1].found
