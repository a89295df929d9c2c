"""Events of a file come into the log as they were: ids, moments, loops and order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from idetic import Identity, Idetic
from idetic.errors import AnchorRefused
from idetic.persona import events, log_import
from idetic.persona.events import EventKind, Persona
from idetic.persona.log_import import ImportReport
from idetic.persona.persona_errors import EventsUnreadable, IdentityInvalid
from idetic.persona.persona_stores import PersonaStores
from tests.conftest import TestDatabase
from tests.integration.test_log_of_one import diary_agent
from tests.support.event_lines import line, lines, save, uid
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import TENANT, remembering

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

SECRET = "AKIAIOSFODNN7EXAMPLE"  # a well-known example, and nobody's key


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    embedder = FakeEmbedder()
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


async def imported(db: Idetic, path: Path, **options: Any) -> ImportReport:
    report = await db.import_events(path, tenant=TENANT, **options)
    known = report.written + report.there + report.erased + report.skipped
    assert report.read == known + report.differing + report.refused
    return report


async def test_twelve_hundred_events_of_two_agents_come_as_they_were(
    db: Idetic, path: Path
) -> None:
    made = lines(1_200)
    size = len(save(path, made).read_bytes())
    seen: list[tuple[str, int, int]] = []
    report = await imported(db, path, progress=lambda *told: seen.append(told))
    assert (report.read, report.written, report.there) == (1_200, 1_200, 0)
    assert (report.loops, report.complete, report.problems) == (300, True, [])
    assert sum(report.personas.values()) == 1_200
    assert ("bytes", size, size) in seen
    for agent in ("till", "desk"):
        memory = await remembering(db, agent)
        for persona in Persona:
            wanted = [row for row in made if (row["agent_id"], row["persona"]) == (agent, persona)]
            events = await memory.subconscious.tail(persona=persona, limit=1_200)
            kept = [
                (str(e.id), e.ts.isoformat(), str(e.loop_id), e.kind, e.content) for e in events
            ]
            fields = ("id", "ts", "loop_id", "kind", "content")
            assert kept == [tuple(r[f] for f in fields) for r in wanted], "in their order"
            assert [dict(e.metadata) for e in events] == [r["metadata"] for r in wanted]
            assert (await memory.subconscious.verify(persona)).whole
        dreamt = await memory.dream()
        assert (dreamt.derived, dreamt.summarised, dreamt.equal) == (0, 0, True)


async def test_again_nothing_is_written_and_a_dry_run_writes_nothing(
    db: Idetic, path: Path
) -> None:
    save(path, lines(200))
    dry = await imported(db, path, dry_run=True)
    assert (dry.read, dry.written, dry.there, dry.dry_run) == (200, 200, 0, True)
    memory = await remembering(db, "till")
    assert await memory.actor.tail() == []
    first = await imported(db, path)
    head = await memory.actor.head()
    again = await imported(db, path)
    assert first.written == 200
    assert (again.written, again.there, again.loops, again.complete) == (0, 200, 0, True)
    assert await memory.actor.head() == head
    assert (await imported(db, path, dry_run=True)).there == 200


async def test_an_import_that_was_interrupted_is_run_again(
    db: Idetic, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(path, lines(800))
    monkeypatch.setattr(log_import, "TRANSACTION_MAX", 100)
    done, record = 0, PersonaStores.record

    async def dying(stores: PersonaStores, events: Any) -> Any:
        nonlocal done
        done += 1
        if done > 5:
            raise ConnectionAbortedError
        return await record(stores, events)

    with monkeypatch.context() as patch:
        patch.setattr(PersonaStores, "record", dying)
        with pytest.raises(ConnectionAbortedError):
            await imported(db, path)
    report = await imported(db, path)
    assert 0 < report.there < 800
    assert report.there + report.written == 800
    assert (report.loops, report.complete) == (200, True)
    for agent in ("till", "desk"):
        memory = await remembering(db, agent)
        assert (await memory.dream()).equal
        assert (await memory.actor.verify()).whole
        assert (await memory.subconscious.verify()).whole


async def test_unknown_kinds_and_reserved_metadata_are_kept(db: Idetic, path: Path) -> None:
    odd = [
        line(0, kind="daydream"),
        line(1, metadata={"position": 7, "redacted": 2, "mood": "blue"}),
        line(2, content=f"The key is {SECRET}.", metadata={"key": SECRET}),
        line(3, ts=1709283600),
    ]
    report = await imported(db, save(path, odd))
    assert (report.written, report.complete) == (4, True)
    assert (report.unknown_kinds, report.redacted) == (1, 1)
    memory = await remembering(db, "till")
    daydream, meta, secret, seconds = await memory.actor.tail()
    assert (daydream.kind, daydream.metadata["original_kind"]) == (
        EventKind.SYSTEM_EVENT,
        "daydream",
    )
    assert dict(meta.metadata) == {
        "mood": "blue",
        "imported": {"metadata": {"position": 7, "redacted": 2}},
    }
    assert secret.metadata["redacted"]
    assert seconds.ts.isoformat() == "2024-03-01T09:00:00+00:00"
    entry = await memory.actor.entry_of(secret.id)
    (loop,) = await memory.actor.window(5)
    assert entry is not None
    for text in (secret.content, str(dict(secret.metadata)), entry.summary, loop.summary):
        assert SECRET not in text
    again = await imported(db, path)
    assert (again.there, again.differing) == (4, 0)


async def test_what_cannot_be_held_is_refused_by_line_and_costs_no_other(
    db: Idetic, path: Path
) -> None:
    wrong: dict[str, Any] = {
        "persona": line(1, persona="bystander"),
        "loop_id": line(2, loop_id=None),
        "content": line(3, content=7),
        "NUL": line(4, persona="actor", content="nul \x00 inside"),
        "agent_id": line(5, agent_id="no such name!"),
        "ts": line(6, ts="2024-03-01T09:00:00"),
        "id": line(7, id="evt-7"),
        "mood": line(8, mood="blue"),
        "JSON": "{not json",
        "visibility": line(10, visibility="secret"),
        "kind": line(11, kind=None),
    }
    report = await imported(db, save(path, [line(0), *wrong.values(), line(12)]))
    assert not report.complete
    assert (report.read, report.written, report.refused) == (13, 2, 11)
    for number, (what, problem) in enumerate(zip(wrong, report.problems, strict=True), start=2):
        assert problem.startswith(f"line {number}: ")
        assert what in problem
    nameless = line(20)
    del nameless["agent_id"]
    assert "names no agent" in (await imported(db, save(path, [nameless]))).problems[0]


async def test_an_event_of_the_subconscious_never_becomes_the_actors(
    db: Idetic, path: Path
) -> None:
    leak = line(0, kind="subconscious_output", content="Hidden: heron.")
    hidden = line(8, content="Hidden: egret.")
    report = await imported(db, save(path, [leak, hidden]))
    assert (report.written, report.refused) == (1, 1)
    assert "The Actor writes no `subconscious_output`" in report.problems[0]
    memory = await remembering(db, "till")
    assert await memory.actor.tail() == []
    assert await memory.actor.get_by_id(UUID(hidden["id"])) is None
    assert [e.content for e in await memory.subconscious.tail()] == ["Hidden: egret."]


async def test_control_without_the_rule_the_actor_would_see_it(
    db: Idetic, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "SUBCONSCIOUS_KINDS", frozenset())
    leak = line(0, kind="subconscious_output", content="Hidden: heron.")
    await imported(db, save(path, [leak]))
    (seen,) = await (await remembering(db, "till")).actor.tail()
    assert "heron" in seen.content


async def test_what_is_there_with_another_content_stays_and_is_told(db: Idetic, path: Path) -> None:
    made = lines(8)
    await imported(db, save(path, made))
    made[0]["content"] = "Rewritten."
    report = await imported(db, save(path, made))
    assert (report.there, report.differing, report.complete) == (7, 1, False)
    assert report.problems[0].startswith("line 1: ")
    assert uid("event", 0) in report.problems[0]
    event = await (await remembering(db, "till")).actor.get_by_id(UUID(uid("event", 0)))
    assert event is not None
    assert event.content != "Rewritten."


async def test_an_id_twice_in_a_file_is_one_event(db: Idetic, path: Path) -> None:
    report = await imported(db, save(path, [line(0), line(0), line(0, content="Other.")]))
    assert (report.written, report.there, report.differing) == (1, 1, 1)
    assert report.problems[0].startswith("line 3: ")


async def test_what_was_erased_does_not_come_back(db: Idetic, path: Path) -> None:
    save(path, [line(0), line(1, content="Greetings from Zebulon.")])
    await imported(db, path)
    memory = await remembering(db, "till")
    assert (await memory.erase("Zebulon", reason="request 7")).found
    report = await imported(db, path)
    assert (report.erased, report.complete) == (1, True)
    await memory.dream()
    said = [event.content for event in await memory.actor.tail()]
    said += [loop.summary for loop in await memory.actor.window(5)]
    assert not any("Zebulon" in each for each in said)
    assert (await memory.actor.verify()).whole


async def test_one_agent_can_be_chosen_and_named(db: Idetic, path: Path) -> None:
    nameless = line(40)
    del nameless["agent_id"]
    report = await imported(db, save(path, [*lines(40), nameless]), agent="desk")
    assert {whose.split("/")[0] for whose in report.personas} == {"desk"}
    assert (report.written, report.skipped, report.complete) == (21, 20, True)
    assert await (await remembering(db, "till")).actor.tail() == []


async def test_a_log_of_one_persona_takes_events_too(db: Idetic, path: Path) -> None:
    save(path, [line(0), line(8, agent_id="till")])
    report = await imported(db, path, spec=diary_agent())
    assert (report.written, report.refused) == (1, 1)
    assert "no subconscious" in report.problems[0]
    memory = await db.persona(Identity("till"), tenant=TENANT, spec=diary_agent())
    assert [str(event.id) for event in await memory.actor.tail()] == [uid("event", 0)]


async def test_a_file_that_cannot_be_read_is_one_clear_error(
    db: Idetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("none.jsonl", ".", "nul\x00.jsonl"):
        with pytest.raises(EventsUnreadable) as raised:
            await imported(db, tmp_path / name)
        assert raised.value.exit_code == 2
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n" * 30 + b"\n\n")
    report = await imported(db, tmp_path / "bytes")
    assert (report.read, report.refused, len(report.problems)) == (30, 30, 20)
    monkeypatch.setattr(log_import, "LINE_MAX", 1_000)
    long = save(tmp_path / "long", [line(0), "x" * 2_000])
    with pytest.raises(EventsUnreadable, match="line 2"):
        await imported(db, long)


async def test_bad_arguments_are_refused(db: Idetic, path: Path) -> None:
    save(path, lines(4))
    with pytest.raises(AnchorRefused):
        await db.import_events(path, tenant="*")
    with pytest.raises(IdentityInvalid):
        await imported(db, path, agent="no such name!")
