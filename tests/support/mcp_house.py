"""A database with two tenants and keys to them, and real MCP servers in front of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from idetic import Capability, Idetic, Principal
from idetic.library.handles import Agent
from tests.conftest import TestDatabase, World, make_world
from tests.support.children import child, within
from tests.support.databases import row_counts

WAIT = 60
# What must never be told: a traceback, a statement, the driver's words, a path of the source.
NEVER = ("Traceback", 'File "', "SELECT ", "INSERT INTO", "psycopg", "SQLSTATE", "idetic/store")


@dataclass(frozen=True)
class Tenant:
    """One anchor, and a key for each kind of principal."""

    world: World
    keys: dict[str, str]

    @property
    def scope_words(self) -> list[str]:
        """The scope as options of the command line, without who asks."""
        ids = {"org_id": self.world.org_id, "domain_id": self.world.domain_id}
        anchor = [f"--anchor={name}={value}" for name, value in ids.items()]
        return ["--agent", "world_agent", *anchor]


@dataclass(frozen=True)
class House:
    """The database and its two tenants."""

    database: TestDatabase
    mine: Tenant
    theirs: Tenant

    def counts(self) -> dict[str, int]:
        """Rows of every table of the agent."""
        return row_counts(self.database.admin_dsn, "worlds")


async def make_house(database: TestDatabase) -> House:
    """Two tenants in a database that has the World Agent."""
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = await db.agent("world_agent")
        return House(database, await _tenant(db, agent), await _tenant(db, agent))


async def _tenant(db: Idetic, agent: Agent) -> Tenant:
    world = await make_world(db, agent)
    keys = {}
    for principal in (
        Principal.agent("explorer"),
        Principal.operator("ada"),
        Principal.customer("cleo"),
        Principal.auditor("ben"),
    ):
        keys[principal.kind.value] = await key_for(db, world, principal)
    return Tenant(world, keys)


async def key_for(
    db: Idetic, world: World, principal: Principal, only: list[Capability] | None = None
) -> str:
    """A new key to a world."""
    made = await db.keys.create(
        agent="world_agent",
        principal=principal,
        anchor={"org_id": world.org_id, "domain_id": world.domain_id},
        capabilities=only,
    )
    return made.key


# --- servers ------------------------------------------------------------------------------------

PROGRAM = ("-m", "idetic")
# For fixtures of a module, which come before the one that keeps tests out of the user's home.
NO_HOME = str(Path(tempfile.gettempdir(), f"idetic-no-home-{uuid4().hex}"))


def environment(house: House, **more: str) -> dict[str, str]:
    """What a server process is given; nothing of the machine's own Idetic."""
    source = os.pathsep.join(path for path in sys.path if path)
    named = {"IDETIC_DSN": house.database.dsn, "PYTHONPATH": source, "XDG_CONFIG_HOME": NO_HOME}
    return {"IDETIC_HOME": os.environ.get("IDETIC_HOME", NO_HOME), **named, **more}


@asynccontextmanager
async def over_stdio(
    house: House,
    *arguments: str,
    key: str | None = None,
    mode: str = "auto",
    program: tuple[str, ...] = PROGRAM,
    **more: str,
) -> AsyncIterator[tuple[Client, IO[str]]]:
    """A client of a server that it started; and what the server wrote to stderr."""
    named = {} if key is None else {"IDETIC_KEY": key}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*program, "mcp", *arguments],
        env=environment(house, **named, **more),
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        async with Client(stdio_client(parameters, errlog=said), mode=mode) as client:
            yield client, said


@dataclass
class Served:
    """A server process over HTTP."""

    process: subprocess.Popen[str]
    address: str
    said: Path = field(default_factory=Path)

    @asynccontextmanager
    async def client(self, key: str, mode: str = "auto") -> AsyncIterator[Client]:
        """The SDK's client, showing a key."""
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=WAIT) as http:
            transport = streamable_http_client(self.address, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(timeout=WAIT)


@contextmanager
def over_http(
    house: House, *arguments: str, program: tuple[str, ...] = PROGRAM
) -> Iterator[Served]:
    """A server at a free port."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        said = Path(place, "stderr")
        with said.open("w") as errors:
            started = child(
                [sys.executable, *program, "mcp", "--http", "--port", "0", "--json", *arguments],
                # It may serve all tests of a file.
                patience=None, stdout=subprocess.PIPE, stderr=errors,
                env={**os.environ, **environment(house)},
            )  # fmt: skip
            process = stack.enter_context(started)
        with within(process):
            address = _address(process)
        yield Served(process, address, said)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line == "}\n":
            return str(json.loads("".join(lines))["address"])
    raise AssertionError(f"the server ended with {process.wait()}")


@asynccontextmanager
async def connected(
    house: House, served: Served | None, key: str, mode: str = "auto"
) -> AsyncIterator[Client]:
    """A client of a server at a port, or without one of a server that it starts."""
    if served is None:
        async with over_stdio(house, key=key, mode=mode) as (client, _):
            yield client
        return
    async with served.client(key, mode) as client:
        yield client


# --- answers ------------------------------------------------------------------------------------


def text_of(result: CallToolResult) -> str:
    """The one text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert result.structured_content is None, "a second copy would cost the model twice"
    return content.text


async def call(client: Client, name: str, /, **arguments: Any) -> str:
    """A tool's text; it must not be an error."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refusal(client: Client, name: str, /, **arguments: Any) -> str:
    """The text of a refusal, which says what to do and nothing that it must not."""
    result = await client.call_tool(name, arguments)
    text = text_of(result)
    assert result.is_error, text
    assert text.startswith("Error ("), text
    assert "\nWhat to do: " in text, text
    clean(text)
    return text


def clean(text: str) -> None:
    """Nothing of the inside."""
    assert not [word for word in NEVER if word in text], text


def named(text: str, what: str) -> UUID:
    """An id that an answer names on a line of its own."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"{what}: ")]
    return UUID(line.removeprefix(f"{what}: "))


def canary() -> str:
    """A word that stands nowhere else."""
    return f"canary{uuid4().hex[:12]}"
