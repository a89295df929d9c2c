"""Whatever the embedder does, every event commits; and a dream makes the derived layers whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import anyio
import pytest

from idetic import Idetic
from idetic.embed.port import Embedder
from idetic.persona.compactor import COMPACT_MAX
from idetic.persona.events import EmbedStatus, Event, EventKind, Persona
from idetic.persona.ltm_derivation import Derivation
from idetic.persona.persona_memory import PersonaMemory
from idetic.reason.port import (
    ConflictAnswered,
    ConflictAsked,
    MergeAnswered,
    MergeAsked,
    ReasonerRefused,
    SummaryAnswered,
    SummaryAsked,
    Usage,
)
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import HANG, UnreliableEmbedder, remembering, task, thought

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"


@asynccontextmanager
async def opened(
    database: TestDatabase, embedder: Embedder, **options: Any
) -> AsyncIterator[PersonaMemory]:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder) as db:
        yield await remembering(db, **options)


async def busy(memory: PersonaMemory, loops: int, seed: int = 7) -> list[Event]:
    """Loops of both personas, some of which raise."""
    chance, written = Random(seed), []  # noqa: S311 - repeatable, not secret
    for number in range(loops):
        if chance.random() < 0.3:
            written += await thought(memory, f"A thought about {number}.", f"Another, {number}.")
            continue
        with suppress(ZeroDivisionError):
            async with memory.loop() as loop:
                written.append(await loop.append(EventKind.USER_INPUT, f"Task {number}?"))
                written.append(await loop.append(EventKind.ACTOR_OUTPUT, f"Answer {number}."))
                _ = 1 / (chance.random() >= 0.2)
    return written


@pytest.mark.parametrize("seed", range(3))
async def test_an_embedder_that_raises_hangs_or_lies_costs_no_event(
    database: TestDatabase, seed: int
) -> None:
    embedder = UnreliableEmbedder(seed)
    async with opened(database, embedder, patience=0.05) as memory:
        acknowledged = await busy(memory, 30, seed)
        logged = [*await memory.actor.tail(), *await memory.subconscious.tail()]
        assert {event.id for event in acknowledged} <= {event.id for event in logged}
        assert len(logged) == len({event.id for event in logged})
        assert Counter(embedder.did).keys() >= {"raise", "hang"}, "it did misbehave"
        before = await memory.actor.coverage()
        assert before.events == before.ltm, "entries come with their events"
        assert before.loops == before.stm, "every loop closed"
        assert before.vectors < before.events
        assert before.without_vector
        embedder.calm()
        dreamt = await memory.dream()
        if not dreamt.equal:  # the last one may still have hung when the dream began
            await anyio.sleep(HANG)
            dreamt = await memory.dream()
        assert dreamt.equal, dreamt
        assert dreamt.coverage[0].vectors == before.events
        assert (await memory.actor.verify()).whole
        assert (await memory.subconscious.verify()).whole


async def test_what_failed_says_so_and_how_often(database: TestDatabase) -> None:
    class Raising(FakeEmbedder):
        broken = True

        def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
            if self.broken:
                raise ValueError("a text that nobody may read in an error")
            return super().embed(texts, query=query)

    embedder = Raising()
    async with opened(database, embedder) as memory:
        events = await task(memory, "Does it embed?", "Not yet.")
        found = [hit.entry.summary for hit in await memory.actor.rag_query("Does it embed?")]
        assert "Does it embed?" in found, "words find it meanwhile"
        entry = await memory.actor.entry_of(events[0].id)
        assert entry is not None
        assert (entry.status, entry.attempts, entry.last_error) == (
            EmbedStatus.FAILED, 1, "ValueError",
        )  # fmt: skip
        assert not (await memory.dream()).equal
        embedder.broken = False
        assert (await memory.dream()).equal
        entry = await memory.actor.entry_of(events[0].id)
        assert entry is not None
        assert (entry.status, entry.attempts, entry.last_error) == (EmbedStatus.EMBEDDED, 3, None)


async def test_a_dream_derives_all_of_a_log_that_was_written_alone(database: TestDatabase) -> None:
    async with opened(database, FakeEmbedder(), derive=False) as memory:
        await busy(memory, 20)
        seen: list[str] = []
        dreamt = await memory.dream(lambda what, _done, _total: seen.append(what))
        assert dreamt.derived > 20
        assert {"actor entries", "actor vectors", "actor loops", "subconscious loops"} <= set(seen)
        assert dreamt.coverage[0].equal
        # Its own loop was written alone, too: the next dream derives it.
        assert (await memory.dream()).coverage[0].equal


async def test_a_dream_with_nothing_to_do_changes_nothing(database: TestDatabase) -> None:
    async with opened(database, FakeEmbedder()) as memory:
        await busy(memory, 10)
        first = await memory.dream()
        window, found = await memory.actor.window(100), await memory.actor.rag_query("Answer")
        second = await memory.dream()
        assert first.equal
        assert second.equal
        assert (second.derived, second.summarised) == (0, 0)
        assert second.coverage[0] == first.coverage[0]
        assert await memory.actor.window(100) == window
        assert (await memory.actor.rag_query("Answer")).hits == found.hits
        assert first.loop_id != second.loop_id, "each dream is a loop of its own"
        assert second.loop_id is not None
        kinds = [event.kind for event in await memory.subconscious.loop(second.loop_id)]
        assert kinds == [EventKind.SUBCONSCIOUS_PROMPT, EventKind.SUBCONSCIOUS_OUTPUT]
        assert await memory.actor.loop(second.loop_id) == []


async def test_another_way_of_deriving_is_applied_to_all_that_is_there(
    database: TestDatabase,
) -> None:
    async with opened(database, FakeEmbedder()) as memory:
        events = await task(memory, "How long is it?", "Rather long, all in all.")
        await memory.dream()
        old = await memory.actor.entry_of(events[3].id)
    derivation = Derivation("short-1", compact=lambda e: e.content[:10], grade=lambda _: 0.25)
    async with opened(database, FakeEmbedder(), derivation=derivation) as memory:
        assert (await memory.dream()).equal
        new = await memory.actor.entry_of(events[3].id)
        assert old is not None
        assert new is not None
        assert new.id != old.id, "an entry is written once; the old one is put aside"
        coverage = await memory.actor.coverage()
        assert coverage.events == coverage.ltm == 4, "one entry per event"
        assert (new.summary, new.importance) == ("Rather lon", 0.25)
        hits = await memory.actor.rag_query("long")
        assert all(len(hit.entry.summary) <= 10 for hit in hits)
        assert (await memory.dream()).derived == 0


async def test_another_model_gets_vectors_of_its_own(database: TestDatabase) -> None:
    async with opened(database, FakeEmbedder("one")) as memory:
        await busy(memory, 5)
        assert (await memory.dream()).equal
    async with opened(database, FakeEmbedder("two")) as memory:
        assert (await memory.actor.coverage()).vectors == 0
        answer = await memory.actor.rag_query("Task 1")
        assert answer.hits, "by words"
        assert [told.what for told in answer.not_used] == ["semantic, in part"]
        assert (await memory.dream()).equal
    async with opened(database, FakeEmbedder("one")) as memory:
        assert not (await memory.actor.rag_query("Task 1")).not_used, "the old ones are still there"


async def test_both_personas_are_dreamt_through_their_own_roles(database: TestDatabase) -> None:
    """The Subconscious's role has no right to write the Actor's tables, and needs none."""
    async with opened(database, FakeEmbedder(), derive=False) as memory:
        await busy(memory, 6)
        await memory.dream()
        roles = {p: memory.stores[p].store.database.role for p in Persona}
    assert roles == {Persona.ACTOR: "idetic_actor", Persona.SUBCONSCIOUS: "idetic_subconscious"}


class Terse:
    """A reasoner that says little, and refuses what is not for it."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def summarise(self, asked: SummaryAsked) -> SummaryAnswered:
        (entry,) = asked.entries
        self.shown.append(entry.text)
        if "unspeakable" in entry.text:
            raise ReasonerRefused
        said = f"In short: {entry.text.split()[0]}."
        return SummaryAnswered(said, (entry.id,), "shorter", Usage(calls=1))

    async def merge(self, asked: MergeAsked) -> MergeAnswered:
        raise NotImplementedError

    async def judge(self, asked: ConflictAsked) -> ConflictAnswered:
        raise NotImplementedError


