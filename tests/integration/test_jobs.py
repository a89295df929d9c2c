"""Background jobs: enqueued with the write, done at least once and settled exactly once."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import psycopg
import pytest
from anyio import to_thread
from psycopg import errors as pg
from psycopg import sql

from idetic import Idetic, Principal, Scope
from idetic.embed import install
from idetic.errors import Busy, DatabaseUnavailable, DatabaseUnsupported, InputError, SpecNotFound
from idetic.jobs.handlers import HANDLERS, pending_embeddings
from idetic.jobs.leases import Backoff, is_transient
from idetic.jobs.worker import Pace, Worker
from idetic.library.handles import Agent
from idetic.store import queue as queue_tables
from idetic.store.database import Transaction
from idetic.store.driver import Rows
from idetic.store.queue import Queue, TaskBacklog, enqueue_statement
from idetic.store.templates import BoundStatement, Statement
from tests.conftest import TestDatabase, World, make_world
from tests.support.children import child
from tests.support.fake_embedder import FakeEmbedder
from tests.support.worker_process import NOTES, QUICK, started, until
from tests.surfaces.cli_runner import process

pytestmark = pytest.mark.anyio

PACE = Pace(**QUICK)
Handler = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


@pytest.fixture
def queue(db: Idetic) -> Queue:
    return Queue(db.database)


@pytest.fixture
def admin(database: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def world(db: Idetic, agent: Agent, admin: psycopg.Connection) -> World:
    """A world, without the job that looks at its rule: that is not what is tested here."""
    made = await make_world(db, agent)
    admin.execute("SET search_path = idetic_jobs")
    admin.execute("DELETE FROM procrastinate_jobs")
    admin.execute("RESET search_path")
    return made


@pytest.fixture
async def other_world(world: World, db: Idetic, agent: Agent, admin: psycopg.Connection) -> World:
    """Another tenant, as quiet as the first."""
    made = await make_world(db, agent)
    admin.execute("SET search_path = idetic_jobs")
    admin.execute("DELETE FROM procrastinate_jobs")
    admin.execute("RESET search_path")
    return made


@pytest.fixture
def scope(world: World) -> Scope:
    return world.memory.scope


def worker(db: Idetic, note: Handler | None = None, **options: Any) -> Worker:
    """A quick worker without sweeps that knows one task more, `note`."""
    known = {**HANDLERS, "note": note} if note else HANDLERS
    return Worker(db, handlers=known, **{"sweeps": (), "pace": PACE, **options})


async def noted(db: Idetic, agent: str, anchor: dict[str, Any], **ids: Any) -> dict[str, Any]:
    return {"n": ids.get("n", 0)}


@asynccontextmanager
async def running(*workers: Worker) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        for each in workers:
            group.start_soon(each.run)
        yield
        for each in workers:
            each.stop()


def statuses(admin: psycopg.Connection) -> dict[str, int]:
    rows = admin.execute("SELECT status::text FROM idetic_jobs.procrastinate_jobs").fetchall()
    return dict(Counter(status for (status,) in rows))


# --- enqueueing ---------------------------------------------------------------------------------


async def enqueue(run: Transaction, scope: Scope) -> Rows:
    """A note, in a transaction that is open."""
    call = enqueue_statement(scope, "note")
    return await run(call.statement, call.values)


async def test_a_job_exists_if_and_only_if_its_transaction_commits(
    db: Idetic, queue: Queue, scope: Scope
) -> None:
    async def in_a_write_that_fails() -> None:
        async with db.database.transaction(scope) as run:
            assert (await enqueue(run, scope))[0][0]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await in_a_write_that_fails()
    fails = BoundStatement(Statement("SELECT 1 / 0"))
    with pytest.raises(InputError):
        await db.database.run_all(scope, [enqueue_statement(scope, "note"), fails])
    assert await queue.backlog() == []
    async with db.database.transaction(scope) as run:
        await enqueue(run, scope)
    assert [(each.task, each.waiting) for each in await queue.backlog()] == [("note", 1)]


async def test_equal_jobs_wait_once_and_others_beside_them(queue: Queue, scope: Scope) -> None:
    assert await queue.enqueue(scope, "note", n=1)
    assert await queue.enqueue(scope, "note", n=1) is None
    assert await queue.enqueue(scope, "note", n=2)
    assert await queue.enqueue(scope, "other", n=1)
    assert {each.task: each.waiting for each in await queue.backlog()} == {"note": 2, "other": 1}


@pytest.mark.parametrize("commits", [True, False])
async def test_two_that_enqueue_at_once_make_one_job(
    db: Idetic, queue: Queue, scope: Scope, commits: bool
) -> None:
    made: list[int | None] = []

    async def second() -> None:
        made.append(await queue.enqueue(scope, "note"))

    async with anyio.create_task_group() as group, db.database.transaction(scope) as run:
        await enqueue(run, scope)
        group.start_soon(second)
        await anyio.sleep(0.3)
        assert made == [], "it waits for the first to end"
        if not commits:
            await run(Statement("ROLLBACK"))
    assert (made[0] is None) == commits
    assert (await queue.backlog())[0].waiting == 1


async def test_the_job_that_stands_in_does_not_start_before_the_write_commits(
    db: Idetic, queue: Queue, scope: Scope
) -> None:
    await queue.enqueue(scope, "note")
    async with db.database.transaction(scope) as run:
        assert (await enqueue(run, scope))[0][0] is None
        assert (await worker(db, noted).drain()).succeeded == 0
    assert (await worker(db, noted).drain()).succeeded == 1


async def test_a_job_holds_ids_and_belongs_to_its_scope(
    db: Idetic, queue: Queue, scope: Scope, other_world: World
) -> None:
    for bad in ({"text": "x" * 201}, {"entries": [uuid4()]}, {"note": {"body": "x"}}):
        with pytest.raises(InputError, match="takes ids"):
            await queue.enqueue(scope, "note", **bad)
    with pytest.raises(InputError, match="name of a task"):
        await queue.enqueue(scope, "a'; DROP TABLE x")
    # Past the check in Python, the function refuses the same.
    short = enqueue_statement(scope, "note", n="short")
    args = short.values["args"].replace("short", "x" * 300)
    with pytest.raises(InputError, match="nothing else"):
        await db.database.run(scope, short.statement, {**short.values, "args": args})
    with pytest.raises(InputError, match="belongs to the scope"):
        await db.database.run_all(scope, [enqueue_statement(other_world.memory.scope, "note")])
    assert await queue.backlog() == []


# --- who may see the queue ----------------------------------------------------------------------


def app_reads(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT * FROM idetic_jobs.procrastinate_jobs")


def test_the_application_role_has_the_function_and_no_table(
    database: TestDatabase, admin: psycopg.Connection
) -> None:
    with pytest.raises(pg.InsufficientPrivilege):
        app_reads(database.dsn)
    rights = admin.execute(
        """SELECT count(*) FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) r
           WHERE c.relnamespace = 'idetic_jobs'::regnamespace AND c.relkind = 'r'
             AND has_table_privilege('idetic_app', c.oid, r)"""
    ).fetchone()
    owners = admin.execute(
        """SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class
           WHERE relnamespace = 'idetic_jobs'::regnamespace"""
    ).fetchall()
    assert (rights, owners) == ((0,), [("idetic_owner",)])
    # Sabotage: with the right, the same read succeeds, so the check above can fail.
    admin.execute("GRANT USAGE ON SCHEMA idetic_jobs TO idetic_app")
    admin.execute("GRANT SELECT ON idetic_jobs.procrastinate_jobs TO idetic_app")
    app_reads(database.dsn)


def test_the_worker_role_reaches_no_memory(database: TestDatabase) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("SET ROLE idetic_worker")
        connection.execute("SELECT position FROM worlds.world_agent_memory_anchors")
        for table in ("memory", "memory_ledger", "memory_embeddings"):
            with pytest.raises(pg.InsufficientPrivilege):
                connection.execute(
                    sql.SQL("SELECT FROM {}").format(
                        sql.Identifier("worlds", f"world_agent_{table}")
                    )
                )


# --- attempts -----------------------------------------------------------------------------------


def test_pauses_grow_with_jitter_up_to_a_bound() -> None:
    backoff = Backoff(attempts=9, first=1.0, longest=20.0)
    for before, longest in enumerate((1, 2, 4, 8, 16, 20, 20)):
        found = {backoff.pause(Busy(), before) for _ in range(50)}
        assert len(found) > 1, "jitter"
        assert all(pause is not None and longest / 2 <= pause <= longest for pause in found)
    assert backoff.pause(Busy(), 8) is None, "that was the last attempt"
    assert backoff.pause(SpecNotFound(), 0) is None
    assert not any(map(is_transient, (InputError(), DatabaseUnsupported(), TypeError())))


async def test_a_busy_database_is_tried_again(db: Idetic, queue: Queue, scope: Scope) -> None:
    left = [Busy(), Busy()]

    async def busy(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        if left:
            raise left.pop()
        return {}

    await queue.enqueue(scope, "note")
    trying = worker(db, busy, backoff=Backoff(first=0.05))
    async with running(trying):
        await until(lambda: trying.counts.succeeded == 1)
    assert (trying.counts.retried, trying.counts.failed) == (2, 0)
    assert await queue.backlog() == []


async def test_what_stays_busy_fails_in_the_end(db: Idetic, queue: Queue, scope: Scope) -> None:
    async def busy(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        raise Busy

    await queue.enqueue(scope, "note")
    trying = worker(db, busy, backoff=Backoff(attempts=3, first=0.01))
    async with running(trying):
        await until(lambda: trying.counts.failed == 1)
    assert trying.counts.retried == 2
    (task,) = await queue.backlog()
    assert (task.waiting, task.running, task.failed, task.last_error) == (0, 0, 1, "Busy")


async def test_what_cannot_succeed_fails_at_once_and_says_why(
    db: Idetic, queue: Queue, scope: Scope
) -> None:
    nobody = Scope("nobody", scope.anchor, scope.principal)
    await queue.enqueue(nobody, "embed")
    assert (await worker(db).drain()).failed == 1
    why = "This database holds no agent called 'nobody'."
    assert await queue.backlog() == [TaskBacklog("embed", 0, 0, 1, None, "SpecNotFound", why)]
    await queue.enqueue(scope, "embed", unknown=1)
    assert (await worker(db).drain()).failed == 1
    (task,) = await queue.backlog()
    assert (task.failed, task.last_error) == (2, "InputError")
    assert "unexpected keyword argument 'unknown'" in str(task.last_reason)


async def test_a_success_clears_the_failures_of_its_equals(
    db: Idetic, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    async def broken(db: Idetic, agent: str, anchor: dict[str, Any], n: int) -> dict[str, Any]:
        raise SpecNotFound

    for n in (1, 2):
        await queue.enqueue(scope, "note", n=n)
    assert (await worker(db, broken).drain()).failed == 2
    await queue.enqueue(scope, "note", n=1)
    assert (await worker(db, noted).drain()).succeeded == 1
    assert statuses(admin) == {"failed": 1}, "the other one is still undone"


async def test_neither_logs_nor_reasons_hold_content(
    db: Idetic, queue: Queue, scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    async def leaking(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("the secret note")

    await queue.enqueue(scope, "note")
    with caplog.at_level(logging.DEBUG):
        await worker(db, leaking).drain()
    (task,) = await queue.backlog()
    assert (task.last_error, task.last_reason) == ("ValueError", "")
    assert "note job" in caplog.text
    assert "in leaking" in caplog.text, "control: it says where"
    assert "the secret note" not in caplog.text.replace('raise ValueError("the secret note")', "")


async def test_a_task_that_this_worker_does_not_know_waits_for_one_that_does(
    db: Idetic, queue: Queue, scope: Scope
) -> None:
    await queue.enqueue(scope, "note")
    assert (await worker(db).drain()).attempts == 0
    assert (await worker(db, noted).drain()).succeeded == 1


async def test_the_backlog_says_how_old_the_oldest_is(
    db: Idetic, queue: Queue, scope: Scope
) -> None:
    await queue.enqueue(scope, "note", n=1)
    await anyio.sleep(0.2)
    await queue.enqueue(scope, "note", n=2)
    later = db.clock.now().replace(year=2099)
    await queue.enqueue(scope, "other", at=later)
    note, other = await queue.backlog()
    assert note.oldest_seconds
    assert 0.2 <= note.oldest_seconds < 20
    assert other == TaskBacklog("other", 1, 0, 0, 0.0, None, None)
    assert (await worker(db, noted).drain()).succeeded == 2, "what is put off is not due"


# --- stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stopped", "cancelled"])
@pytest.mark.parametrize(("pause", "left"), [(0.5, {}), (60.0, {"todo": 1})])
async def test_a_stopping_worker_ends_its_job_or_gives_it_back(
    db: Idetic, queue: Queue, scope: Scope, admin: psycopg.Connection,
    how: str, pause: float, left: dict[str, int],
) -> None:  # fmt: skip
    began = anyio.Event()

    async def slow(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        began.set()
        await anyio.sleep(pause)
        return {}

    await queue.enqueue(scope, "note")
    stopping = worker(db, slow)
    with anyio.fail_after(PACE.grace + 5):
        async with anyio.create_task_group() as group:
            group.start_soon(stopping.run)
            await began.wait()
            if how == "stopped":
                stopping.stop()
            else:
                group.cancel_scope.cancel()
    assert statuses(admin) == left
    assert stopping.counts.released == len(left)
    workers = admin.execute("SELECT count(*) FROM idetic_jobs.procrastinate_workers").fetchone()
    assert workers == (0,)


# --- leases -------------------------------------------------------------------------------------


async def test_a_retry_gives_way_to_an_equal_job_that_waits(
    db: Idetic, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    tries = 0

    async def once_busy(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        nonlocal tries
        tries += 1
        if tries == 1:
            assert await queue.enqueue(scope, "note"), "it runs, so it no longer waits"
            raise Busy
        return {}

    await queue.enqueue(scope, "note")
    counts = await worker(db, once_busy).drain()
    assert (tries, counts.retried, counts.succeeded) == (2, 1, 1)
    assert statuses(admin) == {}


async def test_a_worker_that_lost_its_lease_settles_nothing(
    db: Idetic, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    async def robbed(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        # As after a long silence: others took this worker for dead and the job for theirs.
        admin.execute(
            """WITH other AS (
                   INSERT INTO idetic_jobs.procrastinate_workers DEFAULT VALUES RETURNING id)
               UPDATE idetic_jobs.procrastinate_jobs SET worker_id = other.id FROM other
               WHERE status = 'doing'"""
        )
        return {}

    await queue.enqueue(scope, "note")
    await worker(db, robbed).drain()
    assert statuses(admin) == {"doing": 1}, "the other one still runs it"


async def test_jobs_whose_worker_keeps_dying_fail_in_the_end(
    db: Idetic, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    await queue.enqueue(scope, "note")
    admin.execute("SET search_path = idetic_jobs")
    admin.execute("UPDATE procrastinate_jobs SET status = 'doing', attempts = 7")
    assert (await worker(db, noted).drain()).recovered == 1
    (task,) = await queue.backlog()
    assert (task.failed, task.last_error) == (1, "WorkerLost")


def notes(admin: psycopg.Connection) -> list[tuple[int, str, int]]:
    return admin.execute("SELECT n, what, pid FROM public.notes ORDER BY n").fetchall()


async def test_the_job_of_a_killed_worker_is_ended_once_by_another(
    database: TestDatabase, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    admin.execute(NOTES.encode())
    await queue.enqueue(scope, "note", n=1)
    with started(database.dsn, database.admin_dsn, pause=600.0) as first:
        await until(lambda: len(notes(admin)) == 1)
        first.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        with started(database.dsn, database.admin_dsn, pause=0.2) as second:
            await until(lambda: statuses(admin) == {})
            assert time.monotonic() - killed < 60
            seen = sorted((what, pid) for _, what, pid in notes(admin))
            assert seen == sorted(
                [("began", first.pid), ("began", second.pid), ("ended", second.pid)]
            )


async def test_two_workers_share_the_work_and_do_no_job_twice(
    database: TestDatabase, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    admin.execute(NOTES.encode())
    both = "SELECT count(*) FROM idetic_jobs.procrastinate_workers"
    one, other = (started(database.dsn, database.admin_dsn, pause=0.05) for _ in range(2))
    with one, other:
        # Only then: on a busy machine one would be through before the other is there.
        await until(lambda: admin.execute(both).fetchone() == (2,))
        for n in range(60):
            await queue.enqueue(scope, "note", n=n)
        await until(lambda: statuses(admin) == {})
    ended = [(n, pid) for n, what, pid in notes(admin) if what == "ended"]
    assert sorted(n for n, _ in ended) == list(range(60))
    assert len({pid for _, pid in ended}) == 2, "both did some"


async def test_a_worker_that_was_taken_for_dead_starts_anew(
    db: Idetic, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    def registered() -> list[Any]:
        return admin.execute("SELECT id FROM idetic_jobs.procrastinate_workers").fetchall()

    slow = worker(db, noted)
    async with running(slow):
        await until(lambda: len(registered()) == 1)
        first = registered()
        admin.execute("DELETE FROM idetic_jobs.procrastinate_workers")
        await until(lambda: registered() not in ([], first))
        await queue.enqueue(scope, "note")
        await until(lambda: slow.counts.succeeded == 1)


async def lost(work: Awaitable[Any]) -> bool:
    try:
        await work
    except DatabaseUnavailable:
        return True
    return False


async def test_a_worker_outlives_its_connections(
    db: Idetic, queue: Queue, scope: Scope, admin: psycopg.Connection
) -> None:
    lasting = worker(db, noted)
    async with running(lasting):
        await queue.enqueue(scope, "note", n=1)
        await until(lambda: lasting.counts.succeeded == 1)
        admin.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        )
        while await lost(queue.enqueue(scope, "note", n=2)):
            """The library's pool meets each of its dead connections once."""
        await until(lambda: lasting.counts.succeeded == 2)


