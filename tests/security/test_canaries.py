"""R5: fifty tenants share one pool, and none ever sees another's canary.

The ordinary run makes six hundred operations; `IDETIC_CANARIES=100000` (`make canaries`)
makes as many as it says, with the same code. The controls switch protections off and look for the
first canary that gets out. A scope is kept by two layers, and each holds alone; so a control takes
one away and leaves a hole in the other.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from idetic import Idetic, Scope
from idetic.gateway import admission, gateway
from idetic.library.keys import Keys
from idetic.recall.engine import RecallEngine
from idetic.store import connect, family, templates
from idetic.store import scope as scoping
from tests.conftest import TestDatabase
from tests.support.canaries import MIX, Fleet, Tenant, settle
from tests.support.catalog import tables_of
from tests.support.databases import copy_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.forgetful import forget, lasting
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio

TENANTS = 50
TIMES = int(os.environ.get("IDETIC_CANARIES", "600"))
FEW, UNTIL = 8, 600
SEED = 20_260_311
Settled = tuple[TestDatabase, list[Tenant]]
Admin = psycopg.Connection[Any]


@asynccontextmanager
async def settled(server: TestServer, template: str, count: int) -> AsyncIterator[Settled]:
    """A database with so many tenants."""
    with copy_of(server, template) as database:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            tenants = await settle(db, await db.agent("world_agent"), count, SEED)
        yield database, tenants


@pytest.fixture(scope="module")
async def few(server: TestServer, template: str, anyio_backend: str) -> AsyncIterator[Settled]:
    """A database with a handful of tenants, copied for each control."""
    async with settled(server, template, FEW) as made:
        yield made


@asynccontextmanager
async def copied(server: TestServer, template: str, few: Settled) -> AsyncIterator[Settled]:
    """A copy of it; where the server makes none, another one with tenants of its own."""
    if server.copies:
        with copy_of(server, str(conninfo_to_dict(few[0].dsn)["dbname"])) as database:
            yield database, few[1]
    else:
        async with settled(server, template, FEW) as made:
            yield made


async def sailed(
    database: TestDatabase, tenants: list[Tenant], times: int, *, control: bool = False
) -> Fleet:
    """The fleet after so many operations."""
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        agent = await db.agent("world_agent")
        # Handles belong to one database and one loop; what a tenant knows does not.
        mine = [replace(one, open=None, entries=[*one.entries]) for one in tenants]
        rng = random.Random(SEED)  # noqa: S311 - not for secrets
        fleet = Fleet(db, agent, mine, rng, control=control)
        await fleet.run(times)
    return fleet


async def test_no_canary_is_seen_by_another_tenant(server: TestServer, template: str) -> None:
    async with settled(server, template, TENANTS) as (database, tenants):
        fleet = await sailed(database, tenants, TIMES)
    done = sum(fleet.done.values())
    print(
        f"\n{len(fleet.tenants)} tenants, {done:,} operations of {len(fleet.done)} kinds: "
        f"{len(fleet.leaks)} canaries or ids of others seen; one's own in {fleet.own:,}; "
        f"{sum(fleet.failed.values()):,} refused as expected"
    )
    for kind, count in sorted(fleet.done.items()):
        print(f"  {kind:20} {count:>8,}")
    assert fleet.leaks == []
    assert done == TIMES
    assert set(fleet.done) == set(MIX), "everything was tried"
    assert fleet.own > done / 3, "one's own canary is seen all the time"
    assert sum(fleet.failed.values()) < done / 5


# --- controls ---------------------------------------------------------------------------------

Sabotage = Callable[[Admin, pytest.MonkeyPatch], None]


def _forget_in_one(patch: pytest.MonkeyPatch, **swapped: str) -> None:
    """It forgets it in one query: the list."""
    whole = templates.query

    def query(path: str, title: str, package: str = "idetic.store") -> str:
        text = whole(path, title, package)
        if (path, title) != ("queries/entries.sql", "list"):
            return text
        for old, new in {"{scope m}": "TRUE", **swapped}.items():
            assert old in text, "there is something to forget"
            text = text.replace(old, new)
        return text

    patch.setattr(templates, "query", query)
    # Statements that were composed before know nothing of it, nor may others know of these.
    patch.setattr(family, "_STATEMENTS", {})


def _each_table(admin: Admin, statement: str) -> None:
    for table in tables_of(admin, "worlds"):
        admin.execute(sql.SQL(statement).format(sql.Identifier("worlds", table.name)))


def rls_off_and_no_predicate(admin: Admin, patch: pytest.MonkeyPatch) -> None:
    _each_table(admin, "ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
    forget(patch.setattr)


def rls_off_and_one_query_without_its_predicate(admin: Admin, patch: pytest.MonkeyPatch) -> None:
    _each_table(admin, "ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
    _forget_in_one(patch)


def a_role_that_bypasses_and_one_query_without(admin: Admin, patch: pytest.MonkeyPatch) -> None:
    """Opening the database would refuse such a role; here nobody looks."""

    async def unlooked(_: object) -> None:
        return None

    patch.setattr(connect, "_check_role", unlooked)
    admin.execute("ALTER ROLE idetic_app BYPASSRLS")
    _forget_in_one(patch)


def a_policy_for_everybody_and_no_predicate(admin: Admin, patch: pytest.MonkeyPatch) -> None:
    _each_table(admin, "CREATE POLICY everybody ON {} FOR SELECT USING (true)")
    forget(patch.setattr)


def a_view_with_its_owners_rights(admin: Admin, patch: pytest.MonkeyPatch) -> None:
    admin.execute("ALTER VIEW worlds.world_agent_memory_current SET (security_invoker = false)")
    admin.execute("ALTER VIEW worlds.world_agent_memory_current OWNER TO CURRENT_USER")
    _forget_in_one(patch, **{"{family}_memory m": "{family}_memory_current m"})


def a_scope_that_outlives_its_transaction(_: Admin, patch: pytest.MonkeyPatch) -> None:
    """Settings that are not local, and now and then a statement that comes without a scope."""
    _forget_in_one(patch)
    lasting(patch.setattr)
    settings, count = scoping.settings, iter(range(10**9))

    def forgetful(scope: Scope | None) -> dict[str, str]:
        return settings(scope) if next(count) % 3 else {}

    patch.setattr(scoping, "settings", forgetful)


def a_cache_that_knows_no_tenant(_: Admin, patch: pytest.MonkeyPatch) -> None:
    asked, known = RecallEngine.recall, {}

    async def recall(self: RecallEngine, scope: Scope, query: str, **more: Any) -> Any:
        if query not in known:
            known[query] = await asked(self, scope, query, **more)
        return known[query]

    patch.setattr(RecallEngine, "recall", recall)


def a_key_that_opens_the_last_door(_: Admin, patch: pytest.MonkeyPatch) -> None:
    opened, known = Keys.authenticate, []

    async def authenticate(self: Keys, key: str) -> Any:
        known.append(await opened(self, key))
        return known[0]

    patch.setattr(Keys, "authenticate", authenticate)


def writes_into_another_anchor_without_rls(admin: Admin, patch: pytest.MonkeyPatch) -> None:
    _each_table(admin, "ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
    given, first = scoping.bound, list[dict[str, Any]]()

    def bound(scope: Scope) -> dict[str, Any]:
        first.append(given(scope))
        return first[0]

    def entered(scopes: Sequence[Scope]) -> list[dict[str, str]]:
        own = scoping.entered(scopes)
        return [one | {"anchor": str(bound(scopes[0])["anchor_id"])} for one in own]

    # The arguments of what writes, and of nothing that reads.
    patch.setattr(gateway, "scoping", SimpleNamespace(bound=bound, anchor_of=scoping.anchor_of))
    of = {"bound": bound, "entered": entered, "anchor_of": scoping.anchor_of}
    patch.setattr(admission, "scoping", SimpleNamespace(**of))


CONTROLS: tuple[Sabotage, ...] = (
    rls_off_and_no_predicate,
    rls_off_and_one_query_without_its_predicate,
    a_role_that_bypasses_and_one_query_without,
    a_policy_for_everybody_and_no_predicate,
    a_view_with_its_owners_rights,
    a_scope_that_outlives_its_transaction,
    a_cache_that_knows_no_tenant,
    a_key_that_opens_the_last_door,
    writes_into_another_anchor_without_rls,
)


@contextmanager
def sabotaged(
    database: TestDatabase, patch: pytest.MonkeyPatch, sabotage: Sabotage
) -> Iterator[None]:
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        try:
            sabotage(admin, patch)
            yield
        finally:
            # A role belongs to the server, not to the copy that is thrown away.
            admin.execute("ALTER ROLE idetic_app NOBYPASSRLS")


@pytest.mark.parametrize("sabotage", CONTROLS, ids=lambda made: made.__name__)
async def test_control_without_its_protection_a_canary_gets_out(
    server: TestServer,
    template: str,
    few: Settled,
    monkeypatch: pytest.MonkeyPatch,
    sabotage: Sabotage,
) -> None:
    async with copied(server, template, few) as (database, tenants):
        with sabotaged(database, monkeypatch, sabotage):
            fleet = await sailed(database, tenants, UNTIL, control=True)
    assert fleet.leaks


def only_no_rls(admin: Admin, _: pytest.MonkeyPatch) -> None:
    _each_table(admin, "ALTER TABLE {} DISABLE ROW LEVEL SECURITY")


def only_no_predicate(_: Admin, patch: pytest.MonkeyPatch) -> None:
    forget(patch.setattr)


@pytest.mark.parametrize("sabotage", [only_no_rls, only_no_predicate], ids=lambda m: m.__name__)
async def test_each_layer_holds_alone(
    server: TestServer,
    template: str,
    few: Settled,
    monkeypatch: pytest.MonkeyPatch,
    sabotage: Sabotage,
) -> None:
    async with copied(server, template, few) as (database, tenants):
        with sabotaged(database, monkeypatch, sabotage):
            fleet = await sailed(database, tenants, UNTIL // 2)
    assert fleet.leaks == []
    assert fleet.own > UNTIL // 6
