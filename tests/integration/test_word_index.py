"""The word index: what it nominates is what reading everything finds, and it stays true."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
import yaml

from idetic import Idetic, Observation, Principal, Subject
from idetic.embed.port import EmbeddingModel
from idetic.jobs.handlers import HANDLERS, unindexed_words
from idetic.library.handles import Memory
from idetic.recall.hits import Recall
from idetic.spec.interview import build
from idetic.spec.primitives import Signal
from idetic.store import nomination, nomination_statements, word_index
from idetic.store.driver import Rows
from idetic.store.recall_query import RecallQuery
from idetic.store.word_index import Segment, WordIndex, planned
from tests.conftest import TestDatabase
from tests.support.triggers import without_triggers

pytestmark = pytest.mark.anyio

ENTRIES, QUESTIONS = 800, 16
WORDS = "listener.listener_memory_words"
SEGMENTS = "listener.listener_memory_segments"
_PARTS = "ba ce di fo gu la me ni po ru sta tre vi wo".split()


class Clustered:
    """Vectors in twelve clusters, by a text's first word: near and far as a model's are."""

    profile = EmbeddingModel("clustered", 384, 512, "fp32", "clustered", "clustered")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return np.array([_vector(text.rpartition(": ")[2]) for text in texts], np.float32)


def _vector(text: str) -> Any:
    own = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(384)
    group = sum(text.split(maxsplit=1)[0].encode()) % 12
    centre = np.random.default_rng(group).standard_normal(384)
    made = 0.7 + 0.5 * centre + 0.55 * own
    return made / np.linalg.norm(made)


def notes(count: int) -> list[str]:
    """Notes of eight to twenty words, some frequent and most rare."""
    chance = np.random.default_rng(5)
    words = [a + b + c for a in _PARTS for b in _PARTS for c in _PARTS]
    frequency = 1 / np.arange(20, len(words) + 20)
    drawn = chance.choice(len(words), (count, 20), p=frequency / frequency.sum())
    lengths = chance.integers(8, 21, count)
    return [
        " ".join(words[w] for w in row[:n]) + "." for row, n in zip(drawn, lengths, strict=True)
    ]


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "INDEXED_FROM", 300)
    monkeypatch.setattr(word_index, "SEGMENT", 300)
    monkeypatch.setattr(word_index, "WAITING", 50)
    monkeypatch.setattr(nomination_statements, "WALKED_FROM", 300)


def spec(fusion: str = "weighted_score") -> dict[str, Any]:
    said = {"agent": "listener", "anchor.keys": "user_id:text", "retrieval.fusion": fusion}
    data: dict[str, Any] = yaml.safe_load(build(said))
    return data


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=Clustered())
    async with opened as db:
        yield db


@pytest.fixture
async def memory(db: Idetic) -> Memory:
    """An anchor of some sessions, all open, with vectors and a word index."""
    return await filled(db, notes(ENTRIES))


async def bound(db: Idetic, fusion: str = "weighted_score", user: str = "ada") -> Memory:
    agent = await db.agent(spec(fusion), apply=True)
    return agent.bind(user_id=user, principal=Principal.maintenance("keeper"))


async def filled(db: Idetic, texts: Sequence[str], each: int = 150) -> Memory:
    memory = await bound(db)
    writer = memory.agent.bind(user_id="ada", principal=Principal.agent("listener"))
    for first in range(0, len(texts), each):
        session = await writer.session().open()
        await session.observe_many([Observation(text) for text in texts[first : first + each]])
    await memory.embed()
    await memory.index_words()
    return memory


async def both(memory: Memory, question: str, **filters: Any) -> tuple[Recall, Recall]:
    """The answer through the word index, and the one that reads every entry."""
    served: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        made = nomination.nominate

        def spied(*given: Any, **more: Any) -> Any:
            found = made(*given, **more)
            served.append(given[3] is not None)
            return found

        patch.setattr(nomination, "nominate", spied)
        new = await memory.recall(question, limit=10, **filters)
    assert served == [True], "the index was asked, and served"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecallQuery, "current", False)
        return new, await memory.recall(question, limit=10, **filters)


def rarity(recall: Recall) -> dict[str, float]:
    assert recall.grounds is not None
    return dict(recall.grounds.rarity or {})


def ids(recall: Recall) -> list[UUID]:
    return [hit.entry.id for hit in recall]


def asked(texts: Sequence[str]) -> list[str]:
    return [" ".join(text.rstrip(".").split()[:5]) for text in texts[:: ENTRIES // QUESTIONS]]


def words(database: TestDatabase, *like: str) -> int:
    query = f"SELECT count(*) FROM {WORDS} WHERE lexeme ILIKE ANY (%s)"  # noqa: S608
    with psycopg.connect(database.admin_dsn) as connection:
        row = connection.execute(query.encode(), ([f"%{one}%" for one in like],)).fetchone()
    return row[0] if row else 0


@pytest.mark.parametrize("fusion", ["weighted_score", "rrf"])
async def test_what_is_nominated_is_what_reading_everything_finds(
    db: Idetic, memory: Memory, fusion: str
) -> None:
    memory = await bound(db, fusion)
    shared = []
    for question in asked(notes(ENTRIES)):
        new, old = await both(memory, question)
        assert new.considered == old.considered == ENTRIES
        assert new.hits[0].signals.keys() == old.hits[0].signals.keys()
        assert new.hits[0].score == pytest.approx(old.hits[0].score, rel=0.02)
        # Neighbours beyond a segment are not in its counts.
        assert rarity(new) == pytest.approx(rarity(old), abs=0.2)
        assert new.known == pytest.approx(old.known, abs=0.02)
        shared.append(len(set(ids(new)) & set(ids(old))) / 10)
    # Which entries are in the sample that says what is near by chance changes with their ids, from
    # run to run; over more questions 0.99 holds (bench.anchor).
    assert sum(shared) / len(shared) >= 0.97, shared


async def test_a_date_in_the_question_nominates_what_lies_within_it(memory: Memory) -> None:
    new, old = await both(memory, "what about babada today")
    assert new.dates == old.dates == ("today",)
    assert len(set(ids(new)) & set(ids(old))) >= 9


async def test_what_is_new_is_found_before_it_is_indexed(memory: Memory) -> None:
    session = (
        await memory.agent.bind(user_id="ada", principal=Principal.agent("listener"))
        .session()
        .open()
    )
    receipt = await session.observe("The zeppelin landed behind the lighthouse.")
    new, old = await both(memory, "Where did the zeppelin land?")
    assert receipt.entry_id in ids(new)
    assert len(set(ids(new)) & set(ids(old))) >= 8
    assert new.considered == old.considered == ENTRIES + 1
    assert rarity(new) == pytest.approx(rarity(old), abs=0.2)


async def test_the_job_indexes_what_waits_and_only_that(db: Idetic, memory: Memory) -> None:
    assert (await memory.index_words()).segments == 0, "nothing has been written since"
    writer = memory.agent.bind(user_id="ada", principal=Principal.agent("listener"))
    session = await writer.session().open()
    await session.observe_many([Observation(f"Zeppelin number {n} is late.") for n in range(60)])
    assert await unindexed_words(db) == 1
    done = await HANDLERS["index_words"](db, "listener", {"user_id": "ada"})
    assert done == {"segments": 1}, "the last one, which was not full"
    assert await unindexed_words(db) == 0
    new, old = await both(memory, "Which zeppelin is late?")
    assert new.considered == old.considered == ENTRIES + 60
    assert len(set(ids(new)) & set(ids(old))) >= 8, "sixty alike differ by their age alone"


async def test_what_is_no_longer_visible_leaves_the_index(
    db: Idetic, database: TestDatabase, memory: Memory
) -> None:
    question = asked(notes(ENTRIES))[3]
    new, _ = await both(memory, question)
    operator = memory.agent.bind(user_id="ada", principal=Principal.operator("eve"))
    await operator.archive(ids(new)[0], reason="no longer so")
    after, old = await both(memory, question)
    assert ids(new)[0] not in ids(after)
    # Until the segment is made anew, its counts have the word of what was archived.
    assert len(set(ids(after)) & set(ids(old))) >= 9
    assert len((await memory.reconcile()).misindexed) == 1
    assert (await memory.index_words()).segments == 1
    assert (await memory.reconcile()).misindexed == ()
    again, _ = await both(memory, question)
    assert again.considered == ENTRIES - 1


@pytest.mark.parametrize("kept", [False, True], ids=["dropped", "kept as evidence"])
async def test_the_close_of_a_session_takes_its_words_out(
    db: Idetic, database: TestDatabase, kept: bool
) -> None:
    """At once with what is dropped; with what a candidate rests on, when the index follows."""
    said = spec()
    if not kept:
        alone = {"cell": "episodic_transient", "set": {"candidates": ["claim"]}}
        why = {"justification": "Nothing waits here to be said again."}
        said["promotion"] = {"deviations": [alone | why]}
    agent = await db.agent(said, apply=True)
    writer = agent.bind(user_id="ada", principal=Principal.agent("listener"))
    memory = agent.bind(user_id="ada", principal=Principal.maintenance("keeper"))
    session = await writer.session().open()
    await session.observe_many([Observation(f"Zeppelin {n} hums a tune.") for n in range(320)])
    await memory.index_words()
    assert words(database, "zeppelin") > 0
    await session.close()
    if not kept:
        assert words(database, "zeppelin") == 0
    await memory.index_words()
    assert words(database, "zeppelin") == 0
    assert (await memory.reconcile()).misindexed == ()


async def test_no_word_of_somebody_is_left_after_an_erasure(
    db: Idetic, database: TestDatabase
) -> None:
    texts = notes(400)
    texts[100] = "Zora Quell collects stamps of the northern islands."
    memory = await filled(db, texts)
    assert words(database, "zora", "quell") == 2
    assert words(database, "stamp", "island") >= 2
    operator = memory.agent.bind(user_id="ada", principal=Principal.operator("eve"))
    done = await operator.erase(Subject(["Zora Quell"]), reason="request 17")
    assert len(done.entries) == 1
    assert words(database, "zora", "quell", "stamp", "island") == 0
    new, old = await both(memory, asked(texts)[1])
    assert len(set(ids(new)) & set(ids(old))) >= 9, "what the segment held is read anew"
    assert (await memory.index_words()).segments == 1
    assert words(database, "zora", "quell", "stamp", "island") == 0
    assert words(database, *texts[99].rstrip(".").split()[:1]) >= 1, "its neighbours are back"
    assert (await memory.reconcile()).misindexed == ()


async def test_a_block_that_somebody_altered_is_found_and_made_anew(
    database: TestDatabase, memory: Memory
) -> None:
    assert (await memory.reconcile()).misindexed == ()
    with psycopg.connect(database.admin_dsn) as connection:
        without_triggers(connection)
        row = connection.execute(
            f"UPDATE {WORDS} SET postings = substring(postings FROM 5) "  # noqa: S608
            f"WHERE ctid = (SELECT min(ctid) FROM {WORDS}) RETURNING segment_id"
        ).fetchone()
    assert row
    assert (await memory.reconcile()).misindexed == row
    assert (await memory.index_words(anew=True)).segments > 2
    assert (await memory.reconcile()).misindexed == ()


async def test_a_build_that_is_killed_midway_costs_no_hit(
    database: TestDatabase, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = WordIndex._rows
    calls: list[str] = []

    async def killed(self: WordIndex, scope: Any, query: str, **values: Any) -> Rows:
        calls.append(query)
        if calls.count("index") > 1:
            raise SystemExit
        return await made(self, scope, query, **values)

    with psycopg.connect(database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute(f"DELETE FROM {WORDS}; DELETE FROM {SEGMENTS}")  # noqa: S608
    monkeypatch.setattr(WordIndex, "_rows", killed)
    with pytest.raises(SystemExit):
        await memory.index_words()
    monkeypatch.setattr(WordIndex, "_rows", made)
    for question in asked(notes(ENTRIES))[:5]:
        new, old = await both(memory, question)
        assert new.considered == old.considered == ENTRIES
        assert len(set(ids(new)) & set(ids(old))) >= 9
    assert (await memory.index_words()).segments > 1
    assert (await memory.reconcile()).misindexed == ()


async def test_an_index_made_anew_between_the_round_trips_costs_no_hit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, tried = asked(notes(ENTRIES))[2], 0
    database = memory.agent.engine.recall.recalls.database
    read = database.read_each

    async def changed(*given: Any, **more: Any) -> list[Rows]:
        nonlocal tried
        tried += 1
        found = await read(*given, **more)
        if tried == 1:
            await memory.index_words(anew=True)
        return found

    monkeypatch.setattr(database, "read_each", changed)
    new, old = await both(memory, question)
    assert tried == 2, "once for each answer"
    assert ids(new) == ids(old)


@pytest.mark.parametrize(
    "filters",
    [
        {"tiers": ["session"]},
        {"tiers": ["persistent"]},
        {"typologies": ["episodic"]},
        {"min_trust": 1},
        {"origins": ["operator"]},
    ],
)
async def test_a_narrowed_question_finds_the_same_through_the_index(
    memory: Memory, filters: dict[str, Any]
) -> None:
    operator = memory.agent.bind(user_id="ada", principal=Principal.operator("eve"))
    for text in notes(ENTRIES)[5:9]:
        await operator.prefer(f"Prefer {text}")
    await memory.embed()
    for question in asked(notes(ENTRIES))[:3]:
        new, old = await both(memory, question, **filters)
        assert new.considered == old.considered
        assert ids(new) == ids(old)


@pytest.mark.parametrize("indexed", [True, False])
async def test_what_lies_in_a_small_cell_is_compared_beside_a_walk(
    memory: Memory, indexed: bool
) -> None:
    operator = memory.agent.bind(user_id="ada", principal=Principal.operator("eve"))
    texts = notes(ENTRIES)[5:9]
    for text in texts:
        await operator.prefer(f"Prefer {text}")
    await memory.embed()
    if indexed:
        await memory.index_words(anew=True)
    for text in texts:
        new, old = await both(memory, f"Prefer {text}")
        assert len(set(ids(new)) & set(ids(old))) >= 9
        nearest = max(new, key=lambda hit: hit.similarity or 0.0)
        assert nearest.entry.body_text == f"Prefer {text}"


async def test_a_walk_that_meets_too_few_gives_way_to_every_vector(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where other anchors fill a cell, and HNSW gives but a few of this one's."""
    few = {"hnsw.ef_search": "10", "hnsw.max_scan_tuples": "1"}
    monkeypatch.setattr(nomination_statements.Reading, "settings", few)
    # How few a walk meets changes with the entries' ids, from run to run: here each is too few.
    monkeypatch.setattr(
        nomination, "_is_sparse", lambda _query, found, _kept: any("walked" in one for one in found)
    )
    recalls = memory.agent.engine.recall.recalls
    for question in asked(notes(ENTRIES))[:3]:
        new, old = await both(memory, question)
        assert ids(new) == ids(old)
        nearness = [hit.similarity for hit in old]
        assert [hit.similarity for hit in new] == pytest.approx(nearness, rel=1e-5)
    assert recalls._kept is not None
    assert [kept.reading.walked for kept in recalls._kept._anchors.values()] == [()]


