"""A key opens one scope and says nothing of others; each protection has a control without it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from idetic import CreatedKey, Idetic, Principal, errors
from idetic.keys import new_key
from idetic.library.handles import Memory
from tests.conftest import TestDatabase
from tests.security.conftest import Prepared
from tests.support.clock import SettableClock
from tests.support.tenants import Populated, Tenant
from tests.support.triggers import without_triggers

pytestmark = pytest.mark.anyio


async def key_of(db: Idetic, tenant: Tenant) -> CreatedKey:
    return await db.keys.create(
        agent=tenant.spec.agent, principal=Principal.agent("someone"), anchor=tenant.anchor
    )


# --- tenants ------------------------------------------------------------------------------------


async def foreign(populated: Populated, name: str) -> set[UUID]:
    """Which of another tenant's entries a key's holder gets to see."""
    mine, theirs = populated.tenants[name]
    memory = await populated.db.authenticate((await key_of(populated.db, mine)).key)
    seen = {entry.id for entry in await memory.list(limit=1_000)}
    assert {mine.transient} <= seen, "their own"
    with suppress(errors.EntryNotFound):
        seen.add((await memory.get(theirs.transient)).id)
    return seen & {theirs.transient, theirs.persistent}


async def test_a_key_never_reads_another_tenant(guarded: Populated, name: str) -> None:
    assert await foreign(guarded, name) == set()


@pytest.mark.usefixtures("no_predicate")
async def test_nor_with_the_predicate_forgotten(guarded: Populated, name: str) -> None:
    assert await foreign(guarded, name) == set()


async def test_nor_with_row_level_security_off(unguarded: Populated, name: str) -> None:
    assert await foreign(unguarded, name) == set()


@pytest.mark.usefixtures("no_predicate")
async def test_control_with_neither_it_would(unguarded: Populated, name: str) -> None:
    assert await foreign(unguarded, name) != set()


# --- the table ----------------------------------------------------------------------------------

ATTEMPTS = (
    "SELECT key_id FROM idetic.api_keys",
    "SELECT hash FROM idetic.api_keys",
    "SELECT count(*) FROM idetic.api_keys",
    "UPDATE idetic.api_keys SET revoked_at = NULL",
    "UPDATE idetic.api_keys SET last_used_at = now()",
    "DELETE FROM idetic.api_keys",
    "TRUNCATE idetic.api_keys",
    "INSERT INTO idetic.api_keys (key_id) VALUES (gen_random_uuid())",
    "SET ROLE idetic_keys",
    "SET ROLE idetic_owner",
)
ROLES = ("idetic_app", "idetic_auditor", "idetic_worker", "idetic_curator")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_the_application_reaches_no_key(guarded: Populated, role: str, attempt: str) -> None:
    with guarded.app() as connection:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        with pytest.raises(pg.InsufficientPrivilege):
            connection.execute(attempt.encode())


def test_control_what_the_application_is_refused_the_owner_may(guarded: Populated) -> None:
    with guarded.admin() as connection:
        connection.execute("SET ROLE idetic_owner")
        for attempt in ATTEMPTS[:3]:
            connection.execute(attempt.encode())


def test_the_role_behind_the_question_has_no_more_than_it_needs(guarded: Populated) -> None:
    with guarded.admin() as connection:
        role = connection.execute(
            """SELECT rolcanlogin, rolsuper, rolbypassrls, rolinherit, rolcreaterole
               FROM pg_roles WHERE rolname = 'idetic_keys'"""
        ).fetchone()
        rights = connection.execute(
            """SELECT DISTINCT c.relname, a.privilege_type
               FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
               WHERE a.grantee = 'idetic_keys'::regrole"""
        ).fetchall()
        columns = connection.execute(
            """SELECT t.attname, a.privilege_type
               FROM pg_attribute t CROSS JOIN aclexplode(t.attacl) a
               WHERE a.grantee = 'idetic_keys'::regrole"""
        ).fetchall()
        owned = connection.execute(
            "SELECT proname FROM pg_proc WHERE proowner = 'idetic_keys'::regrole"
        ).fetchall()
        creates = connection.execute(
            "SELECT has_schema_privilege('idetic_keys', 'idetic', 'CREATE')"
        ).fetchone()
    assert role == (False, False, False, False, False)
    assert set(rights) == {("api_keys", "SELECT"), ("spec_versions", "SELECT")}
    assert columns == [("last_used_at", "UPDATE")]
    assert owned == [("authenticate_v1",)]
    assert creates == (False,)


CHANGES = {
    "hash": "hash = sha256('mine')",
    "anchor": "anchor = '{}'",
    "agent": "agent = 'other'",
    "principal": "principal = 'operator'",
    "principal_name": "principal_name = 'eve'",
    "capabilities": "capabilities = '{read,archive}'",
    "created_at": "created_at = created_at - interval '1 day'",
    "rotated_from": "rotated_from = key_id",
    "un-revoke": "revoked_at = NULL",
    "extend": "expires_at = expires_at + interval '1 day'",
    "never expire": "expires_at = NULL",
}


@pytest.mark.parametrize("change", list(CHANGES))
async def test_what_a_key_stands_for_is_written_once_for_the_owner_too(
    guarded: Populated, change: str
) -> None:
    mine, _ = guarded.tenants["world_agent"]
    made = await guarded.db.keys.create(
        agent=mine.spec.agent,
        principal=Principal.agent("someone"),
        anchor=mine.anchor,
        expires_at=guarded.db.clock.now() + timedelta(days=1),
    )
    await guarded.db.keys.revoke(made.id)
    update = f"UPDATE idetic.api_keys SET {CHANGES[change]} WHERE key_id = '{made.id}'"  # noqa: S608
    with guarded.admin() as connection:
        connection.execute("SET LOCAL ROLE idetic_owner")
        with pytest.raises(psycopg.Error, match=r"^idetic\.append_only: "):
            connection.execute(update.encode())
        connection.rollback()
        without_triggers(connection)
        connection.execute("SET LOCAL ROLE idetic_owner")
        assert connection.execute(update.encode()).rowcount == 1, "control: only the trigger did"
        connection.rollback()


# --- what is asked of a key, and what happens where it is not ------------------------------------


class Broken:
    """A database of its own, in which a line of the server's function can be taken out."""

    def __init__(self, database: TestDatabase, db: Idetic, tenant: Tenant, clock: SettableClock):
        self.database, self.db, self.tenant, self.clock = database, db, tenant, clock

    def replace(self, line: str, by: str) -> None:
        with psycopg.connect(self.database.admin_dsn) as connection:
            row = connection.execute(
                "SELECT pg_get_functiondef('idetic.authenticate_v1'::regproc)"
            ).fetchone()
            assert row is not None
            assert row[0].count(line) == 1, "what is taken out was there"
            connection.execute(row[0].replace(line, by).encode())

    async def opens(self, key: str) -> bool:
        try:
            return isinstance(await self.db.authenticate(key), Memory)
        except errors.KeyRefused:
            return False


