"""A persona's log is written once: for its own role, for the owner, and for whoever hides a change.

Each refusal has a control in which the trigger does not stand, and the change goes through; and
every single change that goes through is found by `verify`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from idetic import Idetic
from idetic.library.persona import PersonaMemory
from idetic.persona.chain import LogHead
from idetic.persona.events import Persona
from idetic.store.persona_tables import scope_of
from tests.conftest import TestDatabase
from tests.support.catalog import tables_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import TENANT, remembering, task, thought
from tests.support.scoped import bind

pytestmark = pytest.mark.anyio

SCHEMAS = ("idetic_actor", "idetic_subconscious")
WRITTEN_ONCE = {"log", "operational_notes"}
CHANGES = {
    "UPDATE": "UPDATE {} SET tenant = tenant",
    "DELETE": "DELETE FROM {}",
    "TRUNCATE": "TRUNCATE {} CASCADE",
}


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


@pytest.fixture
async def memory(db: Idetic) -> PersonaMemory:
    memory = await remembering(db)
    await task(memory, "When does it leave?", "At noon.")
    await thought(memory, "They ask a lot about trains.", "And about nothing else.")
    await memory.note("Answer in one sentence.")
    return memory


@pytest.fixture
def admin(database: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.admin_dsn) as connection:
        yield connection


def refused(change: str, table: str) -> bool:
    """Whether nobody may do this: what is derived may be updated, and never removed."""
    return table in WRITTEN_ONCE or change != "UPDATE"


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("change", CHANGES)
async def test_the_owner_is_refused_too(
    memory: PersonaMemory, admin: psycopg.Connection, schema: str, change: str
) -> None:
    went = []
    tables = [t.name for t in tables_of(admin, schema) if refused(change, t.name)]
    for table in tables:
        statement = sql.SQL(CHANGES[change]).format(sql.Identifier(schema, table))
        # The owner could switch row-level security off, so the triggers stand alone here.
        off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
        admin.execute(off.format(sql.Identifier(schema, table)))
        admin.execute("SET LOCAL ROLE idetic_owner")
        try:
            admin.execute(statement)
            went.append(table)
        except psycopg.Error as error:
            assert str(error).startswith("idetic.append_only: "), table  # noqa: PT017
        admin.rollback()
    assert tables
    assert went == []


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("change", CHANGES)
async def test_the_personas_own_role_has_no_right_to(
    memory: PersonaMemory, admin: psycopg.Connection, schema: str, change: str
) -> None:
    for table in (t.name for t in tables_of(admin, schema) if refused(change, t.name)):
        admin.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(schema)))
        bind(admin, scope_of(TENANT, "help-desk"))
        statement = sql.SQL(CHANGES[change]).format(sql.Identifier(schema, table))
        with pytest.raises(pg.InsufficientPrivilege):
            admin.execute(statement)
        admin.rollback()


async def test_control_without_the_trigger_a_change_goes_through(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    admin.execute("ALTER TABLE idetic_actor.log DISABLE TRIGGER only_emptied")
    assert admin.execute("UPDATE idetic_actor.log SET content = 'x'").rowcount == 4


# --- and what was changed all the same is found --------------------------------------------------

FAULTS = {
    "content": "UPDATE {log} SET content = content || '.' WHERE position = 2",
    "metadata": "UPDATE {log} SET metadata = '{{\"a\": 1}}' WHERE position = 2",
    "kind": "UPDATE {log} SET kind = 'error' WHERE position = 3",
    "visibility": "UPDATE {log} SET visibility = 'internal' WHERE position = 1",
    "ts": "UPDATE {log} SET ts = ts + interval '1 microsecond' WHERE position = 2",
    "loop": "UPDATE {log} SET loop_id = gen_random_uuid() WHERE position = 2",
    "content and its hash": "UPDATE {log} SET content = 'x', content_hash = sha256(salt || 'x'"
    "::bytea || '\\x00'::bytea || '{{}}'::bytea) WHERE position = 2",
    "hash": "UPDATE {log} SET hash = sha256('x') WHERE position = 2",
    "a gap": "DELETE FROM {log} WHERE position = 2",
    "the first": "DELETE FROM {log} WHERE position = 1",
    "two swapped": "UPDATE {log} SET position = CASE position WHEN 2 THEN 30 ELSE position END",
    "the tail": "DELETE FROM {log} WHERE position = 4",
    "the head": "UPDATE {heads} SET position = 3",
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_change_to_a_log_is_found(
    memory: PersonaMemory, admin: psycopg.Connection, fault: str
) -> None:
    assert (await memory.actor.verify()).whole
    admin.execute("SET LOCAL session_replication_role = replica")
    changed = admin.execute(
        sql.SQL(FAULTS[fault]).format(
            log=sql.SQL("idetic_actor.log"), heads=sql.SQL("idetic_actor.heads")
        )
    )
    assert changed.rowcount > 0
    admin.commit()
    assert not (await memory.actor.verify()).whole


async def test_a_tail_cut_with_its_head_shows_against_a_kept_head(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    kept = await memory.actor.head()
    before = (await memory.actor.tail())[2]
    admin.execute("SET LOCAL session_replication_role = replica")
    admin.execute("DELETE FROM idetic_actor.log WHERE position = 4")
    admin.execute(
        "UPDATE idetic_actor.heads SET position = 3, hash = %s WHERE position = 4", (before.digest,)
    )
    admin.commit()
    assert (await memory.actor.verify()).whole, "by itself, such a log looks whole"
    found = await memory.actor.verify(kept)
    assert found.problems == ("the log ended at 4 once, and now at 3",)
    forged = LogHead(3, b"0" * 32)
    assert not (await memory.actor.verify(forged)).whole


async def test_both_logs_verify_and_start_from_their_own_persona(memory: PersonaMemory) -> None:
    assert (await memory.actor.verify()).events == 4
    assert (await memory.subconscious.verify()).events == 2
    assert (await memory.subconscious.verify(Persona.ACTOR)).whole
