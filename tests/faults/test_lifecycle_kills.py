"""A process that is killed while it closes a session: nothing is lost, nothing applied twice (R2).

The same story is told in two anchors. In one the close is left alone; in the other it is killed at
a named point, and somebody else finishes. Both must end the same. `make test` kills twice at each
point, `make faults` 25 times.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import anyio
import psycopg
import pytest

from idetic import Claim, Idetic, Observation, Principal, Rule
from idetic.evidence import Closed
from idetic.library.handles import Agent, Interaction, Memory, Session
from idetic.store.scope import anchor_id
from tests.conftest import TestDatabase, World, make_world
from tests.support.chain import chain_faults
from tests.support.clock import START, SettableClock
from tests.support.closer_process import Closers, closers
from tests.support.databases import copy_of
from tests.support.servers import TestServer
from tests.support.voices import another

pytestmark = pytest.mark.anyio

KILLS = 25 if os.environ.get("IDETIC_FAULTS") else 2
AT_ONCE = START + timedelta(minutes=1)
PAST_THE_LEASE = START + timedelta(hours=2)
UNDONE = ("before_commit", "mid_promotion", "mid_close")

STATE = """
SELECT m.body_text, m.tier::text, m.typology::text, m.candidate, m.claim_value, m.trust,
    m.archived_at IS NULL, m.invalid_at IS NULL, m.invalidated_at IS NULL, m.superseded_at IS NULL,
    (SELECT array_agg(c.source_type::text ORDER BY c.source_type)
     FROM worlds.world_agent_memory_corroborations c
     WHERE c.memory_id = m.memory_id AND c.withdrawn_at IS NULL),
    (SELECT count(*) FROM worlds.world_agent_memory_lineage l WHERE l.memory_id = m.memory_id),
    (SELECT array_agg(l.transition ORDER BY l.position)
     FROM worlds.world_agent_memory_ledger l WHERE l.memory_id = m.memory_id)
