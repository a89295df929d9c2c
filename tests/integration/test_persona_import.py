"""A CHAOS layout comes into persona memory as it was: ids, moments, loops and order."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from idetic import Idetic
from idetic.errors import AnchorRefused
from idetic.library.persona_import import checking, importing
from idetic.library.persona_import.loops import ImportedLoops
from idetic.library.persona_import.report import ImportReport
from idetic.persona.bringing import bring
from idetic.persona.errors import IdentityInvalid, LayoutUnusable
from idetic.persona.events import EventKind, Persona, Visibility
from tests.conftest import TestDatabase
from tests.support.chaos import BEGIN, TABLES, Chaos, plain, uid
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


async def imported(db: Idetic, path: Path, **options: object) -> ImportReport:
    return await db.import_personas(path, tenant=TENANT, **options)  # type: ignore[arg-type]


def accounted(report: ImportReport) -> int:
    lost = ("refused", "differs", "repeated", "erased")
    counts = [report.findings[name].count for name in lost if name in report.findings]
    return report.written + report.there + sum(counts)


async def test_two_thousand_events_of_two_agents_come_as_they_were(
    db: Idetic, tmp_path: Path
) -> None:
    made = plain(2_000)
    path = made.save(tmp_path / "chaos.db")
    before = path.read_bytes()
    seen: list[tuple[str, int, int]] = []
    report = await imported(db, path, progress=lambda *told: seen.append(told))
    assert (report.read, report.written, report.there) == (2_000, 2_000, 0)
    assert (report.ltm_kept, report.stm_kept, report.stm_derived) == (2_000, 500, 0)
    assert report.complete
    assert (report.missing, dict(report.findings)) == ((), {})
    assert ("events", 2_000, 2_000) in seen
    assert seen[-1] == ("loops", 500, 500)
    assert path.read_bytes() == before
    for agent in ("till", "desk"):
        memory = await remembering(db, agent)
        for persona in Persona:
            wanted = [row for row in made.events if (row[2], row[3]) == (agent, persona)]
            events = await memory.subconscious.tail(persona=persona, limit=2_000)
            kept = [
                (str(e.id), e.ts.isoformat(), str(e.loop_id), e.kind, e.content) for e in events
            ]
            assert kept == [(r[0], r[1], r[4], r[5], r[7]) for r in wanted], "in their order"
            assert (await memory.subconscious.verify(persona)).whole


async def test_entries_and_summaries_are_kept_and_no_dream_replaces_them(
    db: Idetic, tmp_path: Path
) -> None:
    await imported(db, plain(48).save(tmp_path / "chaos.db"))
    for agent, first in (("till", 0), ("desk", 4)):
        memory = await remembering(db, agent)
        dreamt = await memory.dream()
        assert dreamt.equal, dreamt.coverage
        assert (dreamt.derived, dreamt.summarised) == (0, 0)
        entry = await memory.actor.entry_of(UUID(uid("event", first)))
        assert entry is not None
        assert (str(entry.id), entry.summary) == (uid("ltm", first), f"In short: {first}.")
        assert entry.importance == 0.25
        loops = {str(loop.loop_id): loop for loop in await memory.actor.window(100)}
        loop = loops[uid("loop", first // 4)]
        assert loop.summary == f"Loop {first // 4} in short."
        assert [str(one) for one in loop.ltm_ids] == [uid("ltm", first + n) for n in range(4)]


async def test_again_nothing_is_written_and_a_dry_run_writes_nothing(
    db: Idetic, tmp_path: Path
) -> None:
    path = plain(200).save(tmp_path / "chaos.db")
    dry = await imported(db, path, dry_run=True)
    assert (dry.read, dry.written, dry.there, dry.dry_run) == (200, 200, 0, True)
    assert (dry.ltm_kept, dry.stm_kept) == (200, 50)
    memory = await remembering(db, "till")
    assert await memory.actor.tail() == []
    first = await imported(db, path)
    head = await memory.actor.head()
    again = await imported(db, path)
    assert first.written == 200
    assert (again.written, again.there, again.ltm_kept, again.stm_kept) == (0, 200, 0, 0)
    assert again.complete
    assert await memory.actor.head() == head
    assert (await imported(db, path, dry_run=True)).there == 200


async def test_an_import_that_was_interrupted_is_run_again(
    db: Idetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = plain(800).save(tmp_path / "chaos.db")
    done = 0

    async def dying(*args: object, **options: object) -> object:
        nonlocal done
        done += 1
        if done > 5:
            raise ConnectionAbortedError
        return await bring(*args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(importing, "bring", dying)
        with pytest.raises(ConnectionAbortedError):
            await imported(db, path)
    report = await imported(db, path)
    assert 0 < report.there < 800
    assert report.there + report.written == 800
    assert (report.stm_kept, report.complete) == (200, True)
    for agent in ("till", "desk"):
        memory = await remembering(db, agent)
        assert (await memory.dream()).equal
        assert (await memory.actor.verify()).whole
        assert (await memory.subconscious.verify()).whole


async def test_every_oddity_is_kept_and_told(db: Idetic, tmp_path: Path) -> None:
    made = plain(8)
    whose: dict[str, Any] = {"agent_id": "till", "persona": "actor", "loop_id": uid("loop", 0)}
    made.event(24, kind="daydream", **whose)
    made.event(25, id="evt-25", mirror=False, **whose)
    made.event(26, ts="yesterday", **whose)
    made.event(27, ts="2024-03-01 10:00:00", **whose)
    made.event(28, ts=1709287200, visibility="secret", **whose)
    made.event(29, metadata='{"position": 7, "mood": "blue"}', **whose)
    made.event(30, f"The key is {SECRET}.", **whose)
    made.event(31, metadata="no json", **{**whose, "loop_id": "loop seven"})
    report = await imported(db, made.save(tmp_path / "chaos.db"))
    assert report.complete
    assert report.written == 16
    wanted = {
        "unknown_kind": uid("event", 24), "bad_ts": uid("event", 26),
        "assumed_utc": uid("event", 27), "unknown_visibility": uid("event", 28),
        "redacted": uid("event", 30), "ltm_missing": "evt-25",
    }  # fmt: skip
    assert {name: report.findings[name].first for name in wanted} == {
        name: (one,) for name, one in wanted.items()
    }
    assert report.findings["other_id"].first == ("evt-25", uid("event", 31))
    assert report.findings["odd_metadata"].first == (uid("event", 29), uid("event", 31))
    memory = await remembering(db, "till")
    events = (await memory.actor.tail())[4:]
    assert len(events) == 8
    odd, renamed, undated, naive, seconds, meta, secret, unread = events
    assert (odd.kind, odd.metadata["original_kind"]) == (EventKind.SYSTEM_EVENT, "daydream")
    assert renamed.metadata["imported"] == {"id": "evt-25"}
    assert renamed.id.version == 5
    assert undated.ts == renamed.ts
    assert undated.metadata["imported"] == {"ts": "yesterday"}
    assert naive.ts == BEGIN + timedelta(hours=1)
    assert (seconds.ts, seconds.visibility) == (naive.ts, Visibility.INTERNAL)
    assert dict(meta.metadata) == {"mood": "blue", "imported": {"metadata": {"position": 7}}}
    assert SECRET not in secret.content
    assert secret.metadata["redacted"]
    assert unread.metadata["imported"] == {"loop_id": "loop seven", "metadata": "no json"}
    assert (await memory.dream()).equal


async def test_secrets_pass_the_gate_in_no_layer(db: Idetic, tmp_path: Path) -> None:
    made = Chaos()
    made.event(0, f"The key is {SECRET}.", metadata=f'{{"key": "{SECRET}"}}')
    made.ltm[0] = (*made.ltm[0][:4], f"Key {SECRET}.", 0.5)
    made.loop(0, f"Was told {SECRET}.")
    report = await imported(db, made.save(tmp_path / "chaos.db"))
    assert (report.ltm_kept, report.stm_kept, report.findings["redacted"].count) == (1, 1, 1)
    assert report.findings["stm_redacted"].first == (uid("loop", 0),)
    memory = await remembering(db, "till")
    (event,), (loop,) = await memory.actor.tail(), await memory.actor.window(5)
    entry = await memory.actor.entry_of(event.id)
    assert entry is not None
    for text in (event.content, str(dict(event.metadata)), entry.summary, loop.summary):
        assert SECRET not in text
    assert "Was told" in loop.summary


async def test_what_cannot_be_held_is_refused_by_name_and_costs_no_other(
    db: Idetic, tmp_path: Path
) -> None:
    made = plain(4)
    made.event(30, persona="bystander")
    made.event(31, persona=None)
    made.event(32, "nul \x00 inside")
    made.event(33, agent_id="no such name!")
    made.event(34, loop_id=None)
    made.event(35, content=b"\xff\xfe")
    report = await imported(db, made.save(tmp_path / "chaos.db"))
    assert not report.complete
    assert (report.read, report.written, accounted(report)) == (10, 4, 10)
    refused = report.findings["refused"].first
    assert sorted(each[:36] for each in refused) == [uid("event", n) for n in range(30, 36)]
    assert any("NUL" in each for each in refused)


async def test_orphans_and_repeats_are_listed(db: Idetic, tmp_path: Path) -> None:
    made = plain(8)
    made.ltm.append((uid("ltm", 90), uid("event", 90), "till", "actor", "Of nothing.", 0.5))
    made.ltm.append((uid("ltm", 91), uid("event", 0), "till", "actor", "A second one.", 0.5))
    made.ltm[1] = (*made.ltm[1][:3], "subconscious", "Of another.", 0.5)
    made.ltm[2] = (*made.ltm[2][:4], "", 0.5)
    made.loop(40)
    made.map.append((uid("loop", 0), uid("ltm", 92), 9))
    made.map.append((uid("loop", 41), uid("ltm", 0), 0))
    made.events.append((*made.events[0][:7], "Something else.", None))
    tables = TABLES.replace(" PRIMARY KEY", "")
    report = await imported(db, made.save(tmp_path / "chaos.db", tables))
    assert (report.read, report.written, accounted(report)) == (9, 8, 9)
    told = {name: report.findings[name].first for name in report.findings}
    assert told == {
        "repeated": (uid("event", 0),),
        "ltm_of_others": (uid("event", 1),),
        "ltm_unusable": (uid("event", 2),),
        "ltm_extra": (uid("event", 0),),
        "ltm_without_event": (uid("ltm", 90),),
        "stm_without_event": (uid("loop", 40),),
        "map_without_ltm": (uid("ltm", 92),),
        "map_without_stm": (uid("loop", 41),),
        "map_in_another_order": (uid("loop", 0),),  # by the repeated event
    }
    memory = await remembering(db, "till")
    entry = await memory.actor.entry_of(UUID(uid("event", 1)))
    assert entry is not None
    assert "Of another" not in entry.summary
    assert str(entry.id) == uid("ltm", 1), "its id is kept"
    assert (await memory.dream()).equal


def leaking() -> Chaos:
    """Words of the Subconscious, in every place where a layout could give them to the Actor."""
    made = plain(12)  # loop 0: the Actor of till; loop 2: the Subconscious of till
    made.event(100, "Hidden: heron.", agent_id="till", persona="actor", loop_id=uid("loop", 0),
               kind="subconscious_output")  # fmt: skip
    made.stm[0] = (uid("loop", 0), "till", "actor", "Loop 0, and the heron.")
    made.event(101, agent_id="till", persona="actor", loop_id=uid("loop", 25))
    made.map.append((uid("loop", 25), uid("ltm", 8), 0))
    made.loop(25, "The heron again.", agent_id="till", persona="actor")
    for number, persona in ((102, "actor"), (103, "subconscious")):
        made.event(number, agent_id="till", persona=persona, loop_id=uid("loop", 26),
                   kind="system_event")  # fmt: skip
    made.loop(26, "Whose heron?", agent_id="till", persona=None)
    return made


async def actors_words(db: Idetic) -> str:
    view = (await remembering(db, "till")).actor
    events, loops = await view.tail(), await view.window(100)
    entries = [await view.entry_of(event.id) for event in events]
    said = [*(e.content for e in events), *(str(dict(e.metadata)) for e in events)]
    said += [*(s.summary for s in loops), *(e.summary for e in entries if e)]
    return "\n".join(said)


async def test_the_actor_sees_nothing_of_the_subconscious(db: Idetic, tmp_path: Path) -> None:
    report = await imported(db, leaking().save(tmp_path / "chaos.db"))
    assert report.findings["misfiled"].first == (uid("event", 100),)
    assert set(report.findings["stm_unused"].first) == {uid("loop", n) for n in (0, 25, 26)}
    memory = await remembering(db, "till")
    assert (await memory.dream()).equal
    said = await actors_words(db)
    assert "heron" not in said
    assert "subconscious matter" not in said
    assert await memory.actor.get_by_id(UUID(uid("event", 8))) is None
    assert await memory.actor.get_by_id(UUID(uid("event", 100))) is None
    held = await memory.subconscious.get_by_id(UUID(uid("event", 100)))
    assert held is not None
    assert held.persona is Persona.SUBCONSCIOUS
    assert held.metadata["imported"]["persona"] == "actor"


async def test_control_without_the_rule_for_summaries_the_actor_would_see_it(
    db: Idetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImportedLoops, "_untold", lambda *_: False)
    await imported(db, leaking().save(tmp_path / "chaos.db"))
    assert "heron" in await actors_words(db)


async def test_control_without_filing_by_kind_the_log_itself_refuses(
    db: Idetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "NEVER_THE_ACTORS", frozenset())
    report = await imported(db, leaking().save(tmp_path / "chaos.db"))
    assert report.findings["refused"].count == 1
    assert "heron" not in "".join(
        e.content for e in await (await remembering(db, "till")).actor.tail()
    )


async def test_what_is_there_with_another_content_stays_and_is_told(
    db: Idetic, tmp_path: Path
) -> None:
    made = plain(8)
    await imported(db, made.save(tmp_path / "one.db"))
    made.events[0] = (*made.events[0][:7], "Rewritten.", None)
    report = await imported(db, made.save(tmp_path / "two.db"))
    assert report.findings["differs"].first == (uid("event", 0),)
    assert (report.there, report.complete) == (7, False)
    event = await (await remembering(db, "till")).actor.get_by_id(UUID(uid("event", 0)))
    assert event is not None
    assert event.content != "Rewritten."


async def test_what_was_erased_does_not_come_back(db: Idetic, tmp_path: Path) -> None:
    made = plain(4)
    made.event(50, "Greetings from Zebulon.", agent_id="till", persona="actor",
               loop_id=uid("loop", 0))  # fmt: skip
    made.ltm[-1] = (*made.ltm[-1][:4], "Zebulon greets.", 0.5)
    made.stm[0] = (uid("loop", 0), "till", "actor", "Zebulon was there.")
    path = made.save(tmp_path / "chaos.db")
    await imported(db, path)
    memory = await remembering(db, "till")
    assert "Zebulon" in await actors_words(db)
    assert (await memory.erase("Zebulon", reason="request 7")).found
    report = await imported(db, path)
    assert report.findings["erased"].first == (uid("event", 50),)
    assert report.complete
    await memory.dream()
    assert "Zebulon" not in await actors_words(db)
    assert (await memory.actor.verify()).whole


async def test_other_columns_are_found_and_what_lacks_is_said(db: Idetic, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("""
            CREATE TABLE Idetic_Events (event_id INTEGER PRIMARY KEY, "timestamp" REAL,
                persona TEXT, loop_id TEXT, event_type TEXT, text TEXT);
            INSERT INTO idetic_events VALUES
                (2, 1709287201.5, 'Actor', 'a', 'actor_output', 'Two.'),
                (1, 1709287200, 'actor', 'a', 'user_input', 'One.');
            CREATE TABLE ltm_entries (ltm_id INTEGER, idetic_id INTEGER, content TEXT);
            INSERT INTO ltm_entries VALUES (11, 1, 'First.'), (12, 2, 'Second.');
            CREATE TABLE stm_entries (stm_id INTEGER, loop_id TEXT, text TEXT);
            INSERT INTO stm_entries VALUES (5, 'a', 'Both.');
            CREATE TABLE stm_ltm_map (stm_id INTEGER, ltm_id INTEGER, ord INTEGER);
            INSERT INTO stm_ltm_map VALUES (5, 12, 0), (5, 11, 1);
        """)
    with pytest.raises(LayoutUnusable, match="agent_id"):
        await imported(db, path)
    report = await imported(db, path, agent="solo")
    assert (report.written, report.ltm_kept, report.stm_kept) == (2, 2, 1)
    assert report.findings["map_in_another_order"].first == ("5",)
    assert report.missing == (
        "idetic_events.agent_id", "idetic_events.visibility", "idetic_events.metadata",
        "ltm_entries.importance", "ltm_entries.agent_id", "ltm_entries.persona",
        "stm_entries.agent_id", "stm_entries.persona",
    )  # fmt: skip
    memory = await remembering(db, "solo")
    events = await memory.actor.tail()
    assert [event.content for event in events] == ["One.", "Two."]
    assert [dict(event.metadata["imported"]) for event in events] == [
        {"id": 1, "loop_id": "a", "ltm_id": 11}, {"id": 2, "loop_id": "a", "ltm_id": 12},
    ]  # fmt: skip
    assert [loop.summary for loop in await memory.actor.window(5)] == ["Both."]


async def test_events_alone_are_enough_and_one_agent_can_be_chosen(
    db: Idetic, tmp_path: Path
) -> None:
    tables = TABLES[: TABLES.index("CREATE TABLE ltm")]
    path = plain(40).save(tmp_path / "chaos.db", tables)
    report = await imported(db, path, agent="desk")
    assert report.missing == ("ltm_entries", "stm_entries", "stm_ltm_map")
    assert {whose.split("/")[0] for whose in report.personas} == {"desk"}
    assert (report.written, report.stm_derived, report.ltm_kept) == (20, 5, 0)
    assert report.findings["ltm_missing"].count == 20
    assert len(report.findings["ltm_missing"].first) == 10
    assert (await (await remembering(db, "desk")).dream()).equal
    assert await (await remembering(db, "till")).actor.tail() == []
    with pytest.raises(LayoutUnusable, match="nobody"):
        await imported(db, path, agent="nobody")


async def test_a_broken_file_is_one_clear_error(db: Idetic, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is not SQLite at all, however long it is. " * 40)
    with closing(sqlite3.connect(tmp_path / "empty.db")) as connection, connection:
        connection.execute("CREATE TABLE other (id)")
    whole = plain(2_000).save(tmp_path / "whole.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[: len(whole) // 2])
    torn = bytearray(whole)
    for page in range(8, len(torn) // 4096, 3):
        torn[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    (tmp_path / "torn.db").write_bytes(bytes(torn))
    for name in ("text.db", "empty.db", "cut.db", "torn.db", "none.db", ".", "nul\x00.db"):
        with pytest.raises(LayoutUnusable) as raised:
            await imported(db, tmp_path / name)
        assert "SELECT" not in str(raised.value)
        assert raised.value.exit_code == 2


async def test_bad_arguments_are_refused(db: Idetic, tmp_path: Path) -> None:
    path = plain(4).save(tmp_path / "chaos.db")
    with pytest.raises(AnchorRefused):
        await db.import_personas(path, tenant="*")
    with pytest.raises(IdentityInvalid):
        await imported(db, path, agent="no such name!")
