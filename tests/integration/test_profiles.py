"""Embedding profiles: a new one built beside the one in use, killed, resumed, switched to."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from idetic import Idetic, Observation, Principal
from idetic.spec.primitives import Signal
from tests.conftest import TestDatabase, World, make_world
from tests.support.children import child
from tests.support.fake_embedder import FakeEmbedder

pytestmark = pytest.mark.anyio

ENTRIES = 640
# Each is a process that starts and dies; `make faults` kills more of them.
KILLS = int(os.environ.get("IDETIC_KILLS", "3"))


@pytest.fixture
def admin(database: TestDatabase) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        yield connection


async def filled(db: Idetic) -> World:
    world = await make_world(db, await db.agent("world_agent"))
    session = await world.memory.session().open()
    await session.observe_many([Observation(f"Note number {n}.") for n in range(ENTRIES)])
    await world.memory.embed()
    return world


async def test_a_rotation_killed_again_and_again_leaves_each_entry_once_in_the_active_profile(
    database: TestDatabase, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    old = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder("old"))
    async with old as db:
        world = await filled(db)
        before = await world.memory.recall("Note number 7.", limit=1)
        chance = random.Random(7)  # noqa: S311 - a test's choice of moments
        for _ in range(KILLS):
            _killed_after(chance.uniform(0, 0.12), database, world)
            during = await world.memory.recall("Note number 7.", limit=1)
            assert during.profile_id == before.profile_id, "the old profile serves until the switch"
            assert during.entries == before.entries
        _run(database, world)
    counted = admin.execute(
        """SELECT e.profile_id, count(*), count(DISTINCT e.memory_id)
           FROM worlds.world_agent_memory_embeddings e GROUP BY 1"""
    ).fetchall()
    assert sorted(row[1:] for row in counted) == [(ENTRIES, ENTRIES)] * 2
    activations = admin.execute(
        "SELECT profile_id FROM worlds.world_agent_memory_profiles ORDER BY activation_id"
    ).fetchall()
    assert len(activations) == 2, "the old one, then one switch"
    new = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder("new"))
    async with new as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.agent("x")
        )
        after = await memory.recall("Note number 7.", limit=1)
    assert after.profile_id == activations[1][0]
    assert after.pending == 0


async def test_a_tenant_moves_as_a_whole(database: TestDatabase) -> None:
    old = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder("old"))
    async with old as db:
        world = await make_world(db, await db.agent("world_agent"))
        elsewhere = uuid4()
        await world.worlds.register(world.org_id, elsewhere, "Elsewhere")
    new = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder("new"))
    async with new as db:
        agent = await db.agent("world_agent")
        here, there = (
            agent.bind(org_id=world.org_id, domain_id=d, principal=Principal.maintenance("m"))
            for d in (world.domain_id, elsewhere)
        )
        for memory in (here, there):
            session = await memory.session().open()
            await session.observe("A note in this domain.")
        done = await here.reembed()
        recalled = await there.recall("A note in this domain.")
    assert (done.embedded, done.switched) == (2, True)
    assert recalled.pending == 0
    assert recalled.hits[0].signals[Signal.SEMANTIC].rank == 1


async def test_vectors_of_two_models_never_mix(database: TestDatabase) -> None:
    old = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder("old"))
    async with old as db:
        world = await filled(db)
    other = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder("other"))
    async with other as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.agent("x")
        )
        recall = await memory.recall("Note number 7.")
    assert all(not hit.signals[Signal.SEMANTIC].contribution for hit in recall.hits)
    assert any("another model" in told.why for told in recall.not_used)


def _process(database: TestDatabase, world: World) -> AbstractContextManager[subprocess.Popen[str]]:
    script = Path(__file__).parents[1] / "support" / "reembedder.py"
    ids = (str(world.org_id), str(world.domain_id))
    return child(
        [sys.executable, "-m", "tests.support.reembedder", database.dsn, database.admin_dsn, *ids,
         "new"],
        cwd=script.parents[2],
        stdout=subprocess.PIPE,
    )  # fmt: skip


def _killed_after(seconds: float, database: TestDatabase, world: World) -> None:
    with _process(database, world) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()


def _run(database: TestDatabase, world: World) -> None:
    with _process(database, world) as process:
        out, _ = process.communicate(timeout=60)
        assert out.endswith("done\n")


async def test_inline_embedding_leaves_nothing_pending_and_never_costs_a_write(
    database: TestDatabase,
) -> None:
    for embedder, pending in ((FakeEmbedder("inline"), 0), (None, 2)):
        opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
        async with opened as db:
            world = await make_world(db, await db.agent("world_agent", embed_inline=True))
            session = await world.memory.session().open()
            await session.observe("One note.")
            await session.observe_many([Observation("Another note.")])
            recall = await world.memory.recall("note")
            assert recall.considered == 2
            found = sum(h.entry.body_text in ("One note.", "Another note.") for h in recall.hits)
        assert (recall.pending, found) == (0, 2)
        assert any(n.what == "semantic" for n in recall.not_used) is (pending > 0)
