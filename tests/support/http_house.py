"""A served database: the server as a process of its own, two tenants, and keys to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg

from idetic import Capability, Idetic, Principal
from tests.conftest import TestDatabase, World, make_world
from tests.support.children import child, within
from tests.support.databases import row_counts_on

WAIT = 60.0


@dataclass
class Process:
    """A server that runs: where, and how to end it."""

    address: str
    running: subprocess.Popen[str]
    keys: list[dict[str, str]]
    told: dict[str, Any]

    def stop(self, kind: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Ask it to stop; its exit code and what it said on stderr."""
        self.running.send_signal(kind)
        _, said = self.running.communicate(timeout=WAIT)
        return self.running.returncode, said


@contextmanager
def serving(database: TestDatabase, *options: str, module: str = "idetic") -> Iterator[Process]:
    """`idetic serve` as a user would start it, on a free port; it must end well."""
    command = [sys.executable, "-m", module, "serve", "--json", "--port", "0", *options]
    # The console's workshop tries specs, for which it needs what the demo needs.
    administers = {"--demo", "--console"} & set(options)
    admin = {"IDETIC_ADMIN_DSN": database.admin_dsn} if administers else {}
    with child(
        command,
        # It may serve all tests of a folder.
        patience=None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "IDETIC_DSN": database.dsn, **admin},
    ) as running:
        told = served_line(running)
        process = Process(told["address"], running, told["keys"], told)
        try:
            yield process
        finally:
            if running.poll() is None:
                code, said = process.stop()
                assert code == 0, said
                assert "Traceback" not in said


def served_line(running: subprocess.Popen[str]) -> dict[str, Any]:
    """What a server says once it serves: where, and the keys that it made."""
    assert running.stdout
    with within(running):
        line = running.stdout.readline()
    assert line, running.communicate(timeout=WAIT)[1]
    told: dict[str, Any] = json.loads(line)
    return told


class House:
    """A served database, its own handle on the library, and two tenants."""

    def __init__(
        self, database: TestDatabase, db: Idetic, worlds: tuple[World, World], process: Process
    ):
        self.database = database
        self.db = db
        self.world, self.other = worlds
        self.process = process
        self.address = process.address

    async def key(
        self,
        principal: Principal | None = None,
        only: list[Capability] | None = None,
        world: World | None = None,
        **options: Any,
    ) -> str:
        """A key to a world, an operator's unless said otherwise."""
        at = world or self.world
        made = await self.db.keys.create(
            agent="world_agent",
            principal=principal or Principal.operator("ada"),
            anchor={"org_id": at.org_id, "domain_id": at.domain_id},
            capabilities=only,
            **options,
        )
        return made.key

    def http(self, key: str | None = None) -> httpx.AsyncClient:
        """A client as anyone has one, with a key or without."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.AsyncClient(base_url=self.address, headers=headers, timeout=WAIT)

    def rows(self) -> dict[str, int]:
        """How many rows each table of memory holds, whosever they are."""
        with psycopg.connect(self.database.admin_dsn) as connection:
            return row_counts_on(connection, "worlds")


@asynccontextmanager
async def housed(
    database: TestDatabase, *options: str, module: str = "idetic", console: bool = False
) -> AsyncIterator[House]:
    """Two tenants in a database, and a server over it."""
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = await db.agent("world_agent")
        worlds = (await make_world(db, agent), await make_world(db, agent))
        pages = "--console" if console else "--no-console"
        flags = ("--no-worker", "--rate", "5000", pages, *options)
        with serving(database, *flags, module=module) as process:
            yield House(database, db, worlds, process)