async def test_a_reasoner_compacts_in_a_dream_what_is_too_long_to_be_kept_whole(
    database: TestDatabase,
) -> None:
    terse = Terse()

    @asynccontextmanager
    async def reasoners() -> AsyncIterator[Terse]:
        yield terse

    async with opened(database, FakeEmbedder()) as memory:
        async with memory.loop() as loop:
            long = await loop.append(EventKind.TOOL_RESULT, "Timetable. " + "A train leaves. " * 99)
            await loop.append(EventKind.ACTOR_OUTPUT, "Kept as it is.")
            never = await loop.append(EventKind.TOOL_RESULT, "unspeakable words follow. " * 99)
        assert terse.shown == [], "nobody is asked while an event is written"
        dreamt = await memory.dream(reasoner=reasoners)
        assert (dreamt.reasoned, dreamt.usage.calls, dreamt.equal) == (1, 1, True)
        entry, other = [await memory.actor.entry_of(event.id) for event in (long, never)]
        assert entry is not None
        assert other is not None
        assert entry.summary == "In short: Timetable.."
        assert other.summary.startswith("unspeakable"), "what it refused stays as extracted"
        assert len(other.summary) <= COMPACT_MAX < len(never.content)
        assert entry.id in [hit.entry.id for hit in await memory.actor.rag_query("Timetable")]
        again = await memory.dream()
        assert (again.derived, again.equal) == (0, True), "a plain dream leaves it"
        kept = await memory.actor.entry_of(long.id)
        assert kept is not None
        assert kept.summary == entry.summary