@pytest.fixture
async def broken(prepared: Prepared) -> AsyncIterator[Broken]:
    clock = SettableClock()
    async with prepared.copied() as (database, tenants):
        opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock)
        async with opened as db:
            yield Broken(database, db, tenants["world_agent"][0], clock)


async def forged(house: Broken) -> str:
    return new_key((await key_of(house.db, house.tenant)).id).key


async def revoked(house: Broken) -> str:
    made = await key_of(house.db, house.tenant)
    await house.db.keys.revoke(made.id)
    return made.key


async def expired(house: Broken) -> str:
    made = await key_of(house.db, house.tenant)
    await house.db.keys.rotate(made.id, grace=timedelta(hours=1))
    house.clock.advance(hours=1)
    return made.key


SABOTAGE: dict[str, tuple[Callable[[Broken], Awaitable[str]], str, str]] = {
    "the hash": (forged, "fits IS NOT TRUE OR", ""),
    "revocation": (revoked, "held.revoked_at IS NULL AND", ""),
    "the end of a grace": (expired, "coalesce(held.expires_at, 'infinity') > p_at", "true"),
}


@pytest.mark.parametrize("protection", list(SABOTAGE))
async def test_without_this_line_the_key_would_open(broken: Broken, protection: str) -> None:
    attack, line, by = SABOTAGE[protection]
    key = await attack(broken)
    assert not await broken.opens(key), "as shipped"
    broken.replace(line, by)
    assert await broken.opens(key), "control: this line is what stopped it"
