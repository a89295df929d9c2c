"""What a process reads of an anchor for itself, where nobody makes a word index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from idetic import Idetic, Observation, Principal, Subject
from idetic.library.handles import Memory
from idetic.store import kept_anchors, word_index
from idetic.store.kept_anchors import KeptAnchor
from idetic.store.recall_query import Recalls
from idetic.store.scope import anchor_of
from tests.conftest import TestDatabase
from tests.integration.test_word_index import (
    ENTRIES,
    QUESTIONS,
    Clustered,
    asked,
    both,
    bound,
    ids,
    notes,
    rarity,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=Clustered())
    async with opened as db:
        yield db


async def told(db: Idetic, count: int, fusion: str = "weighted_score") -> Memory:
    """An anchor of some sessions with vectors, asked once, and no index."""
    memory = await bound(db, fusion)
    writer = memory.agent.bind(user_id="ada", principal=Principal.agent("listener"))
    texts = notes(count)
    for first in range(0, count, 150):
        session = await writer.session().open()
        await session.observe_many([Observation(text) for text in texts[first : first + 150]])
    await memory.embed()
    await memory.recall("babada")
    return memory


def recalls_of(memory: Memory) -> Recalls:
    return memory.agent.engine.recall.recalls


def kept_of(memory: Memory) -> KeptAnchor:
    kept = recalls_of(memory)._kept
    assert kept is not None
    return kept._anchors[anchor_of(memory.scope)]


def operator(memory: Memory) -> Memory:
    return memory.agent.bind(user_id="ada", principal=Principal.operator("eve"))


async def written(memory: Memory, *texts: str) -> list[Any]:
    writer = memory.agent.bind(user_id="ada", principal=Principal.agent("listener"))
    session = await writer.session().open()
    done = await session.observe_many([Observation(text) for text in texts])
    return [receipt.entry_id for receipt in done]


@pytest.mark.parametrize("fusion", ["weighted_score", "rrf"])
async def test_an_anchor_without_an_index_is_read_once_and_answers_the_same(
    db: Idetic, fusion: str
) -> None:
    memory, shared = await told(db, ENTRIES, fusion), 0
    for question in asked(notes(ENTRIES)):
        new, old = await both(memory, question)
        assert new.considered == old.considered == ENTRIES
        assert rarity(new) == pytest.approx(rarity(old))
        assert new.known == pytest.approx(old.known, abs=0.001)
        shared += len(set(ids(new)) & set(ids(old)))
    # What is kept of a vector loses a millionth, by which two that are as near may change ranks.
    assert shared >= 10 * QUESTIONS - 2
    assert [len(one.members) for one in kept_of(memory).own] == [ENTRIES]


async def test_a_few_entries_are_read_with_each_question(db: Idetic) -> None:
    memory = await told(db, 40)
    for question in asked(notes(ENTRIES))[:3]:
        assert (await memory.recall(question)).considered == 40
    kept = recalls_of(memory)._kept
    assert kept is None or not kept._anchors


async def test_what_is_written_later_is_found_at_once_and_joins_what_was_read(db: Idetic) -> None:
    memory = await told(db, 400)
    await memory.recall("babada")
    (zeppelin,) = await written(memory, "The zeppelin landed behind the lighthouse.")
    new, old = await both(memory, "Where did the zeppelin land?")
    assert new.considered == old.considered == 401
    assert ids(new)[0] == ids(old)[0] == zeppelin
    assert [len(one.members) for one in kept_of(memory).own] == [400], "one is read with a question"
    await written(memory, *(f"Airship {n} is late." for n in range(60)))
    for _ in range(2):
        new, old = await both(memory, "Which airship is late?")
        assert new.considered == old.considered == 461
    assert sum(len(one.members) for one in kept_of(memory).own) == 461


async def test_what_changes_is_read_again_for_the_very_next_question(db: Idetic) -> None:
    memory = await told(db, 400)
    question = asked(notes(400))[3]
    new, _ = await both(memory, question)
    await operator(memory).archive(ids(new)[0], reason="no longer so")
    after, old = await both(memory, question)
    assert ids(new)[0] not in ids(after)
    assert after.considered == old.considered == 399
    assert rarity(after) == pytest.approx(rarity(old)), "its words count no more"
    assert ids(after) == ids(old)


async def test_an_index_that_is_made_meanwhile_takes_its_place(
    db: Idetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "INDEXED_FROM", 300)
    memory = await told(db, 400)
    await memory.recall("babada")
    assert not kept_of(memory).segments
    assert (await memory.index_words()).segments == 1
    await both(memory, "babada")
    assert (len(kept_of(memory).segments), list(kept_of(memory).own)) == (1, [])


async def test_what_waits_behind_an_index_is_read_too(
    db: Idetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "INDEXED_FROM", 300)
    memory = await told(db, 400)
    await memory.index_words()
    await memory.recall("babada")
    await written(memory, *(f"Zeppelin {n} of {text}" for n, text in enumerate(notes(60))))
    for question in ("Which zeppelin?", *asked(notes(400))[:5]):
        new, old = await both(memory, question)
        assert new.considered == old.considered == 460
        assert len(set(ids(new)) & set(ids(old))) >= 9
    kept = kept_of(memory)
    assert (len(kept.segments), [len(one.members) for one in kept.own]) == (1, [60])
    # An entry of the index has changed: its segment is the job's, and nothing is lost meanwhile.
    gone = ids(new)[0]
    await operator(memory).archive(gone, reason="no longer so")
    after, old = await both(memory, asked(notes(400))[4])
    assert gone not in ids(after)
    assert after.considered == old.considered == 459


async def test_a_chain_that_is_too_long_is_left_to_the_job(
    db: Idetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_anchors, "MOST_OWN", 100)
    monkeypatch.setattr(word_index, "INDEXED_FROM", 300)
    memory = await told(db, 400)
    for _ in range(3):
        assert (await memory.recall("babada")).considered == 400
    kept = recalls_of(memory)._kept
    assert kept is not None
    assert not kept._anchors
    assert (await memory.index_words()).segments == 1
    for _ in range(2):
        await memory.recall("babada")
    assert len(kept_of(memory).segments) == 1, "once there is an index, it is found"


async def test_stretches_grow_until_they_are_full(
    db: Idetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "SEGMENT", 300)
    memory = await told(db, ENTRIES)
    shared = []
    for question in asked(notes(ENTRIES))[:QUESTIONS]:
        new, old = await both(memory, question)
        assert new.considered == old.considered == ENTRIES
        shared.append(len(set(ids(new)) & set(ids(old))) / 10)
    assert sum(shared) / len(shared) >= 0.97, "neighbours beyond a stretch are not in its counts"
    kept = kept_of(memory)
    assert len(kept.own) == 3
    assert [one.after for one in kept.own][1:] == [one.through for one in kept.own][:-1]


async def test_no_word_of_somebody_is_left_in_the_process_after_an_erasure(db: Idetic) -> None:
    memory = await told(db, 200)
    await written(memory, "Zora Quell collects stamps of the northern islands.")
    await written(memory, *notes(60))
    await memory.recall("stamps")
    words = {word for one in kept_of(memory).own for word in one.words}
    assert {"zora", "quell"} <= words, "it was kept, or its absence would say nothing"
    done = await operator(memory).erase(Subject(["Zora Quell"]), reason="request 17")
    assert len(done.entries) == 1
    for _ in range(3):
        await memory.recall("stamps")
    words = {word for one in kept_of(memory).own for word in one.words}
    assert words
    assert not {"zora", "quell", "stamp"} & words


@pytest.mark.parametrize("believed", [False, True], ids=["as it is", "control"])
async def test_what_a_process_read_itself_is_nobody_elses(
    db: Idetic, monkeypatch: pytest.MonkeyPatch, *, believed: bool
) -> None:
    """Under another anchor the chain is not there that it was read from."""
    memory = await told(db, 200)
    await memory.recall("babada")
    other = memory.agent.bind(user_id="ben", principal=Principal.agent("listener"))
    kept = recalls_of(memory)._kept
    assert kept is not None
    kept._anchors[anchor_of(other.scope)] = kept_of(memory)
    if believed:
        monkeypatch.setattr(KeptAnchor, "stands", lambda *_: True)
    found = await other.recall("babada")
    assert list(found.hits) == []
    assert found.considered == (200 if believed else 0)
