"""The embedded server dies under its users, and comes back without anybody's hand (R2).

`make test` kills it twice; `make faults` twenty times. The disk is a small one of its own, which
takes root to mount.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import anyio
import psycopg
import pytest

from idetic import Idetic, Principal
from idetic.client import connect
from idetic.errors import Busy, DatabaseUnavailable, IdeticError
from idetic.jobs.worker import Worker
from idetic.library.handles import Memory
from idetic.store.embedded import EmbeddedServer, status, stop
from tests.conftest import World, make_world
from tests.support.children import child
from tests.support.fake_embedder import FakeEmbedder
from tests.support.http_house import served_line

pytestmark = pytest.mark.anyio

LONG = bool(os.environ.get("IDETIC_FAULTS"))
KILLS = 20 if LONG else 2
WITHIN = 30.0
WRITERS = 8


@pytest.fixture
def home() -> Iterator[Path]:
    # Not tmp_path: as root the server runs as another user, who may not enter that.
    made = Path(tempfile.mkdtemp(prefix="idetic-heals-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    stop(made)
    shutil.rmtree(made)


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Idetic, World]]:
    """The library on an embedded server, with one world in it."""
    async with Idetic.open(home=home, embedder=FakeEmbedder()) as db:
        yield db, await make_world(db, await db.agent("world_agent"))


@contextmanager
def served(home: Path) -> Iterator[str]:
    """`idetic serve` on the same home, with its worker; it must still run at the end."""
    command = [sys.executable, "-m", "idetic", "serve", "--json", "--port", "0", "--no-console"]
    environment = {**os.environ, "IDETIC_HOME": str(home)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": environment}
    with child(command, patience=None, **pipes) as running:
        yield served_line(running)["address"]
        assert running.poll() is None, "the server ended with its database"
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 0


def kill_postmaster(home: Path) -> None:
    pid = status(home).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def answering(call: Callable[[], Awaitable[Any]]) -> float:
    """Seconds until a call is answered; meanwhile it says that the database is unavailable."""
    begun = time.monotonic()
    while True:
        try:
            await call()
        except DatabaseUnavailable:
            assert time.monotonic() - begun < WITHIN
            await anyio.sleep(0.1)
        else:
            return time.monotonic() - begun


@dataclass
class Writers:
    """Eight who write, and repeat under the same key what was not acknowledged."""

    memories: list[Memory]
    acknowledged: list[str] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)
    ended: bool = False

    async def write(self, writer: int) -> None:
        memory, n = self.memories[writer % len(self.memories)], 0
        while not self.ended:
            text = f"Writer {writer} prefers the way number {n}."
            try:
                await memory.prefer(text, idempotency_key=text)
            except DatabaseUnavailable:
                self.said["unavailable"] += 1
                await anyio.sleep(0.1)
            except Busy:
                self.said["busy"] += 1
                await anyio.sleep(0.1)
            else:
                self.acknowledged.append(text)
                n += 1


def kept(home: Path) -> Counter[str]:
    """What stands in memory, and how often."""
    with EmbeddedServer.acquire(home) as lease, psycopg.connect(lease.dsn()) as connection:
        rows = connection.execute("SELECT body_text FROM worlds.world_agent_memory").fetchall()
    return Counter(text for (text,) in rows)


async def test_a_killed_postmaster_comes_back_under_eight_writers(home: Path) -> None:
    chance = Random(19)  # noqa: S311 - repeatable, not secret
    took: list[float] = []
    async with opened(home) as (db, world):
        anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
        made = await db.keys.create(
            agent="world_agent", principal=Principal.operator("ada"), anchor=anchor
        )
        worker = Worker(db)
        with served(home) as address:
            async with connect(address, made.key) as remote, anyio.create_task_group() as group:
                writers = Writers([world.operator, remote])
                group.start_soon(worker.run)
                for number in range(WRITERS):
                    group.start_soon(writers.write, number)
                for _ in range(KILLS):
                    await anyio.sleep(chance.uniform(0.5, 2.0))
                    before = len(writers.acknowledged)
                    kill_postmaster(home)
                    took.append(await answering(lambda: world.operator.recall("the way")))
                    took.append(await answering(lambda: remote.recall("the way")))
                    with anyio.fail_after(WITHIN):
                        while len(writers.acknowledged) == before:  # noqa: ASYNC110
                            await anyio.sleep(0.05)
                writers.ended = True
                worker.stop()
        found = kept(home)
    assert writers.said["busy"] == 0
    assert set(writers.acknowledged) <= set(found), "none lost"
    assert max(found.values()) == 1, "none doubled"
    assert len(writers.acknowledged) == len(set(writers.acknowledged)) > WRITERS
    assert max(took) < WITHIN
    print(f"{KILLS} kills, {len(found)} entries, slowest answer {max(took):.1f} s, {writers.said}")


async def test_control_without_a_watch_nobody_brings_it_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddedServer, "watch", lambda self: None)
    async with opened(home) as (_, world):
        kill_postmaster(home)
        await anyio.sleep(4)
        with pytest.raises(DatabaseUnavailable):
            await world.operator.recall("anything")
        assert not status(home).running


async def test_a_worker_that_begins_while_it_is_down_waits(home: Path) -> None:
    """`serve` ends with its worker. The control asks for a single round, and is told."""
    async with opened(home) as (db, _):
        worker = Worker(db)
        assert stop(home)
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            # Twice: a call waits for the pool, and the first may end before the worker's does.
            for _ in range(2):
                with pytest.raises(DatabaseUnavailable):
                    await Worker(db).drain()
            assert worker._inner is None
            EmbeddedServer.acquire(home).release()
            with anyio.fail_after(WITHIN):
                while worker._inner is None:  # noqa: ASYNC110 - it says so nowhere else
                    await anyio.sleep(0.05)
            worker.stop()


async def test_a_backend_that_computes_does_not_hold_the_next_server_up(home: Path) -> None:
    async with opened(home) as (_, world):
        with EmbeddedServer.acquire(home) as lease:
            busy = "DO $$BEGIN WHILE clock_timestamp() < now() + '90 s' LOOP END LOOP; END$$"
            connection = psycopg.connect(lease.dsn(), autocommit=True)
            connection.pgconn.send_query(busy.encode())
            await anyio.sleep(0.3)
            kill_postmaster(home)
            assert await answering(lambda: world.operator.recall("anything")) < WITHIN
            connection.close()


async def test_what_was_stopped_on_purpose_stays_stopped_until_somebody_opens(home: Path) -> None:
    async with opened(home) as (_, world):
        assert stop(home)
        await anyio.sleep(2)
        assert not status(home).running
        with pytest.raises(DatabaseUnavailable):
            await world.operator.recall("anything")
        EmbeddedServer.acquire(home).release()
        assert await answering(lambda: world.operator.recall("anything")) < WITHIN


# --- a full disk --------------------------------------------------------------------------------


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of its own, with room for the programs, the data and little else."""
    if os.geteuid():
        pytest.skip("takes root to mount a disk")
    place = Path(tempfile.mkdtemp(prefix="idetic-disk-", dir="/tmp"))
    place.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", "size=512m,mode=755", "idetic-test", str(place)]
    mounted = subprocess.run(mount, check=False, capture_output=True, text=True, timeout=60)
    if mounted.returncode:
        assert not LONG, f"the long form needs a disk of its own: {mounted.stderr}"
        pytest.skip("this container may not mount a disk")
    try:
        yield place
    finally:
        stop(place / "home")
        subprocess.run(["umount", "-l", str(place)], check=True, timeout=60)
        place.rmdir()