async def test_an_anchor_with_nothing_left_answers_nothing(db: Idetic) -> None:
    memory = await filled(db, notes(400), each=400)
    operator = memory.agent.bind(user_id="ada", principal=Principal.operator("eve"))
    await operator.erase_anchor(reason="request 18")
    for _ in range(2):
        found = await memory.recall("babada")
        assert (len(found), found.considered) == (0, 0)
        await memory.index_words(anew=True)


async def test_a_small_anchor_is_read_as_a_whole(db: Idetic) -> None:
    memory = await filled(db, notes(20))
    assert (await memory.index_words()).segments == 0
    question = asked(notes(20))[0]
    assert len(await memory.recall(question)) == 10


def test_segments_are_planned_so_that_every_link_is_covered_once() -> None:
    full = [Segment(0, 300), Segment(300, 600)]
    assert planned([], 700) == [*full, Segment(600, 700)]
    assert planned(full, 649) == []
    assert planned(full, 650) == [Segment(600, 650)]
    assert planned([full[0], Segment(300, 400)], 550) == [Segment(300, 550)]
    assert planned([full[1]], 600) == [full[0]]
    stale = [Segment(0, 300, stale=True), Segment(300, 400)]
    assert planned(stale, 450) == [stale[0], Segment(300, 450)]
    assert planned([full[0], Segment(300, 400, stale=True)], 450) == [Segment(300, 450)]


async def test_a_session_that_goes_on_in_the_next_segment_is_one_place(db: Idetic) -> None:
    """What stands near a hit gains by it, wherever the segments were cut: here after 300 links."""
    texts = notes(500)
    memory = await filled(db, texts, each=250)
    for text in texts[255:295:5]:
        new, old = await both(memory, " ".join(text.split()[:5]))
        gained = [[hit.signals[Signal.NEARBY].value for hit in each] for each in (new, old)]
        assert gained[0] == pytest.approx(gained[1], rel=0.05), text