# --- embedding ----------------------------------------------------------------------------------


async def test_what_waits_for_a_vector_is_found_without_an_enqueue(
    db: Idetic, queue: Queue, world: World, other_world: World
) -> None:
    for each in (world, other_world):
        await each.operator.prefer("A note that nobody enqueued.")
    assert await pending_embeddings(db) == 2
    assert await pending_embeddings(db) == 0, "both wait already"
    assert (await worker(db).drain()).succeeded == 2
    assert await pending_embeddings(db) == 0, "both are marked"
    await world.operator.prefer("Another note.")
    assert await pending_embeddings(db) == 1
    done = await worker(db, sweeps=(pending_embeddings,)).drain()
    assert (done.succeeded, done.swept) == (1, 0)
    assert await pending_embeddings(db) == 0


async def test_what_failed_for_good_is_not_swept_up_at_once(
    db: Idetic, queue: Queue, world: World, admin: psycopg.Connection
) -> None:
    async def broken(db: Idetic, agent: str, anchor: dict[str, Any]) -> dict[str, Any]:
        raise SpecNotFound

    await world.operator.prefer("A note.")
    assert await pending_embeddings(db) == 1
    failing = Worker(db, handlers={"embed": broken}, sweeps=(pending_embeddings,))
    assert (await failing.drain()).failed == 1
    assert await pending_embeddings(db) == 0
    admin.execute("UPDATE idetic_jobs.failures SET failed_at = failed_at - interval '1 hour'")
    assert await pending_embeddings(db) == 1


