"""What a process keeps of an anchor: nobody else's questions see it, and an erasure drops it."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from idetic import Idetic, Observation, Principal, Subject, engine, errors, folding
from idetic.library.handles import Memory
from idetic.store import recall_query
from idetic.store.kept_anchors import KeptAnchor, KeptSegments
from idetic.store.recall_query import Recalls
from idetic.store.scope import anchor_of
from tests.conftest import TestDatabase, World, make_world
from tests.support.fake_embedder import FakeEmbedder

pytestmark = pytest.mark.anyio

MANY = 320
NAMED = "Zora Quell signs for the desk."
ZORA = Subject("Zora Quell")


@asynccontextmanager
async def process(database: TestDatabase) -> AsyncIterator[Idetic]:
    """Idetic as one process has it: what is kept belongs to this."""
    options: dict[str, Any] = {"admin_dsn": database.admin_dsn, "embedder": FakeEmbedder()}
    async with Idetic.open(database.dsn, **options) as db:
        yield db


async def filled(db: Idetic) -> World:
    """A world with so much in it that it has a word index."""
    world = await make_world(db, await db.agent("world_agent"))
    session = await world.memory.session().open()
    notes = [NAMED, *(f"Note {number} of the desk." for number in range(MANY))]
    await session.observe_many([Observation(note) for note in notes])
    keeper = world.bind(Principal.maintenance("keeper"))
    await keeper.embed()
    await keeper.index_words()
    return world


def recalls_of(memory: Memory) -> Recalls:
    return memory.agent.engine.recall.recalls


async def asked(memory: Memory) -> int:
    """Two questions: vectors are read beside the second. How many entries were considered."""
    await memory.recall("who signs for the desk?")
    return (await memory.recall("who signs for the desk?")).considered


def kept_of(memory: Memory) -> KeptAnchor | None:
    kept = recalls_of(memory)._kept
    return None if kept is None else kept._anchors.get(anchor_of(memory.scope))


def keeps(memory: Memory, entry: bytes) -> bool:
    """Whether an entry is among what the process keeps, itself or by its vector."""
    if (kept := kept_of(memory)) is None:
        return False
    ids = [kept.whole.ids, *(each.vectors.ids for each in kept.vectors.values() if each.vectors)]
    return any(entry in found.tobytes() for found in ids)


@pytest.mark.parametrize("forgets", [True, False], ids=["as it is", "control"])
async def test_what_was_erased_is_not_left_in_the_process(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, *, forgets: bool
) -> None:
    """In another process it is until that one is asked about the anchor again, as the page says."""
    async with process(database) as here, process(database) as there:
        world = await filled(here)
        anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
        elsewhere = (await there.agent("world_agent")).bind(
            principal=Principal.operator("ada"), **anchor
        )
        (entry,) = [e for e in await world.operator.list(limit=1000) if e.body_text == NAMED]
        for memory in (world.operator, elsewhere):
            await asked(memory)
            assert keeps(memory, entry.id.bytes), "it was kept, or its absence would say nothing"
        # The second stands for another process, which an erasure here does not reach.
        monkeypatch.setattr(recall_query, "_KEEPERS", [recalls_of(world.operator)._kept])
        if not forgets:
            monkeypatch.setattr(Recalls, "forget", lambda *_: None)
        assert (await world.operator.erase(ZORA, reason="request 17")).entries == (entry.id,)
        assert keeps(world.operator, entry.id.bytes) is not forgets
        assert keeps(elsewhere, entry.id.bytes)
        await asked(elsewhere)
        assert not keeps(elsewhere, entry.id.bytes)


@pytest.mark.parametrize("believed", [False, True], ids=["as it is", "control"])
async def test_what_is_kept_under_the_wrong_anchor_is_nobodys(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, *, believed: bool
) -> None:
    """Each question asks the database which segments there are: what it does not name is gone."""
    async with process(database) as db:
        world = await filled(db)
        considered = await asked(world.operator)
        assert considered > MANY
        other = await make_world(db, world.agent)
        kept, mine = recalls_of(world.operator)._kept, kept_of(world.operator)
        assert kept is not None
        assert mine is not None
        kept._anchors[anchor_of(other.operator.scope)] = mine
        if believed:
            monkeypatch.setattr(KeptAnchor, "stands", lambda *_: True)
        found = await other.operator.recall("who signs for the desk?")
        assert list(found.hits) == [], "rows are the database's to give, whatever is kept"
        assert found.considered == (considered if believed else 0)
        if not believed:
            assert kept_of(other.operator) is None


@pytest.mark.parametrize("counts", [True, False], ids=["as it is", "control"])
async def test_a_question_under_way_brings_back_nothing_that_was_erased(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, *, counts: bool
) -> None:
    """It reads the segments, somebody erases, and it ends before it could ask for them anew."""
    async with process(database) as db:
        world = await filled(db)
        (entry,) = [e for e in await world.operator.list(limit=1000) if e.body_text == NAMED]
        here = recalls_of(world.operator).database
        run, overtaken = here.run, False

        async def late(scope: Any, statement: Any, values: Any = None, **more: Any) -> Any:
            """The segments arrive after somebody has erased what they hold."""
            nonlocal overtaken
            rows = await run(scope, statement, values or {}, **more)
            if not overtaken and "kept" in (values or {}):
                overtaken = True
                await world.operator.erase(ZORA, reason="request 17")
            return rows

        async def busy(*_: Any, **__: Any) -> Any:
            raise errors.Busy

        if not counts:
            monkeypatch.setattr(KeptSegments, "forget", lambda kept, a: kept._anchors.pop(a, None))
        with monkeypatch.context() as there:
            there.setattr(here, "run", late)
            there.setattr(here, "read_each", busy)
            with pytest.raises(errors.Busy):
                await world.operator.recall("who signs for the desk?")
        assert overtaken
        assert keeps(world.operator, entry.id.bytes) is not counts


@pytest.mark.parametrize("known", [True, False], ids=["as it is", "control"])
async def test_what_another_agent_of_the_process_keeps_goes_too(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    """Whoever opens the agent once more has an engine of its own, in the same process."""
    async with process(database) as db:
        world = await filled(db)
        (entry,) = [e for e in await world.operator.list(limit=1000) if e.body_text == NAMED]
        anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
        again = (await db.agent("world_agent")).bind(principal=Principal.operator("ada"), **anchor)
        for memory in (world.operator, again):
            await asked(memory)
            assert keeps(memory, entry.id.bytes)
        if not known:
            monkeypatch.setattr(recall_query, "_KEEPERS", [recalls_of(world.operator)._kept])
        await world.operator.erase(ZORA, reason="request 17")
        assert not keeps(world.operator, entry.id.bytes)
        assert keeps(again, entry.id.bytes) is not known


def is_folded(text: str) -> bool:
    """Whether a text is among those whose bare words this process keeps."""
    return any(text in repr(kept) for kept in gc.get_referents(folding.words))


@pytest.mark.parametrize("forgets", [True, False], ids=["as it is", "control"])
async def test_texts_that_were_compared_go_with_an_erasure(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, *, forgets: bool
) -> None:
    if not forgets:
        kept = SimpleNamespace(words=SimpleNamespace(cache_clear=lambda: None))
        monkeypatch.setattr(engine, "folding", kept)
    async with process(database) as db:
        world = await make_world(db, await db.agent("world_agent"))
        async with world.memory.session() as session:
            await session.observe(NAMED)
            await session.context("who signs for the desk?")
            await session.observe("Somebody else signs, too.")
        assert is_folded(NAMED), "it was kept, or its absence would say nothing"
        await world.operator.erase(ZORA, reason="request 17")
        assert is_folded(NAMED) is not forgets
