"""Persona memory in an export: log, entries, notes and history of each persona, to the byte."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from idetic import Idetic, Principal, errors
from idetic.library.handles import Memory
from idetic.persona.events import Persona
from idetic.persona.views import PersonaView
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.support.moving import rows_of
from tests.support.persona import TENANT, remembering, task, thought

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"
ANCHOR = {"tenant_id": TENANT, "agent_id": "help-desk"}


@pytest.fixture
async def here(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


@pytest.fixture
async def there(empty_database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(
        empty_database.dsn, admin_dsn=empty_database.admin_dsn, embedder=FakeEmbedder()
    )
    async with opened as db:
        yield db


async def governed(db: Idetic, persona: Persona) -> Memory:
    agent = await db.agent("persona_agent", persona=persona)
    return agent.bind(principal=Principal.maintenance("mover"), **ANCHOR)


@pytest.mark.parametrize("persona", list(Persona))
async def test_export_import_export_is_equal_to_the_byte(
    here: Idetic, there: Idetic, tmp_path: Path, persona: Persona
) -> None:
    memory = await remembering(here)
    await task(memory, "When does it leave?", "At noon.")
    await thought(memory, "They ask a lot about trains.")
    await memory.note("Answer in one sentence.")
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    done = await (await governed(here, persona)).export_to(first)
    assert done.entries > 0
    target = await governed(there, persona)
    taken = await target.import_from(first)
    assert taken.entries == done.entries
    await target.export_to(second)
    assert rows_of(second.read_bytes()) == rows_of(first.read_bytes())

    moved = await remembering(there)
    before, after = (PersonaView(m.stores[persona], m.identity) for m in (memory, moved))
    assert await after.tail() == await before.tail()
    assert (await after.verify()).whole
    assert await after.window(10) == await before.window(10)
    assert (await moved.dream()).equal, "its vectors are made anew"
    if persona is Persona.ACTOR:
        assert [n.text for n in await moved.actor.operational_notes()] == [
            "Answer in one sentence."
        ]


async def test_a_log_that_was_changed_in_the_file_is_refused(
    here: Idetic, there: Idetic, tmp_path: Path
) -> None:
    memory = await remembering(here)
    await task(memory, "When does it leave?", "At noon.")
    await (await governed(here, Persona.ACTOR)).export_to(tmp_path / "it.jsonl")
    text = (tmp_path / "it.jsonl").read_text("utf-8")
    assert '"content": "At noon."' in text
    (tmp_path / "it.jsonl").write_text(
        text.replace('"content": "At noon."', '"content": "At ten."')
    )
    with pytest.raises(errors.ExportRefused):
        await (await governed(there, Persona.ACTOR)).import_from(tmp_path / "it.jsonl")


async def test_one_persona_is_no_other(here: Idetic, there: Idetic, tmp_path: Path) -> None:
    memory = await remembering(here)
    await thought(memory, "They ask a lot about trains.")
    await (await governed(here, Persona.SUBCONSCIOUS)).export_to(tmp_path / "it.jsonl")
    with pytest.raises(errors.ExportRefused, match="another agent"):
        await (await governed(there, Persona.ACTOR)).import_from(tmp_path / "it.jsonl")


async def test_an_actors_principal_has_the_actors_alone(here: Idetic) -> None:
    """Whoever cannot read across is not given the Subconscious's family, whatever is asked."""
    agent = await here.agent("persona_agent", persona=Persona.SUBCONSCIOUS)
    with pytest.raises(errors.CapabilityRefused):
        agent.bind(principal=Principal.agent("help-desk"), **ANCHOR)
