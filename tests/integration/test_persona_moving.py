"""Persona memory in an export: log, entries, notes and history of each persona, to the byte."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from idetic import Idetic, Principal, errors
from idetic.library.handles import Memory
from idetic.persona.events import EventKind, EventValidation, Persona
from idetic.persona.views import PersonaView
from idetic.spec.loader import load
from idetic.transfer import import_checks
from tests.conftest import TestDatabase
from tests.support.databases import copy_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.moving import rows_of
from tests.support.persona import TENANT, pool_of, remembering, task, thought
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"
ANCHOR = {"tenant_id": TENANT, "agent_id": "help-desk"}


@pytest.fixture
async def here(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


@pytest.fixture
async def there(server: TestServer, persona_template: str) -> AsyncIterator[Idetic]:
    with copy_of(server, persona_template) as other:
        opened = Idetic.open(other.dsn, admin_dsn=other.admin_dsn, embedder=FakeEmbedder())
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


async def test_a_changed_spec_takes_both_personas_and_their_logs_to_another_family(
    here: Idetic,
) -> None:
    memory = await remembering(here)
    await task(memory, "When does it leave?", "At noon.")
    await thought(memory, "They ask a lot about trains.")
    await memory.note("Answer in one sentence.")
    views = {one: PersonaView(memory.stores[one], memory.identity) for one in Persona}
    heads = {one: await view.head() for one, view in views.items()}
    spec = load("persona_agent").as_data()
    spec["backend"]["family"] = "persona_two"
    assert (await here.migrate(spec)).moved == len(Persona)

    moved = await remembering(here, spec=spec)
    for one, before in views.items():
        after = PersonaView(moved.stores[one], moved.identity)
        assert await after.tail() == await before.tail()
        assert (await after.verify(heads[one])).whole
        assert (await before.verify(heads[one])).whole
        agent = await here.agent("persona_agent@2", persona=one)
        whole = agent.bind(principal=Principal.maintenance("mover"), **ANCHOR)
        assert (await whole.verify()).intact
    with pytest.raises(errors.MemoryMoved):
        await task(memory, "And now?", "At ten.")
    await task(moved, "And now?", "At ten.")
    assert [n.text for n in await moved.actor.operational_notes()] == ["Answer in one sentence."]


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


SECRET = "AKIA4QZ7XV2M9LTR8WNB"


async def crafted(here: Idetic, path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """An export of the owner's own database, where something came in past the gate."""
    memory = await remembering(here, derive=False)
    with monkeypatch.context() as off:
        off.setattr(EventValidation, "_gated", lambda _, *parts: parts)
        async with memory.loop("a task") as loop:
            words = f"The key is {SECRET}." if what == "content" else ""
            told = {"seen": f"key {SECRET}"} if what == "metadata" else {}
            await loop.append(EventKind.USER_INPUT, words, metadata=told)
    if what == "note":
        store = memory.stores[Persona.ACTOR].store
        writing = pool_of(memory, Persona.SUBCONSCIOUS)
        note = replace(store, database=writing)
        now = datetime.now(UTC)
        await note.rows("put_note", note_id=uuid4(), ts=now, body=f"Use {SECRET} today.")
    await (await governed(here, Persona.ACTOR)).export_to(path)


@pytest.mark.parametrize("what", ["content", "metadata", "note"])
async def test_what_no_gate_has_seen_is_not_imported_into_a_log(
    here: Idetic, there: Idetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = tmp_path / "it.jsonl"
    await crafted(here, path, monkeypatch, what)
    target = await governed(there, Persona.ACTOR)
    with pytest.raises(errors.ExportRefused, match="the ingest gate would remove") as refused:
        await target.import_from(path)
    assert SECRET not in str(refused.value.detail)

    # The control: without the look into the log it comes in.
    async def unseen(*_: object) -> list[object]:
        return []

    monkeypatch.setattr(import_checks, "_ungated_events", unseen)
    await target.import_from(path)


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
