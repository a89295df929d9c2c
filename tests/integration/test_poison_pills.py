"""A row that can never be embedded, read or derived is set aside, and holds nobody up.

Each test has a control: a harmless row beside it, or a fault that is not the row's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import psycopg
import pytest

from idetic import Idetic, Principal
from idetic.extract.port import Extraction, Turn
from idetic.extract.rule_extractor import RuleExtractor
from idetic.jobs.leases import Backoff
from idetic.jobs.worker import Worker
from idetic.model import Tier, Typology
from idetic.persona.ltm_derivation import Derivation
from idetic.recall.embedding import ATTEMPTS
from idetic.store.queue import Queue
from tests.conftest import TestDatabase, make_world
from tests.integration.test_persona_derivation import opened
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import task

pytestmark = pytest.mark.anyio

TEMPLATE = "persona_template"
PILL = "poison"


class Poisoned(FakeEmbedder):
    """An embedder that fails over one word, or over everything."""

    def __init__(self, error: BaseException, *, always: bool = False):
        super().__init__()
        self.error = error
        self.always = always
        self.calls = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.calls += 1
        if self.always or any(PILL in text for text in texts):
            raise self.error
        return super().embed(texts, query=query)


def waiting(database: TestDatabase) -> list[tuple[str, int]]:
    """What has no vector, and how often it was tried."""
    with psycopg.connect(database.admin_dsn) as connection:
        found = connection.execute(
            "SELECT body_text, embed_attempts FROM worlds.world_agent_memory"
            " WHERE embedding_id IS NULL ORDER BY memory_id"
        ).fetchall()
    return [(text, attempts) for text, attempts in found]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), asyncio.CancelledError()])
async def test_an_entry_that_cannot_be_embedded_is_set_aside(
    database: TestDatabase, error: BaseException
) -> None:
    embedder = Poisoned(error)
    opening = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opening as db:
        world = await make_world(db, await db.agent("world_agent"))
        await world.operator.prefer(f"Never take {PILL} with tea.")
        for n in range(ATTEMPTS + 2):
            await world.operator.prefer(f"Tea number {n} is taken at four.")
            with anyio.fail_after(60):
                await Worker(db).drain()
        assert waiting(database) == [(f"Never take {PILL} with tea.", ATTEMPTS)]
        before = embedder.calls
        await world.operator.embed()
        assert embedder.calls == before, "it is not tried again"
        # Until the tenant is embedded anew, by hand.
        await world.bind(Principal.maintenance("m")).reembed()
        assert embedder.calls > before


async def test_control_an_embedder_that_fails_over_everything_sets_nothing_aside(
    database: TestDatabase,
) -> None:
    embedder = Poisoned(ValueError("no"), always=True)
    opening = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opening as db:
        world = await make_world(db, await db.agent("world_agent"))
        await world.operator.prefer("Tea is taken at four.")
        for _ in range(ATTEMPTS + 2):
            await world.operator.embed()
        assert waiting(database) == [("Tea is taken at four.", ATTEMPTS - 1)]
        embedder.always = False
        await world.operator.embed()
        assert waiting(database) == []


async def test_a_job_that_cancels_itself_does_not_run_for_ever(
    database: TestDatabase,
) -> None:
    ran = 0

    async def note(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        nonlocal ran
        ran += 1
        raise asyncio.CancelledError

    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        world = await make_world(db, await db.agent("world_agent"))
        await Queue(db.database).enqueue(world.memory.scope, "note")
        worker = Worker(db, handlers={"note": note}, sweeps=(), backoff=Backoff(3, 0.01, 0.02))
        with anyio.fail_after(60):
            while (counts := await worker.drain()).failed == 0:  # noqa: ASYNC110 - its pause is short
                await anyio.sleep(0.02)
        assert (ran, counts.failed, counts.released) == (3, 1, 0)
        (backlog,) = await Queue(db.database).backlog(world.memory.scope)
        assert (backlog.failed, backlog.last_error) == (1, "JobBroken")


# --- turns that an extractor leaves -------------------------------------------------------------


class Leaving(RuleExtractor):
    """Leaves the turns with one word, and has not stopped; or fails over them."""

    fails = False

    async def extract(self, turns: Sequence[Turn]) -> Extraction:
        left = tuple(turn.id for turn in turns if PILL in turn.text)
        if left and self.fails:
            raise ValueError("a text that nobody may read in an error")
        found = await super().extract([turn for turn in turns if turn.id not in left])
        return found + Extraction(unread=left)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_turn_that_is_never_read_is_set_aside(database: TestDatabase, fails: bool) -> None:
    @asynccontextmanager
    async def extractor() -> AsyncIterator[Leaving]:
        made = Leaving()
        made.fails = fails
        yield made

    opening = Idetic.open(
        database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder(), extractor=extractor
    )
    async with opening as db:
        agent = await db.agent("assistant_agent")
        who = Principal.agent("assistant")
        memory = agent.bind(tenant_id="default", user_id="ada", principal=who)
        await memory.add(f"I live in {PILL} Springs.")
        await memory.add("My name is Ada Lovelace. I live in London.")
        with anyio.fail_after(60):
            await Worker(db).drain()
            done = await memory.extract()
        assert done.turns == 0, "it is past the turn"
        kept = await memory.list(tier=Tier.PERSISTENT, typology=Typology.SEMANTIC)
        assert any("London" in entry.body_text for entry in kept)


# --- a compactor that fails ---------------------------------------------------------------------


async def test_a_failing_compactor_is_seen_by_coverage_and_mended_by_the_dream(
    database: TestDatabase,
) -> None:
    broken = True

    def compact(event: Any) -> str:
        if broken:
            raise ValueError("no")
        return f"Made of {event.content}"

    def summarise(events: Sequence[Any]) -> str:
        if broken:
            raise ValueError("no")
        return f"A loop of {len(events)}."

    derivation = Derivation("own-1", compact=compact, summarise=summarise)
    async with opened(database, FakeEmbedder(), derivation=derivation) as memory:
        events = await task(memory, "Does it compact?", "Not yet.")
        before = await memory.actor.coverage()
        assert set(before.without_ltm) == {event.id for event in events}
        assert before.without_stm, "the stand-in's summary is not taken for the derivation's"
        assert not (await memory.dream()).equal
        broken = False
        assert (await memory.dream()).equal
        after = await memory.actor.coverage()
        assert (after.without_ltm, after.without_stm) == ((), ())
        (loop,) = [one for one in await memory.actor.window() if one.loop_id == events[0].loop_id]
        assert loop.summary.startswith("A loop of")