FROM worlds.world_agent_memory m WHERE m.anchor_id = %s
"""
LINKS = """
SELECT transition, decision::text, count(*) FROM worlds.world_agent_memory_ledger
WHERE anchor_id = %s GROUP BY 1, 2
"""


@dataclass(frozen=True)
class Told:
    """A world in which everything has happened but the end of its last session."""

    world: World
    session: UUID

    @property
    def anchor(self) -> dict[str, UUID]:
        return {"org_id": self.world.org_id, "domain_id": self.world.domain_id}


@dataclass(frozen=True)
class End:
    """All that is left of an anchor: its entries with their evidence and history, its links."""

    entries: Counter[str]
    links: dict[tuple[str, str], int]


def limit(value: str) -> Observation:
    return Observation(f"The limit is {value}.", claim=Claim("limit", "value", value))


async def threads(session: Session, *said: Observation) -> list[UUID]:
    """Each of them in an interaction of its own."""
    made = []
    for one in said:
        async with session.interaction() as thread:
            made += await observe(thread, one)
    return made


async def observe(place: Session | Interaction, *said: Observation) -> list[UUID]:
    return [r.entry_id for r in await place.observe_many(said) if r.entry_id]


async def tell(db: Idetic, agent: Agent) -> Told:
    """A fact that will be replaced, what replaces it one voice short of it, and a session whose
    close promotes, invalidates, proposes, keeps and drops, with two interactions open.
    """
    world = await make_world(db, agent)
    memory = world.operator
    for said in (("5", "5"), ("5",), ("6", "6")):
        async with another(memory).session() as session:
            await threads(session, *map(limit, said))
    last = await another(memory).session().__aenter__()
    await threads(last, limit("6"), Observation("It rained."))
    first = await last.interaction().__aenter__()
    await observe(first, limit("6"), Observation("It rained."), Observation("Fridays are short."))
    (rested,) = await observe(first, Observation("Both of them signed."))
    await memory.link_action(uuid4(), "rule_promotion", [rested])
    second = await last.interaction().__aenter__()
    await observe(second, Observation("Nobody looked.", refs=(Rule(world.rule.id),)))
    (against,) = await observe(second, Observation("There was no second check."))
    await memory.contradict(against, world.rule, reason="seen in the log")
    assert last.id is not None
    return Told(world, last.id)


def end(database: TestDatabase, told: Told) -> End:
    anchor = (anchor_id(list(told.anchor.values())),)
    with psycopg.connect(database.admin_dsn) as connection:
        entries = Counter(map(str, connection.execute(STATE, anchor)))
        links = connection.execute(LINKS, anchor).fetchall()
    # A second close says that it found nothing to do; that is no change.
    ends = [("session_closed", "NOOP")]
    return End(entries, {(t, d): n for t, d, n in links if (t, d) not in ends})


@asynccontextmanager
async def opened(database: TestDatabase, now: Any = START) -> AsyncIterator[tuple[Idetic, Agent]]:
    clock = SettableClock(now)
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock) as db:
        yield db, await db.agent("world_agent")


def upkeep(agent: Agent, told: Told) -> Memory:
    return agent.bind(principal=Principal.maintenance("sweeper"), **told.anchor)


@pytest.fixture(scope="module")
def database(server: TestServer, template: str) -> Iterator[TestDatabase]:
    """One for all of them: every story has an anchor of its own."""
    with copy_of(server, template) as made:
        yield made


@pytest.fixture(scope="module")
def forks() -> Iterator[Closers]:
    with closers() as parent:
        yield parent


@pytest.fixture(scope="module")
async def untouched(database: TestDatabase) -> End:
    """How the story ends when nobody is killed."""
    async with opened(database) as (db, agent):
        told = await tell(db, agent)
        closed = await told.world.operator.session(told.session).close()
    expected = {"compounded": 4, "promoted": 1, "invalidated": 1, "proposed": 2, "recurred": 2}
    assert {name: closed.count(name) for name in expected} == expected
    return end(database, told)


def order(database: TestDatabase, told: Told, point: str, **how: Any) -> dict[str, Any]:
    """What a closing process is told."""
    return {
        "dsn": database.dsn, "admin_dsn": database.admin_dsn, "anchor": told.anchor,
        "session": told.session, "point": point, "how": how, "now": AT_ONCE,
    }  # fmt: skip


async def finish(database: TestDatabase, told: Told, way: str) -> list[Closed]:
    """A fresh handle: the upkeep when the lease is over, or somebody who closes again."""
    async with opened(database, PAST_THE_LEASE if way == "recover" else AT_ONCE) as (_, agent):
        if way == "recover":
            return await upkeep(agent, told).recover()
        memory = agent.bind(principal=Principal.operator("ada"), **told.anchor)
        return [await memory.session(told.session).close()]


@pytest.mark.parametrize("point", ["before_commit", "after_commit", "mid_promotion", "mid_close"])
async def test_a_close_that_is_killed_is_finished_once(
    database: TestDatabase, forks: Closers, untouched: End, point: str
) -> None:
    for kill in range(KILLS):
        async with opened(database) as (db, agent):
            told = await tell(db, agent)
        before = end(database, told)
        assert forks.close(order(database, told, point)) == [(-signal.SIGKILL, None)]
        restarted = time.monotonic()
        left = end(database, told)
        assert left == (before if point in UNDONE else untouched), "all of it, or nothing"
        closed = await finish(database, told, ("recover", "close")[kill % 2])
        assert time.monotonic() - restarted < 20
        did = [one for one in closed if one.decided]
        assert len(did) == (1 if point in UNDONE else 0)
        assert end(database, told) == untouched
        assert chain_faults(database.admin_dsn, told.world.agent, **told.anchor) == []


async def test_whenever_it_dies_somebody_else_finishes(
    database: TestDatabase, forks: Closers, untouched: End
) -> None:
    chance = Random(5)  # noqa: S311 - repeatable, not secret
    for _ in range(KILLS):
        async with opened(database) as (db, agent):
            told = await tell(db, agent)
        before = end(database, told)
        forks.close(order(database, told, "any_moment", after=chance.uniform(0.0, 0.05)))
        assert end(database, told) in (before, untouched)
        await finish(database, told, "recover")
        assert end(database, told) == untouched
        assert chain_faults(database.admin_dsn, told.world.agent, **told.anchor) == []


async def test_two_processes_close_one_session_and_one_of_them_does_it(
    database: TestDatabase, forks: Closers, untouched: End
) -> None:
    for _ in range(KILLS):
        async with opened(database) as (db, agent):
            told = await tell(db, agent)
        both = forks.close(*[order(database, told, "none")] * 2)
        said = sorted((one.told["decision"], one.told["decided"]) for one in both if one.told)
        assert [decision for decision, _ in said] == ["NOOP", "UPDATE"]
        assert [bool(decided) for _, decided in said] == [False, True]
        assert end(database, told) == untouched
        assert chain_faults(database.admin_dsn, told.world.agent, **told.anchor) == []


async def test_two_recoveries_at_once_close_it_once(database: TestDatabase, untouched: End) -> None:
    async with opened(database) as (db, agent):
        told = await tell(db, agent)
    done: list[Closed] = []

    async def recover(memory: Memory) -> None:
        done.extend(await memory.recover())

    async with (
        opened(database, PAST_THE_LEASE) as (_, one),
        opened(database, PAST_THE_LEASE) as (_, other),
        anyio.create_task_group() as group,
    ):
        for agent in (one, other):
            group.start_soon(recover, upkeep(agent, told))
    assert [closed.receipt.decision.value for closed in done if closed.decided] == ["UPDATE"]
    assert end(database, told) == untouched