async def test_without_a_model_nothing_is_swept_and_entries_stay_pending(
    database: TestDatabase, queue: Queue, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IDETIC_MODEL_DIR", raising=False)
    monkeypatch.setenv("IDETIC_HOME", "/nowhere/idetic")
    await world.operator.prefer("A note.")
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as bare:
        assert await pending_embeddings(bare) == 0
        await queue.enqueue(world.memory.scope, "embed")
        done = await worker(bare).drain()
        assert (done.succeeded, done.failed) == (1, 0)
    assert await queue.backlog() == []
    (entry,) = await world.memory.list()
    assert (await world.memory.recall("note")).pending == 1, entry


async def test_reembed_moves_a_tenant(
    database: TestDatabase, db: Idetic, queue: Queue, world: World
) -> None:
    await world.operator.prefer("A note.")
    await pending_embeddings(db)
    await worker(db).drain()
    maintenance = world.bind(Principal.maintenance("rotation"))
    await queue.enqueue(maintenance.scope, "reembed")
    newer = FakeEmbedder("another-model")
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=newer)
    async with opened as rotated:
        assert (await worker(rotated).drain()).succeeded == 1
        assert (await maintenance.reembed()).switched, "control: back to the first model"


# --- the command --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> str:
    """Where the pinned model is, for a process that has nothing else of this one."""
    return str(install().path)


