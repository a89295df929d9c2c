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

from idetic import Idetic, Principal
from idetic.audit.chain import LogHead
from idetic.persona.events import Persona
from idetic.persona.persona_memory import PersonaMemory
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import TENANT, remembering, scope_of, table_of, task, thought
from tests.support.scoped import bind

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

WRITTEN_ONCE = ("log", "memory_ledger", "memory_embeddings", "memory_lineage", "notes")
# What may change in its states, and never goes.
KEPT = ("memory", "memory_anchors")
LOG, ANCHORS = table_of("actor", "log"), table_of("actor", "memory_anchors")
CHANGES = {
    "UPDATE": "UPDATE {} SET tenant_id = tenant_id",
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


def refused(change: str, persona: Persona) -> list[str]:
    """The tables on which nobody may do this; notes are the Actor's."""
    nouns = WRITTEN_ONCE if change == "UPDATE" else (*WRITTEN_ONCE, *KEPT)
    return [table_of(persona, n) for n in nouns if n != "notes" or persona is Persona.ACTOR]


@pytest.mark.parametrize("persona", list(Persona))
@pytest.mark.parametrize("change", CHANGES)
async def test_the_owner_is_refused_too(
    memory: PersonaMemory, admin: psycopg.Connection, persona: Persona, change: str
) -> None:
    went = []
    for table in refused(change, persona):
        named = sql.Identifier(*table.split("."))
        # The owner could switch row-level security off, so the triggers stand alone here.
        admin.execute(sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(named))
        assert admin.execute(sql.SQL("SELECT FROM {}").format(named)).rowcount > 0, table
        admin.execute("SET LOCAL ROLE idetic_owner")
        try:
            admin.execute(sql.SQL(CHANGES[change]).format(named))
            went.append(table)
        except psycopg.Error as error:
            assert str(error).startswith("idetic.append_only: "), table  # noqa: PT017
        admin.rollback()
    assert went == []


@pytest.mark.parametrize("persona", list(Persona))
@pytest.mark.parametrize("change", CHANGES)
async def test_the_personas_own_role_has_no_right_to(
    memory: PersonaMemory, admin: psycopg.Connection, persona: Persona, change: str
) -> None:
    for table in refused(change, persona):
        admin.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(f"idetic_{persona}")))
        bind(admin, scope_of(TENANT, "help-desk"))
        with pytest.raises(pg.InsufficientPrivilege):
            admin.execute(sql.SQL(CHANGES[change]).format(sql.Identifier(*table.split("."))))
        admin.rollback()


async def test_control_without_the_trigger_a_change_goes_through(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    admin.execute(f"ALTER TABLE {LOG} DISABLE TRIGGER append_only")
    assert admin.execute(f"UPDATE {LOG} SET content = 'x'").rowcount == 4  # noqa: S608


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
    "the head": "UPDATE {anchors} SET log_position = 3",
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_change_to_a_log_is_found(
    memory: PersonaMemory, admin: psycopg.Connection, fault: str
) -> None:
    assert (await memory.actor.verify()).whole
    admin.execute("SET LOCAL session_replication_role = replica")
    changed = admin.execute(
        sql.SQL(FAULTS[fault]).format(log=sql.SQL(LOG), anchors=sql.SQL(ANCHORS))
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
    admin.execute(f"DELETE FROM {LOG} WHERE position = 4")  # noqa: S608
    cut = f"UPDATE {ANCHORS} SET log_position = 3, log_hash = %s WHERE log_position = 4"  # noqa: S608
    admin.execute(cut, (before.digest,))
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


async def test_the_engines_verify_looks_at_the_log_too(
    db: Idetic, memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    """What an auditor calls, on the ledger, the entries and the log together."""
    agent = await db.agent("persona_agent")
    anchor = {"tenant_id": TENANT, "agent_id": "help-desk"}
    auditor = agent.bind(principal=Principal.auditor("ben"), **anchor)
    assert (await auditor.verify()).intact
    admin.execute("SET LOCAL session_replication_role = replica")
    admin.execute(f"UPDATE {LOG} SET content = 'x' WHERE position = 2")  # noqa: S608
    admin.execute(
        f"UPDATE {table_of('actor', 'memory')} SET event_id = NULL "  # noqa: S608
        "WHERE memory_id = (SELECT max(memory_id::text)::uuid FROM "
        f"{table_of('actor', 'memory')} WHERE event_id IS NOT NULL)"
    )
    admin.commit()
    found = {problem.what: problem.why for problem in (await auditor.verify()).problems}
    assert found["log"] == "position 2 has another content than was written"
    assert "mirrors another event" in found["entry"]
