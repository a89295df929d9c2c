"""What a worker does for memory that matures, found by state or enqueued with its cause."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from idetic import Claim, Idetic, MemorySpec, Rule
from idetic.context import Worlds
from idetic.jobs.worker import Worker
from idetic.spec.loader import load
from idetic.store.queue import Queue
from tests.conftest import TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.fake_embedder import FakeEmbedder
from tests.support.voices import another

pytestmark = pytest.mark.anyio

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Life:
    """A world with a clock, and a worker that does what is due."""

    def __init__(self, db: Idetic, world: World, clock: SettableClock):
        self.db, self.world, self.clock = db, world, clock

    async def work(self) -> dict[str, int]:
        worker = Worker(self.db)
        counts = await worker.drain()
        assert counts.failed == 0
        return {b.task: b.waiting for b in await Queue(self.db.database).backlog()}

    async def say(self, value: str, *, times: int = 3) -> None:
        for _ in range(times):
            memory = another(self.world.memory)
            async with memory.session() as session, session.interaction() as turn:
                await turn.observe(
                    f"Wires are released after {value} checks.",
                    claim=Claim("wire", "checks", value),
                    refs=[Rule(self.world.rule.id)],
                )


@pytest.fixture
async def life(database: TestDatabase) -> AsyncIterator[Life]:
    clock = SettableClock(START)
    opened = Idetic.open(
        database.dsn, admin_dsn=database.admin_dsn, clock=clock, embedder=FakeEmbedder()
    )
    async with opened as db:
        yield Life(db, await make_world(db, await db.agent("world_agent")), clock)


async def test_a_session_nobody_closed_is_found_and_closed_once(life: Life) -> None:
    session = await life.world.memory.session().open()
    await session.observe("Wires need two checks.", claim=Claim("wire", "checks", "two"))
    await life.work()
    assert [e.tier for e in await life.world.memory.list()] == ["session"], "its lease holds"
    life.clock.moment += timedelta(minutes=61)
    await life.work()
    (entry,) = await life.world.memory.list()
    assert (entry.tier, entry.candidate) == ("persistent", True)
    life.clock.moment += timedelta(minutes=61)
    await life.work()
    history = await life.world.memory.history(entry.id)
    assert [h.transition for h in history].count("proposed") == 1


async def test_a_changed_rule_is_looked_at_with_the_change(life: Life) -> None:
    await life.say("two")
    (fact,) = await life.world.memory.list()
    assert not fact.candidate
    world = life.world
    text = "Every wire waits a day."
    await Worlds(life.db).put_rule(world.org_id, world.world_id, text, rule_id=world.rule.id)
    backlog = {b.task: b.waiting for b in await Queue(life.db.database).backlog()}
    assert backlog["canon"] >= 1, "enqueued in the transaction of the change"
    await life.work()
    (due,) = await life.world.operator.disposition()
    assert (due.entry.id, due.cause) == (fact.id, "canonical_change")
    told = {link.transition: link for link in await life.world.memory.history(fact.id)}
    assert told["canonical_changed"].detail["cause"] == "canonical_change"
    assert "corroboration_failed" in told


async def test_a_change_that_is_rolled_back_leaves_no_job(
    life: Life, database: TestDatabase
) -> None:
    await life.work()
    with pytest.raises(Exception, match=r".") as caught:
        await Worlds(life.db).put_rule(life.world.org_id, life.world.world_id, "")
    assert caught.value is not None
    with psycopg.connect(database.admin_dsn) as admin:
        waiting = admin.execute(
            "SELECT count(*) FROM idetic_jobs.procrastinate_jobs WHERE status = 'todo'"
        ).fetchone()
    assert waiting == (0,)


async def test_what_falls_due_is_said_once_a_day(life: Life) -> None:
    await life.say("two", times=1)
    (candidate,) = await life.world.memory.list()
    life.clock.moment += timedelta(days=31)
    await life.work()
    life.clock.moment += timedelta(days=2)
    await life.work()
    told = [h.transition for h in await life.world.memory.history(candidate.id)]
    assert told.count("disposition_due") == 1
    (due,) = await life.world.memory.disposition()
    assert (due.entry.id, due.cause) == (candidate.id, "candidate_without_support")


async def test_a_spec_that_asks_for_less_promotes_what_waits(life: Life) -> None:
    await life.say("two", times=2)
    (candidate,) = await life.world.memory.list()
    assert candidate.candidate
    data = load("world_agent").as_data()
    data["promotion"]["deviations"] = [
        {
            "cell": "episodic_transient",
            "set": {"min_corroborations": 2},
            "justification": "Two independent sources are enough in this test.",
        }
    ]
    await life.db.agent(MemorySpec.model_validate(data), apply=True)
    life.clock.moment += timedelta(days=1, minutes=1)
    await life.work()
    assert not (await life.world.memory.get(candidate.id)).candidate


async def test_a_new_rule_finds_the_notes_that_restate_it(life: Life) -> None:
    text = (
        "Refunds above the daily limit of a merchant are held back until the merchant's own "
        "operator has confirmed them by telephone, and the call is recorded."
    )
    await life.world.operator.prefer(text)
    (note,) = await life.world.memory.list()
    await Worlds(life.db).put_rule(life.world.org_id, life.world.world_id, text)
    await life.work()
    entry = await life.world.memory.get(note.id)
    assert entry.state == "archived"
    detail = (await life.world.memory.history(note.id))[-1].detail
    assert (detail["cause"], detail["noun"]) == ("shadow", "rule")
    assert detail["similarity"] == 1