async def test_once_drains_and_says_what_it_did(
    database: TestDatabase, queue: Queue, world: World, model: str
) -> None:
    await world.operator.prefer("Wires above the limit wait for a second person.")
    where = {"IDETIC_DSN": database.dsn, "IDETIC_MODEL_DIR": model}
    ran = await to_thread.run_sync(lambda: process("worker", "--once", "--json", **where))
    assert (ran.code, ran.err) == (0, "")
    counts = ran.json()
    # The vectors, the merging of facts, and what is looked at once a day.
    assert (counts["succeeded"], counts["failed"], counts["swept"]) == (6, 0, 6)
    nobody = Scope("nobody", world.memory.scope.anchor, world.memory.scope.principal)
    await queue.enqueue(nobody, "embed")
    ran = await to_thread.run_sync(lambda: process("worker", "--once", **where))
    assert ran.code == 1
    assert "1 failed" in ran.out
    assert "SpecNotFound" in ran.err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_the_command_cleanly(database: TestDatabase, sent: int) -> None:
    running = child(
        [sys.executable, "-m", "idetic", "worker", "--json", "--concurrency", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "IDETIC_DSN": database.dsn},
    )  # fmt: skip
    with running as asked, psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        count = b"SELECT count(*) FROM idetic_jobs.procrastinate_workers"
        await until(lambda: connection.execute(count).fetchone() == (1,))
        asked.send_signal(sent)
        out, err = await to_thread.run_sync(lambda: asked.communicate(timeout=60))
        assert (asked.returncode, err) == (0, "")
        assert json.loads(out)["released"] == 0
        assert connection.execute(count).fetchone() == (0,)


