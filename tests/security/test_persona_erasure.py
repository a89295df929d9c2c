"""Somebody is erased from persona memory: nothing that named them is left, and the logs verify."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from idetic import Idetic, errors
from idetic.library.persona import PersonaMemory
from idetic.persona.events import EventKind, Persona
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import remembering, task, thought

pytestmark = pytest.mark.anyio

WHO = ["Zora Quell", "zora.quell@quellen.example"]
TABLES = [
    f"idetic_{persona}.{table}"
    for persona in Persona
    for table in ("log", "ltm", "stm", "heads")
] + ["idetic_actor.operational_notes"]  # fmt: skip


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
    assert {table: len(ids) for table, ids in erased.removed.items()} == {
        "actor.log": 3, "actor.ltm": 3, "actor.stm": 1, "actor.operational_notes": 1,
        "subconscious.log": 1, "subconscious.ltm": 1, "subconscious.stm": 1,
    }  # fmt: skip
    for persona in Persona:
        after = await memory.subconscious.tail(persona=persona)
        kept = [
            event for event in before[persona] if event.id not in erased.removed[f"{persona}.log"]
        ]
        assert [event for event in after if event.content != "[erased]"][: len(kept)] == kept
        assert (await memory.subconscious.verify(persona)).whole
    assert str(erased).startswith("Removed: 3 in actor.log")


async def test_its_vectors_say_nothing_any_more(
    memory: PersonaMemory, database: TestDatabase
) -> None:
    erased = await memory.erase(WHO, reason="request 17")
    with psycopg.connect(database.admin_dsn) as admin:
        for persona in Persona:
            rows = admin.execute(
                f"SELECT embedding::text FROM idetic_{persona}.vectors WHERE ltm_id = ANY (%s)",  # noqa: S608
                (list(erased.removed[f"{persona}.ltm"]),),
            ).fetchall()
            assert rows
            assert all(set(text.strip("[]").split(",")) == {"0"} for (text,) in rows)


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
    layers = memory._layers[Persona.ACTOR]
    event = (await memory.actor.tail())[0]
    item = layers.common.deriver.item(event)
    assert item is not None
    await memory.erase(WHO, reason="request 17")
    await layers.rows.derive([{**item, "derivation": "another-way"}])
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


# --- controls -------------------------------------------------------------------------------------


async def test_an_event_that_somebody_else_emptied_is_found(
    memory: PersonaMemory, database: TestDatabase
) -> None:
    with psycopg.connect(database.admin_dsn) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(
            "UPDATE idetic_actor.log SET content = '[erased]', metadata = '{}', salt = ''"
            " WHERE position = 2"
        )
    verified = await memory.actor.verify()
    assert verified.problems == ("position 2 is empty, and nothing says that it was erased",)


@pytest.mark.parametrize("role", ["idetic_actor", "idetic_subconscious", "idetic_owner"])
async def test_no_other_role_empties_an_event(
    memory: PersonaMemory, database: TestDatabase, role: str
) -> None:
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(f"SET ROLE {role}")
        admin.execute(
            "SELECT set_config('idetic.scope', %s, false)", ("persona\x1facme\x1fhelp-desk",)
        )
        for statement in (
            "SELECT idetic_actor.erase_v1('acme', 'help-desk', '{}')",
            "UPDATE idetic_actor.log SET content = '[erased]', metadata = '{}', salt = ''",
        ):
            if role == "idetic_owner" and statement.startswith("UPDATE"):
                admin.execute("ALTER TABLE idetic_actor.log NO FORCE ROW LEVEL SECURITY")
            if role == "idetic_owner" and statement.startswith("SELECT"):
                continue
            with pytest.raises(psycopg.Error, match=r"permission denied|append_only"):
                admin.execute(statement)
    assert (await memory.actor.verify()).whole
