"""Memory is opened with no login that row-level security does not bind, and the refusal says how.

A transaction that forgot its role, or reset it, would have the login's rights: the control switches
the check off, and such a transaction then sees every tenant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from idetic import Idetic, errors
from idetic.store import connect
from idetic.store.templates import BoundStatement, Statement
from tests.conftest import TestDatabase, make_world
from tests.support.logins import PROGRAM, login
from tests.support.persona import remembering
from tests.surfaces.cli_runner import called

pytestmark = pytest.mark.anyio

ABOVE: dict[str, LiteralString] = {
    "superuser": "SUPERUSER",
    "superuser and a program's": "SUPERUSER IN ROLE idetic_app",
    "bypasses": "BYPASSRLS IN ROLE idetic_app",
}
COUNT = Statement("SELECT count(DISTINCT org_id) FROM worlds.world_agent_memory")


@pytest.fixture(params=list(ABOVE))
def above(request: pytest.FixtureRequest, database: TestDatabase) -> Iterator[tuple[str, str]]:
    """A login that is above row-level security: its name, and its DSN."""
    with login(database, ABOVE[request.param]) as made:
        yield made


def said(refused: errors.IdeticError, name: str, dsn: str) -> None:
    """The refusal names the login and the remedy: both logins, for the library and for commands."""
    assert f"The login {name} bypasses row-level security" in refused.message
    for part in (
        *("CREATE ROLE", "LOGIN PASSWORD", PROGRAM),
        *("Idetic.open(", "admin_dsn=", "--dsn", "IDETIC_DSN", "IDETIC_ADMIN_DSN"),
    ):
        assert part in refused.remedy
    assert str(conninfo_to_dict(dsn)["password"]) not in str(refused)


async def test_a_login_above_row_level_security_is_refused(
    database: TestDatabase, above: tuple[str, str]
) -> None:
    name, dsn = above
    for admin_dsn in (None, database.admin_dsn, dsn):
        with pytest.raises(errors.DatabaseUnsupported) as caught:
            await Idetic.open(dsn, admin_dsn=admin_dsn).start()
        said(caught.value, name, dsn)


def test_a_command_refuses_it_too(above: tuple[str, str]) -> None:
    name, dsn = above
    ran = called("spec", "list", "--json", "--dsn", dsn)
    assert (ran.code, ran.out) == (6, "")
    assert (ran.error()["code"], name in ran.error()["message"]) == ("database_unsupported", True)
    assert "IDETIC_ADMIN_DSN" in ran.error()["remedy"]


async def test_the_remedy_helps(database: TestDatabase) -> None:
    """With a login made as it says, and the refused one beside it for what administers."""
    with login(database, "SUPERUSER") as (_, admin), login(database, PROGRAM) as (name, dsn):
        async with Idetic.open(dsn, admin_dsn=admin) as db:
            await db.agent("operator_agent")  # Which is applied: something to administer.
            world = await make_world(db, await db.agent("world_agent"))
            await world.operator.prefer("Ask first.")
            assert [entry.body_text for entry in await world.memory.list()] == ["Ask first."]
            await remembering(db)
            assert conninfo_to_dict(db.dsn)["user"] == name


@pytest.mark.parametrize("role", ["idetic_app", "idetic_actor", "idetic_subconscious"])
async def test_a_role_of_ours_that_bypasses_is_refused(database: TestDatabase, role: str) -> None:
    """Whatever the login: what it becomes must be bound too."""
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin, login(database) as made:
        admin.execute(f"ALTER ROLE {role} BYPASSRLS".encode())
        try:
            with pytest.raises(errors.DatabaseUnsupported) as caught:
                async with Idetic.open(made[1], admin_dsn=database.admin_dsn) as db:
                    await remembering(db)
        finally:
            admin.execute(f"ALTER ROLE {role} NOBYPASSRLS".encode())
    assert f"The role {role} bypasses row-level security" in caught.value.message
    assert caught.value.remedy == f"ALTER ROLE {role} NOSUPERUSER NOBYPASSRLS;"


async def test_control_without_the_check_it_is_let_in_and_sees_every_tenant(
    database: TestDatabase, above: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unlooked(_: object) -> None:
        return None

    monkeypatch.setattr(connect, "_check_role", unlooked)
    async with Idetic.open(above[1], admin_dsn=database.admin_dsn) as db:
        agent = await db.agent("world_agent")
        for world in (await make_world(db, agent), await make_world(db, agent)):
            await world.operator.prefer("Ask first.")
        assert len(await world.memory.list()) == 1
        assert await db.database.run_all(None, [BoundStatement(COUNT)]) == [(0,)]
        forgot = [BoundStatement(Statement("RESET ROLE")), BoundStatement(COUNT)]
        assert await db.database.run_all(world.memory.scope, forgot) == [(2,)]


async def test_a_programs_login_that_forgets_its_role_sees_nobody(database: TestDatabase) -> None:
    """The same slip with a login that is let in: its own tenant, and of the others nothing."""
    with login(database) as (_, dsn):
        async with Idetic.open(dsn, admin_dsn=database.admin_dsn) as db:
            agent = await db.agent("world_agent")
            for world in (await make_world(db, agent), await make_world(db, agent)):
                await world.operator.prefer("Ask first.")
            forgot = [BoundStatement(Statement("RESET ROLE")), BoundStatement(COUNT)]
            assert await db.database.run_all(None, forgot) == [(0,)]
            assert await db.database.run_all(world.memory.scope, forgot) == [(1,)]
