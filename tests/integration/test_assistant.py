"""Memory of a user of an assistant: the complaints that led to it, played one by one."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from subprocess import PIPE
from typing import Any

import anyio
import psycopg
import pytest

from idetic import Claim, Idetic, Principal, UserMemory, errors
from idetic.assistant import extraction
from idetic.assistant.messages import PART_MAX
from idetic.extract import RuleExtractor
from idetic.ids import uuid7
from idetic.jobs.handlers import unread_turns
from idetic.library.handles import Memory
from idetic.model import Standing, Tier, Typology
from tests.conftest import TestDatabase
from tests.support.clock import SettableClock

pytestmark = pytest.mark.anyio
MAY = datetime(2026, 5, 4, 10, 0, tzinfo=UTC)
KILLS = 25 if os.environ.get("IDETIC_FAULTS") else 4
TURNS = 60 * KILLS


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def db(database: TestDatabase, clock: SettableClock) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock)
    async with opened as db:
        yield db


async def user(db: Idetic, name: str = "ada") -> UserMemory:
    agent = await db.agent("assistant_agent", embed_inline=True)
    who = Principal.agent("assistant")
    return UserMemory(db, agent.bind(tenant_id="default", user_id=name, principal=who))


@pytest.fixture
async def ada(db: Idetic) -> UserMemory:
    return await user(db)


def at(moment: datetime, text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, "created_at": moment.isoformat(), **more}


async def facts(memory: Memory, typology: Typology = Typology.SEMANTIC) -> list[str]:
    return [one.body_text for one in await memory.list(tier=Tier.PERSISTENT, typology=typology)]


async def test_what_a_user_said_is_recalled_by_meaning_at_once(ada: UserMemory) -> None:
    await ada.add("I'm allergic to peanuts.")
    found = await ada.search("what can she eat?")
    assert "peanuts" in found[0].entry.body_text
    assert {hit.standing for hit in found} == {Standing.SAID, Standing.FACT}
    assert "[said, user," in str(found)


async def test_greetings_do_not_outrank_what_was_told(ada: UserMemory) -> None:
    await ada.add("I'm allergic to peanuts.")
    await ada.add(
        [{"role": role, "content": text} for role, text in (
            ("user", "hello"), ("assistant", "Hi! How can I help?"), ("user", "thanks!"),
        )]
    )  # fmt: skip
    found = await ada.search("what can she eat?", limit=2)
    assert ["peanuts" in hit.entry.body_text for hit in found] == [True, True]


async def test_a_later_word_ends_what_held_before(ada: UserMemory) -> None:
    await ada.add([at(MAY - timedelta(days=300), "I live in Hamburg.")])
    await ada.add([at(MAY + timedelta(days=30), "We moved to Berlin last month.")])
    assert await facts(ada.memory) == ["The user lives in Berlin."]
    (now,) = await ada.facts()
    (reason,) = await ada.why(now)
    assert [saying.text for saying in reason.sayings] == ["We moved to Berlin last month."]
    assert now.valid_at == datetime(2026, 5, 1, tzinfo=UTC)
    gone = [link.detail["replaced_by"] for link in await _links(ada, "invalidated")]
    assert gone == [str(now.id)]


async def _links(ada: UserMemory, transition: str) -> list[Any]:
    written = await ada.memory.recall("where does the user live?", include_archived=True, limit=20)
    found = []
    for hit in written:
        links = await ada.memory.history(hit.entry.id)
        found += [link for link in links if link.transition == transition]
    return found


async def test_what_is_over_is_a_fact_no_more(ada: UserMemory) -> None:
    await ada.add("I live in Berlin. I'm vegetarian. I have a dog.")
    await ada.add("I no longer live in Berlin. I'm not vegetarian any more. My dog died.")
    over = {
        "The user no longer lives in Berlin.",
        "The user's diet is no longer vegetarian.",
        "The user no longer has a dog.",
    }
    assert set(await facts(ada.memory)) == over
    (reason,) = await ada.why(next(f for f in await ada.facts() if "Berlin" in f.body_text))
    assert "I no longer live in Berlin." in str(reason.sayings[0].text)
    done = await ada.memory.extract(again=True)
    assert (done.decided, set(await facts(ada.memory))) == ((), over)
    await ada.add("I live in Berlin.")
    assert "The user lives in Berlin." in await facts(ada.memory)


async def test_an_end_of_what_nobody_knew_says_nothing(
    ada: UserMemory, clock: SettableClock
) -> None:
    clock.moment = MAY
    await ada.add("I live in Hamburg.")
    await ada.add("I don't live in Berlin any more. I sold my car.")
    assert await facts(ada.memory) == ["The user lives in Hamburg."]
    await ada.add([at(MAY - timedelta(days=9), "I no longer live in Hamburg.")])
    assert await facts(ada.memory) == ["The user lives in Hamburg."], "it was said again since"


async def test_a_question_about_then_gets_what_held_then(
    ada: UserMemory, clock: SettableClock
) -> None:
    clock.moment = MAY + timedelta(days=60)
    await ada.add([at(MAY - timedelta(days=400), "I live in Hamburg.")])
    await ada.add([at(MAY + timedelta(days=30), "We moved to Berlin last month.")])

    async def first_fact(question: str) -> str:
        found = await ada.search(question)
        return next(h.entry.body_text for h in found if h.standing is Standing.FACT)

    assert await first_fact("where does the user live?") == "The user lives in Berlin."
    assert (
        await first_fact("where did the user live in March 2026?") == "The user lives in Hamburg."
    )
    assert await first_fact("where did she live before Berlin?") == "The user lives in Hamburg."
    assert await first_fact("where did she live in May 2026?") == "The user lives in Berlin."
    assert "[fact until 2026-05-01, user," in str(await ada.search("home before Berlin?"))
    told = await ada.context("where did the user live in March 2026?")
    assert "until 01May" in told.text or "until 2026-05-01" in told.text


async def test_what_comes_in_late_does_not_undo_what_was_said_later(ada: UserMemory) -> None:
    await ada.add([at(MAY, "I live in Berlin.")])
    await ada.add([at(MAY - timedelta(days=90), "I live in Hamburg.")])
    assert await facts(ada.memory) == ["The user lives in Berlin."]


async def test_a_stated_fact_supersedes_and_rests_on_words(ada: UserMemory) -> None:
    first = await ada.memory.fact("Ada lives in Hamburg.", Claim("Ada", "lives_in", "Hamburg"))
    await ada.memory.fact("Ada lives in Berlin.", Claim("Ada", "lives_in", "Berlin"))
    assert await facts(ada.memory) == ["Ada lives in Berlin."]
    assert first.entry_id is not None
    then = await ada.memory.get(first.entry_id)
    assert then.invalid_at is not None
    with pytest.raises(errors.EntryNotFound, match="could rest on"):
        await ada.memory.fact("Ada has a cat.", Claim("Ada", "pet", "cat"), evidence=[uuid7()])


async def test_where_facts_grow_out_of_observations_nobody_states_one(db: Idetic) -> None:
    agent = await db.agent("framework_agent")
    memory = agent.bind(tenant_id="t", space="s", principal=Principal.operator("eve"))
    with pytest.raises(errors.WritePolicyRefused, match="does not allow stated facts"):
        await memory.fact("It is so.", Claim("it", "is", "so"))
    with pytest.raises(errors.Refused, match="no log of a conversation"):
        await memory.add("hello")


async def test_a_paste_of_50_000_characters_is_kept_whole_and_found(ada: UserMemory) -> None:
    filler = "The weather report of that day says nothing of interest at all. " * 800
    paste = f"{filler}The safe's code name is blue heron. {filler}"
    assert len(paste) > PART_MAX
    (receipt,) = await ada.add(paste)
    kept = [(await ada.memory.get(one)).body_text for one in receipt.entry_ids]
    assert "".join(kept) == paste
    (hit, *_) = await ada.search("what is the code name of the safe?")
    assert "blue heron" in hit.excerpt
    assert len(hit.excerpt) < 2000


async def test_of_a_paste_the_piece_with_the_words_is_quoted(ada: UserMemory) -> None:
    fox = "The quick brown fox jumps over the lazy dog near the river bank. " * 300
    plain = "Another plain sentence about nothing in particular goes here. " * 300
    await ada.add(f"{fox}My locker code phrase is purple umbrella. {plain}")
    (hit, *_) = await ada.search("what is the locker code phrase?")
    assert "purple umbrella" in hit.excerpt
    assert "purple umbrella" in (await ada.context("what is the locker code phrase?")).text


async def test_a_message_that_is_delivered_twice_is_kept_once(ada: UserMemory) -> None:
    told = [at(MAY, "I work as a nurse.", id="m1"), at(MAY, "Good to know.", "assistant", id="m2")]
    first = await ada.add(told)
    again = await ada.add(told)
    assert [one.replayed for one in (*first, *again)] == [False, False, True, True]
    assert [one.position for one in again] == [one.position for one in first]
    twice_at_once = await ada.add([at(MAY, "Yes.", id="m3")] * 2)
    assert [one.replayed for one in twice_at_once] == [False, True]
    by_time = [at(MAY + timedelta(minutes=1), "Tea, please.")]
    once, twice = await ada.add(by_time), await ada.add(by_time)
    assert (once[0].event_ids, twice[0].replayed) == (twice[0].event_ids, True)
    with pytest.raises(errors.IdempotencyConflict, match="and another text"):
        await ada.add([at(MAY, "I work as a pilot.", id="m1")])


async def test_silence_ends_a_conversation_and_times_say_what_belongs_to_it(
    ada: UserMemory, clock: SettableClock
) -> None:
    clock.moment = MAY + timedelta(days=2)
    (one,) = await ada.add([at(MAY, "I have a dog called Rex.")])
    (other,) = await ada.add([at(MAY + timedelta(hours=3), "My sister Anna visits.")])
    (late,) = await ada.add([at(MAY + timedelta(minutes=20), "He is three.")])
    assert one.conversation == late.conversation != other.conversation
    summaries = await ada.memory.list(tier=Tier.SESSION)
    assert {entry.session_id for entry in summaries} == {one.conversation, other.conversation}


async def test_two_tabs_at_once_lose_nothing(db: Idetic) -> None:
    tabs = [await user(db), await user(db)]
    async with anyio.create_task_group() as group:
        for number, tab in enumerate(tabs):
            for turn in range(5):
                group.start_soon(tab.add, f"I like number {number * 100 + turn}.")
    found = await tabs[0].memory.list(tier=Tier.PERSISTENT, typology=Typology.EPISODIC)
    assert len(found) == 10
    assert len({entry.session_id for entry in found}) == 1


async def test_forgetting_a_user_leaves_nothing_and_the_other_untouched(
    db: Idetic, database: TestDatabase
) -> None:
    ada, eve = await user(db, "ada"), await user(db, "eve")
    await ada.add("I live in Quixhaven.")
    await eve.add("I live in Norwich.")
    receipt = await ada.forget(reason="she asked for it")
    assert receipt.found
    assert not (await ada.search("where does she live?")).hits
    assert (await ada.profile()).text == "Nothing is known about this user yet."
    assert await facts(eve.memory) == ["The user lives in Norwich."]
    with psycopg.connect(database.admin_dsn) as admin:
        rows = admin.execute("SELECT content FROM assistant.assistant_agent_log").fetchall()
    assert [row[0] for row in rows if "Quixhaven" in row[0]] == []


async def test_a_profile_has_facts_and_wishes_within_its_budget(ada: UserMemory) -> None:
    await ada.add("I'm allergic to peanuts. From now on, answer briefly. I like hiking.")
    whole = await ada.profile()
    assert [len(some) for some in (whole.facts, whole.preferences)] == [2, 1]
    assert whole.text == (await ada.profile()).text
    small = await ada.profile(budget=120)
    assert small.tokens <= 120
    assert len(small.left_out) >= 1
    assert "answer briefly" in small.text
    assert "Wishes" in str(whole)


async def test_another_run_brings_nothing_and_undone_facts_stay_undone(ada: UserMemory) -> None:
    await ada.add("I live in Hamburg. I like hiking.")
    (one, *_) = [e for e in await ada.facts() if "Hamburg" in e.body_text]
    await ada.memory.archive(one.id, reason="it was a joke")
    before = await ada.memory.history(one.id)
    done = await ada.memory.extract(again=True)
    assert (done.turns, done.claims, done.decided) == (1, 0, ())
    assert await ada.memory.history(one.id) == before
    assert await facts(ada.memory) == ["The user likes hiking."]


async def test_a_dry_run_of_another_extractor_shows_the_difference(db: Idetic) -> None:
    ada = await user(db)
    await ada.add("I live in Hamburg. I like hiking.")

    class Picky(RuleExtractor):
        version = "picky"

        async def extract(self, turns: Any) -> Any:
            found = await super().extract(turns)
            kept = tuple(c for c in found.claims if "hiking" not in c.text)
            return type(found)(kept)

    @asynccontextmanager
    async def picky() -> AsyncIterator[Picky]:
        yield Picky()

    db.extractor = picky
    again = await user(db)
    shown = await again.memory.extract(again=True, dry_run=True)
    assert [(one.brought, one.claim.attribute) for one in shown.changes] == [
        (False, "likes:hiking")
    ]
    assert len(await facts(again.memory)) == 2
    await again.memory.extract(again=True)
    assert await facts(again.memory) == ["The user lives in Hamburg."]


async def test_what_another_turn_still_says_is_not_let_go(
    db: Idetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "BATCH", 1)
    ada = await user(db)
    await ada.add("I like hiking.")
    await ada.add("I still like hiking.")

    class Deaf(RuleExtractor):
        version = "deaf"

        async def extract(self, turns: Any) -> Any:
            return await super().extract([one for one in turns if one.text != "I like hiking."])

    @asynccontextmanager
    async def deaf() -> AsyncIterator[Deaf]:
        yield Deaf()

    db.extractor = deaf
    again = await user(db)
    assert (await again.memory.extract(again=True)).changes == ()
    assert await facts(again.memory) == ["The user likes hiking."]


async def test_a_sweep_finds_what_nobody_has_read_yet(db: Idetic) -> None:
    ada = await user(db)
    await ada.memory.add("I like hiking.")
    assert await unread_turns(db) == 1
    await ada.memory.extract()
    assert await facts(ada.memory) == ["The user likes hiking."]


async def test_a_killed_extraction_goes_on_and_nothing_comes_twice(
    db: Idetic, database: TestDatabase
) -> None:
    ada = await user(db)
    told = [at(MAY + timedelta(minutes=n), f"I am allergic to pollen{n}.") for n in range(TURNS)]
    await ada.memory.add(told)
    command = [sys.executable, "-c", _EXTRACTING, database.dsn, database.admin_dsn]
    cut_short = 0
    for kill in range(KILLS):
        running = await anyio.open_process(command, stdout=PIPE, stderr=None)
        assert running.stdout is not None
        assert (await running.stdout.receive()).strip() == b"begins"
        await anyio.sleep(0.02 + 0.02 * kill)
        cut_short += running.returncode is None
        with suppress(ProcessLookupError):
            running.kill()
        await running.aclose()
    assert cut_short > KILLS // 2, "control: it was killed at its work"
    await ada.memory.extract()
    found: list[str] = []
    before = None
    while page := await ada.memory.list(
        tier=Tier.PERSISTENT, typology=Typology.SEMANTIC, limit=1000, before=before
    ):
        found += [one.body_text for one in page]
        before = page[-1].id
    assert len(found) == len(set(found)) == TURNS


_EXTRACTING = """
import sys, anyio
from idetic import Idetic, Principal

async def main():
    async with Idetic.open(sys.argv[1], admin_dsn=sys.argv[2]) as db:
        agent = await db.agent("assistant_agent")
        who = Principal.maintenance("worker")
        memory = agent.bind(tenant_id="default", user_id="ada", principal=who)
        print("begins", flush=True)
        await memory.extract()

anyio.run(main)
"""
