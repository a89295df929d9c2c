"""Fixtures: one real embedded server for the whole run, one new database for each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from idetic import Idetic, Principal, Ref
from idetic.context.worlds import Worlds
from idetic.embed import BgeSmall, install, load
from idetic.library.handles import Agent, Memory
from idetic.store.database import APP_ROLE
from idetic.store.embedded import EmbeddedServer
from idetic.world import load_world
from tests.support import aside, scratch

pytest_plugins = ["tests.support.started"]
RULE_TEXT = (
    "A wire transfer above ten thousand must be checked by two operators before it is released, "
    "and both checks must be recorded with their time and the operator's name."
)


def pytest_configure(config: pytest.Config) -> None:
    """Before the processes of a run are started: they inherit it."""
    place = scratch.take()
    if place is not None:
        config.add_cleanup(lambda: scratch.give_back(place))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def model_path() -> Path:
    """Where the real pinned model lies, installed if it is not yet."""
    return install().path


@pytest.fixture(scope="session")
def embedder(model_path: Path) -> BgeSmall:
    """The real pinned model."""
    return load(model_path)


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """The embedded server of this test run, in a home that is thrown away."""
    # Not tmp_path: pytest makes that 0700, and as root the server runs as another user.
    home = Path(tempfile.mkdtemp(prefix="idetic-tests-"))
    home.chmod(0o755)
    lease = EmbeddedServer.acquire(home)
    try:
        yield lease
    finally:
        lease.release()
        shutil.rmtree(home, ignore_errors=True)


@dataclass(frozen=True)
class TestDatabase:
    """A database of its own: the application's DSN and the superuser's."""

    __test__ = False

    dsn: str
    admin_dsn: str


@pytest.fixture
def empty_database(server: EmbeddedServer) -> Iterator[TestDatabase]:
    """A new database with nothing in it; both DSNs are the superuser's."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    dsn = server.dsn(dbname=name)
    yield TestDatabase(dsn, dsn)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def template(server: EmbeddedServer) -> str:
    """A database with the World Agent applied, copied for each test: much faster than anew."""
    name = "idetic_template"
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    async def prepare() -> None:
        async with Idetic.open(server.dsn(dbname=name)) as db:
            await db.agent("world_agent")

    aside.run(prepare)
    server.ensure_login(APP_ROLE)
    return name


@pytest.fixture(scope="session")
def demo_template(server: EmbeddedServer, template: str) -> str:
    """The same with the demo world in it, without vectors; loading it takes longest of all."""
    name = "idetic_demo_template"
    made, source = sql.Identifier(name), sql.Identifier(template)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(made, source))

    async def prepare() -> None:
        async with Idetic.open(server.dsn(dbname=name)) as db:
            await load_world(db)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDETIC_HOME", str(server.home / "no-model"))
        patch.delenv("IDETIC_MODEL_DIR", raising=False)
        aside.run(prepare)
    return name


@pytest.fixture
def database(server: EmbeddedServer, template: str) -> Iterator[TestDatabase]:
    """A new database with the World Agent applied, reached as the application role."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    yield TestDatabase(server.dsn(user=APP_ROLE, dbname=name), server.dsn(dbname=name))
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    """An open Idetic, as the application role."""
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as opened:
        yield opened


@pytest.fixture
async def agent(db: Idetic) -> Agent:
    return await db.agent("world_agent")


@dataclass(frozen=True)
class World:
    """One registered anchor: a tenant with a world, one rule, and memory for each principal."""

    org_id: UUID
    domain_id: UUID
    world_id: UUID
    rule: Ref
    agent: Agent
    worlds: Worlds

    def bind(self, principal: Principal) -> Memory:
        return self.agent.bind(org_id=self.org_id, domain_id=self.domain_id, principal=principal)

    @property
    def memory(self) -> Memory:
        return self.bind(Principal.agent("explorer"))

    @property
    def operator(self) -> Memory:
        return self.bind(Principal.operator("ada"))


async def make_world(db: Idetic, agent: Agent) -> World:
    org_id, domain_id = uuid4(), uuid4()
    worlds = Worlds(db)
    world_id = await worlds.register(org_id, domain_id, "Payments")
    rule = await worlds.put_rule(org_id, world_id, RULE_TEXT)
    return World(org_id, domain_id, world_id, rule, agent, worlds)


@pytest.fixture
async def world(db: Idetic, agent: Agent) -> World:
    return await make_world(db, agent)


@pytest.fixture
async def other_world(db: Idetic, agent: Agent) -> World:
    """Another tenant in the same database."""
    return await make_world(db, agent)


@pytest.fixture(autouse=True)
def _no_home_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may touch the user's own embedded server, or heed the user's own settings file."""
    nowhere = Path(tempfile.gettempdir())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(nowhere / "idetic-no-settings"))
    monkeypatch.setenv("IDETIC_HOME", str(nowhere / f"idetic-no-home-{uuid4().hex}"))
