"""A log with one persona: any spec may have one, and its family is the application's own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from idetic import Identity, Idetic, Principal, errors
from idetic.persona.events import EventKind, Persona
from idetic.persona.persona_memory import PersonaMemory
from idetic.spec.loader import load
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import task

pytestmark = pytest.mark.anyio
ANCHOR = {"tenant_id": "acme", "agent_id": "diary"}


def diary_agent() -> dict[str, Any]:
    """The shipped spec of personas, for one of them."""
    data = load("persona_agent").as_data()
    data |= {"agent": "diary_agent", "title": "Diary Agent"}
    data["backend"] |= {"schema": "diaries", "family": "diary_agent"}
    data["backend"]["log"]["personas"] = ["actor"]
    del data["retrieval"]["short_term"]["subconscious"]
    return data


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


@pytest.fixture
async def memory(db: Idetic) -> PersonaMemory:
    return await db.persona(Identity("diary"), tenant="acme", spec=diary_agent())


async def test_it_remembers_and_dreams_with_one_persona(memory: PersonaMemory) -> None:
    events = await task(memory, "When does it leave?", "It leaves at noon.")
    assert await memory.actor.tail() == events
    assert (await memory.actor.rag_query("when does it leave")).hits
    dreamt = await memory.dream()
    assert (dreamt.loop_id, len(dreamt.coverage), dreamt.equal) == (None, 1, True)
    assert (await memory.actor.verify()).whole


async def test_there_is_nobody_to_dream_or_leave_notes(memory: PersonaMemory) -> None:
    with pytest.raises(errors.InputError, match="one persona"):
        memory.loop("think", Persona.SUBCONSCIOUS)
    with pytest.raises(errors.InputError, match="one persona"):
        await memory.note("Be brief.")


async def test_its_family_lies_where_the_spec_says_and_is_governed_as_any_other(
    db: Idetic, memory: PersonaMemory, database: TestDatabase, tmp_path: Path
) -> None:
    await task(memory, "Where does Zora Quell live?", "Zora Quell lives in Ghent.")
    with psycopg.connect(database.admin_dsn) as admin:
        (kept,) = admin.execute("SELECT count(*) FROM diaries.diary_agent_log").fetchone() or (0,)
    assert kept == 4
    agent = await db.agent(diary_agent())
    operator = agent.bind(principal=Principal.operator("ada"), **ANCHOR)
    auditor = agent.bind(principal=Principal.auditor("eve"), **ANCHOR)
    assert [hit.entry.body_text for hit in (await operator.recall("who lives in Ghent")).hits]
    erased = await operator.erase("Zora Quell", reason="request 17")
    assert {"log", "memory"} <= erased.removed.keys()
    assert (await auditor.verify()).intact
    done = await operator.export_to(tmp_path / "diary.jsonl")
    assert "Zora" not in (tmp_path / "diary.jsonl").read_text("utf-8")
    assert done.entries == len(await auditor.list(limit=100)) + len(erased.entries)


async def test_a_spec_without_a_log_is_refused(db: Idetic) -> None:
    with pytest.raises(errors.InputError, match="does not declare persona memory"):
        await db.persona(Identity("diary"), tenant="acme", spec="framework_agent")


async def test_kinds_of_the_subconscious_are_not_the_actors(memory: PersonaMemory) -> None:
    async with memory.loop() as loop:
        with pytest.raises(errors.IdeticError):
            await loop.append(EventKind.SUBCONSCIOUS_OUTPUT, "I think so.")


async def test_a_whole_log_is_erased_with_what_was_derived_and_goes_on(
    db: Idetic, memory: PersonaMemory, database: TestDatabase
) -> None:
    await task(memory, "Where does Zora Quell live?", "Zora Quell lives in Ghent.")
    agent = await db.agent(diary_agent())
    operator = agent.bind(principal=Principal.operator("ada"), **ANCHOR)
    auditor = agent.bind(principal=Principal.auditor("eve"), **ANCHOR)
    shown = json.loads(b"".join([chunk async for chunk in operator.disclosure()]))
    assert "Zora Quell lives in Ghent." in [turn["text"] for turn in shown["turns"]]
    (listed,) = await auditor.anchors()
    assert (listed.keys, listed.events) == (ANCHOR, 4)

    done = await operator.erase_anchor(reason="request 17")
    assert done.removed["log"] == 4
    with psycopg.connect(database.admin_dsn) as admin:
        for table in ("log", "memory", "memory_ledger", "memory_embeddings", "memory_receipts"):
            rows = admin.execute(f"SELECT t::text FROM diaries.diary_agent_{table} t").fetchall()  # noqa: S608
            assert not [row for row in rows if "Ghent" in row[0] or "ghent" in row[0]], table
    assert (await auditor.verify()).intact
    assert (await memory.actor.verify()).whole
    assert not (await operator.erase_anchor(reason="request 17")).found
    await task(memory, "Where is the depot?", "The depot is in Bruges.")
    assert (await memory.dream()).equal
    assert (await auditor.verify()).intact