def test_a_bad_concurrency_is_refused(database: TestDatabase) -> None:
    ran = process("worker", "--once", "--concurrency", "0", IDETIC_DSN=database.dsn)
    assert ran.code == 2
    assert "from 1 to 64" in ran.err


# --- procrastinate's own schema -----------------------------------------------------------------


def shape(connection: psycopg.Connection) -> list[Any]:
    """Everything in the queue's schema, by kind and name, with what its functions do."""
    return connection.execute(
        """SELECT 'relation', relname, relkind::text FROM pg_class
           WHERE relnamespace = 'idetic_jobs'::regnamespace
           UNION SELECT 'column', c.relname || '.' || a.attname, a.atttypid::regtype::text
           FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
           WHERE c.relnamespace = 'idetic_jobs'::regnamespace AND a.attnum > 0
             AND NOT a.attisdropped AND c.relkind = 'r'
           UNION SELECT 'function', proname, md5(prosrc) FROM pg_proc
           WHERE pronamespace = 'idetic_jobs'::regnamespace ORDER BY 1, 2, 3"""
    ).fetchall()


_ADDED = re.compile(r"ALTER TYPE (\w+) ADD VALUE '(\w+)'[^;]*;")


def _for_one_transaction(script: str) -> str:
    """The same script with each type made whole: before PostgreSQL 17, a value that is added to a
    type cannot be used in the same transaction."""
    for kind, value in _ADDED.findall(script):
        made = f"CREATE TYPE {kind} AS ENUM ("
        assert made in script
        script = script.replace(made, f"{made}'{value}', ", 1)
    return _ADDED.sub("", script)