def fill_up(disk: Path) -> Path:
    """A file that leaves not a byte of room."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * (1 << 16))
        except OSError:
            pass
        try:
            while True:
                file.write(b"\0")
        except OSError:
            pass
    return filler


def exhaust_the_wal(dsn: str) -> None:
    """Ask for new files of the write-ahead log until there is none: the server cannot go on."""
    with suppress(psycopg.Error), psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(60):
            connection.execute("SELECT pg_logical_emit_message(false, 'idetic', 'x')")
            connection.execute("SELECT pg_switch_wal()")


async def test_a_full_disk_is_told_as_such_and_forgotten_when_there_is_room(
    small_disk: Path,
) -> None:
    home = small_disk / "home"
    async with opened(home) as (_, world):
        filler = fill_up(small_disk)
        acknowledged: list[str] = []
        refused: list[IdeticError] = []
        with anyio.fail_after(90):
            # What files have left is used up first.
            while len(refused) < 5:
                text = f"Way {len(acknowledged)} is {secrets.token_hex(400)}"
                try:
                    await world.operator.prefer(text)
                    acknowledged.append(text)
                except IdeticError as error:
                    refused.append(error)
        assert {type(error) for error in refused} == {DatabaseUnavailable}
        with EmbeddedServer.acquire(home) as lease:
            exhaust_the_wal(lease.dsn())
            with anyio.fail_after(60):
                while status(home).pid is not None:  # noqa: ASYNC110 - it is another process
                    await anyio.sleep(0.1)
        # The watch tries meanwhile, in vain.
        await anyio.sleep(3)
        with pytest.raises(DatabaseUnavailable):
            await world.operator.recall("way")
        filler.unlink()
        assert await answering(lambda: world.operator.prefer("There is room again.")) < WITHIN
        found = kept(home)
    assert set(acknowledged) <= set(found)
    assert max(found.values()) == 1
