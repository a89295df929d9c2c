"""Somebody is erased from persona memory: nothing that named them is left, and the logs verify."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from idetic import Idetic, Principal, errors
from idetic.persona.events import EventKind, Persona
from idetic.persona.persona_memory import PersonaMemory
from idetic.store import scope as scoping
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import remembering, scope_of, table_of, task, thought

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

WHO = ["Zora Quell", "zora.quell@quellen.example"]
NOUNS = ("log", "memory", "memory_anchors", "memory_ledger", "memory_lineage", "memory_reads")
TABLES = [table_of(persona, noun) for persona in Persona for noun in NOUNS]
TABLES.append(table_of("actor", "notes"))
LOG = table_of("actor", "log")


@pytest.fixture
async def memory(database: TestDatabase) -> AsyncIterator[PersonaMemory]:
    async with Idetic.open(
        database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder()
    ) as db:
        made = await remembering(db)
        await task(made, "Where does Zora Quell live?", "Zora Quell lives in Ghent.")
        await task(made, "Where is the depot?", "The depot is in Bruges.")
        await thought(made, "zora  QUELL asks too often.", "The depot question went well.")
        await made.note("Be brief with ZORA QUELL today.")
        yield made


def hits(database: TestDatabase, word: str) -> dict[str, int]:
    found = {}
    with psycopg.connect(database.admin_dsn) as admin:
        for table in TABLES:
            row = admin.execute(
                f"SELECT count(*) FROM {table} t WHERE t::text ILIKE %s",  # noqa: S608
                (f"%{word}%",),
            ).fetchone()
            if row and row[0]:
                found[table] = row[0]
    return found


async def test_nobody_erased_is_found_anywhere(
    memory: PersonaMemory, database: TestDatabase
) -> None:
    assert len(hits(database, "quell")) > 4, "there was something to erase"
    before = {persona: (await memory.subconscious.tail(persona=persona)) for persona in Persona}
    erased = await memory.erase(WHO, reason="request 17")
    assert hits(database, "quell") == {}
    # Of the entries, one is the summary of the loop: it was made of the others.
    assert {table: len(ids) for table, ids in erased.removed.items()} == {
        "actor.log": 3, "actor.memory": 4, "actor.embeddings": 3, "actor.notes": 1,
        "subconscious.log": 1, "subconscious.memory": 2, "subconscious.embeddings": 1,
    }  # fmt: skip
    for persona in Persona:
        after = await memory.subconscious.tail(persona=persona)
        kept = [
            event
            for event in before[persona]
            if str(event.id) not in erased.removed[f"{persona}.log"]
        ]
        assert [event for event in after if event.content != "[erased]"][: len(kept)] == kept
        assert (await memory.subconscious.verify(persona)).whole
    assert "3 in actor.log" in str(erased)


async def test_its_vectors_are_gone(memory: PersonaMemory, database: TestDatabase) -> None:
    erased = await memory.erase(WHO, reason="request 17")
    with psycopg.connect(database.admin_dsn) as admin:
        for persona in Persona:
            table = table_of(persona, "memory_embeddings")
            gone = list(erased.removed[f"{persona}.memory"])
            rows = admin.execute(
                f"SELECT memory_id = ANY (%s::uuid[]) FROM {table}",  # noqa: S608
                (gone,),
            ).fetchall()
            assert rows, "control: those of the others are there"
            assert not any(of_erased for (of_erased,) in rows)


async def test_a_dream_brings_nothing_back(memory: PersonaMemory, database: TestDatabase) -> None:
    await memory.erase(WHO, reason="request 17")
    dreamed = await memory.dream()
    assert dreamed.equal
    assert hits(database, "quell") == {}
    assert (await memory.erase(WHO, reason="again")).found is False


async def test_what_was_derived_before_is_not_stored_after(
    memory: PersonaMemory, database: TestDatabase
) -> None:
    """A dream that had read the event when it was emptied writes too late."""
    stores = memory.stores[Persona.ACTOR]
    event = (await memory.actor.tail())[0]
    step = stores.common.deriver.entry(event)
    assert step is not None
    await memory.erase(WHO, reason="request 17")
    assert await stores.put_entries([replace(step, provenance={"derivation": "another-way"})]) == 0
    assert hits(database, "quell") == {}


async def test_nothing_found_is_said(memory: PersonaMemory) -> None:
    erased = await memory.erase("Nobody Known", reason="request 18")
    assert (erased.found, str(erased)) == (False, "Nothing found: nothing was removed.")
    assert not any(event.kind is EventKind.SYSTEM_EVENT for event in await memory.actor.tail()), (
        "and nothing is written"
    )


async def test_the_reason_is_kept_and_may_not_name_anybody(memory: PersonaMemory) -> None:
    with pytest.raises(errors.InputError, match="names the subject"):
        await memory.erase(WHO, reason="Zora Quell asked for it")
    assert (await memory.actor.verify()).whole


async def test_both_families_are_erased_as_a_whole_each_by_its_steward(
    memory: PersonaMemory, database: TestDatabase
) -> None:
    async with Idetic.open(database.dsn, embedder=FakeEmbedder()) as db:
        for persona in Persona:
            agent = await db.agent("persona_agent", persona=persona)
            who = Principal.maintenance("erasure")
            steward = agent.bind(tenant_id="acme", agent_id="help-desk", principal=who)
            done = await steward.erase_anchor(reason="request 17")
            assert done.removed["log"] > 0
            assert (await steward.verify()).intact
    assert hits(database, "quell") == {}
    assert hits(database, "depot") == {}
    assert (await memory.dream()).equal


# --- controls -------------------------------------------------------------------------------------


async def test_an_event_that_somebody_else_emptied_is_found(
    memory: PersonaMemory, database: TestDatabase
) -> None:
    with psycopg.connect(database.admin_dsn) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(
            f"UPDATE {LOG} SET content = '[erased]', metadata = '{{}}', salt = ''"  # noqa: S608
            " WHERE position = 2"
        )
    verified = await memory.actor.verify()
    assert verified.problems == ("position 2 is empty, and nothing says that it was erased",)


@pytest.mark.parametrize(
    "role", ["idetic_actor", "idetic_subconscious", "idetic_app", "idetic_owner"]
)
async def test_no_other_role_empties_an_event(
    memory: PersonaMemory, database: TestDatabase, role: str
) -> None:
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(f"SET ROLE {role}")
        scope = scope_of("acme", "help-desk")
        for name, value in scoping.settings(scope).items():
            admin.execute("SELECT set_config(%s, %s, false)", (name, value))
        anchor = scoping.anchor_id(("acme", "help-desk"))
        for statement in (
            f"SELECT {LOG.removesuffix('_log')}_erase_log_v1('acme', '{anchor}', '{{}}', '{{}}')",
            f"UPDATE {LOG} SET content = '[erased]', metadata = '{{}}', salt = ''",  # noqa: S608
        ):
            if role == "idetic_owner" and statement.startswith("UPDATE"):
                admin.execute(f"ALTER TABLE {LOG} NO FORCE ROW LEVEL SECURITY")
            if role == "idetic_owner" and statement.startswith("SELECT"):
                continue
            with pytest.raises(psycopg.Error, match=r"permission denied|append_only"):
                admin.execute(statement)
    assert (await memory.actor.verify()).whole