async def open_with(monkeypatch: pytest.MonkeyPatch, database: TestDatabase, newest: str) -> None:
    """Open as if the installed procrastinate ended with a migration."""
    from procrastinate.schema import SchemaManager  # noqa: PLC0415

    folder = Path(SchemaManager.get_migrations_path())
    older = tuple(n for n in queue_tables.carried() if n <= newest)
    scripts = _for_one_transaction("\n".join((folder / name).read_text("utf-8") for name in older))
    with monkeypatch.context() as patch:
        patch.setattr(queue_tables, "carried", lambda: older)
        patch.setattr(SchemaManager, "get_schema", lambda: scripts)
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn):
            pass


async def test_a_newer_procrastinate_brings_its_migrations(
    database: TestDatabase, empty_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await open_with(monkeypatch, empty_database, "03.02.00_50_post_batch_defer_jobs.sql")
    admin = empty_database.admin_dsn
    with psycopg.connect(admin) as old, psycopg.connect(database.admin_dsn) as new:
        assert shape(old) != shape(new), "control"
        old.rollback()
        async with Idetic.open(empty_database.dsn, admin_dsn=admin) as db:
            async with db.database.reading() as connection:
                assert await queue_tables.is_current(connection)
            await worker(db).drain()
        assert shape(old) == shape(new)


async def test_a_migration_that_cannot_run_changes_nothing_and_says_what_to_do(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from procrastinate.schema import SchemaManager  # noqa: PLC0415

    (tmp_path / "99.00.00_01_broken.sql").write_text("ALTER TABLE not_there ADD x int", "utf-8")
    carried = (*queue_tables.carried(), "99.00.00_01_broken.sql")
    monkeypatch.setattr(queue_tables, "carried", lambda: carried)
    monkeypatch.setattr(SchemaManager, "get_migrations_path", lambda: str(tmp_path))
    with pytest.raises(DatabaseUnsupported, match="cannot follow") as refused:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn):
            pass
    assert "03.04.00_50" in refused.value.remedy


async def test_an_older_procrastinate_does_not_work_a_newer_queue(
    db: Idetic, admin: psycopg.Connection
) -> None:
    admin.execute("INSERT INTO idetic.queue_migrations (name) VALUES ('99.00.00_01_later.sql')")
    with pytest.raises(DatabaseUnsupported, match="newer procrastinate"):
        await worker(db).drain()
