"""Workers that are killed while they work: nothing is lost, nothing is applied twice (R2).

`make test` runs a few kills; `make faults` runs 25 of each kind, and once with the shipped times.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import anyio
import psycopg
import pytest

from idetic import Idetic
from idetic.store.queue import Queue
from tests.conftest import TestDatabase, World
from tests.support.fake_embedder import FakeEmbedder
from tests.support.worker_process import NOTES, started, until

pytestmark = pytest.mark.anyio

KILLS = int(os.environ.get("IDETIC_KILLS", "2"))
ENTRIES = 200
JOBS = 40
WAITING = "SELECT count(*) FROM idetic_jobs.procrastinate_jobs"


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


def end(worker: subprocess.Popen[str], how: int = signal.SIGKILL) -> None:
    worker.send_signal(how)
    worker.communicate(timeout=60)


def one(connection: psycopg.Connection, query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    assert row
    return row[0]


async def test_embedding_goes_on_where_a_kill_left_it(
    database: TestDatabase, db: Idetic, world: World
) -> None:
    chance = Random(7)  # noqa: S311 - repeatable, not secret
    vectors = "SELECT count(*) FROM worlds.world_agent_memory_embeddings"
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        for kill in range(KILLS):
            for n in range(ENTRIES // KILLS):
                await world.operator.prefer(f"Note {n} before kill {kill}.")
            before = one(admin, vectors)
            with started(database.dsn, database.admin_dsn, embedding=0.3) as victim:
                if chance.random() < 0.5:
                    await until(lambda n=before: one(admin, vectors) > n)  # type: ignore[misc]
                await anyio.sleep(chance.uniform(0.0, 0.5))
                end(victim)
        with started(database.dsn, database.admin_dsn) as last:
            total = one(admin, "SELECT count(*) FROM worlds.world_agent_memory")
            await until(lambda: one(admin, vectors) == total)
            await until(lambda: one(admin, WAITING) == 0)
            end(last, signal.SIGTERM)
        doubled = one(
            admin,
            """SELECT count(*) FROM (
                   SELECT FROM worlds.world_agent_memory_embeddings
                   GROUP BY memory_id, profile_id HAVING count(*) > 1) AS twice""",
        )
        behind = one(
            admin,
            """SELECT count(*) FROM worlds.world_agent_memory_anchors a
               LEFT JOIN worlds.world_agent_memory_marks m
                   ON (m.org_id, m.anchor_id, m.kind) = (a.org_id, a.anchor_id, 'embed')
               WHERE m.position IS DISTINCT FROM a.position""",
        )
    assert (doubled, behind) == (0, 0)


async def test_no_job_is_lost_and_only_a_killed_worker_has_one_done_again(
    database: TestDatabase, db: Idetic, world: World
) -> None:
    chance = Random(11)  # noqa: S311 - repeatable, not secret
    queue, killed = Queue(db.database), set()
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(NOTES.encode())
        for n in range(JOBS):
            await queue.enqueue(world.memory.scope, "note", n=n)
        with started(database.dsn, database.admin_dsn, pause=0.5) as survivor:
            for _ in range(KILLS):
                with started(database.dsn, database.admin_dsn, pause=0.5) as victim:
                    killed.add(victim.pid)
                    await anyio.sleep(chance.uniform(0.3, 1.2))
                    end(victim)
            await until(lambda: one(admin, WAITING) == 0)
            end(survivor, signal.SIGTERM)
        ended = admin.execute("SELECT n, pid FROM public.notes WHERE what = 'ended'").fetchall()
    assert {n for n, _ in ended} == set(range(JOBS)), "none lost"
    alive = Counter(n for n, pid in ended if pid not in killed)
    assert max(alive.values()) == 1, "no worker that lived did one twice"


async def test_with_the_shipped_times_work_resumes_within_a_minute(
    database: TestDatabase, db: Idetic, world: World
) -> None:
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(NOTES.encode())
        await Queue(db.database).enqueue(world.memory.scope, "note", n=1)
        with started(database.dsn, database.admin_dsn, pause=600.0, pace={}) as other:
            await until(lambda: one(admin, "SELECT count(*) FROM public.notes") == 1)
            with started(database.dsn, database.admin_dsn, pause=0.0, pace={}) as heir:
                end(other)
                killed = time.monotonic()
                ended = "SELECT count(*) FROM public.notes WHERE what = 'ended'"
                await until(lambda: one(admin, ended) == 1)
                assert time.monotonic() - killed < 60
                end(heir, signal.SIGTERM)
