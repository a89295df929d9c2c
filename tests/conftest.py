"""Fixtures: one real server for the whole run, one new database for each test.

The server is the embedded one, or what `IDETIC_TEST_DSN` points at.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from idetic import Idetic, Principal, Ref
from idetic.context import Worlds
from idetic.embed import BgeSmall, files, install, load
from idetic.library.handles import Agent, Memory
from idetic.store.database import APP_ROLE
from idetic.store.embedded import EmbeddedServer
from idetic.world import load_world
from tests.support import scratch
from tests.support.given_server import GivenServer, is_given
from tests.support.long_files import LongestFirst
from tests.support.not_applicable import NotApplicable
from tests.support.servers import EmbeddedTestServer, TestServer, quick_server
from tests.support.templates import apply_agent, fill
from tests.support.together import Dealing

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
    if is_given():
        config.pluginmanager.register(NotApplicable())
    config.pluginmanager.register(LongestFirst() if hasattr(config, "workerinput") else Dealing())


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def model_path() -> Path:
    """Where the real pinned model lies in its default form, installed if it is not yet."""
    return install(key=files.DEFAULT.key).path


@pytest.fixture(scope="session")
def reranker_path() -> Path:
    """Where the real pinned reranker lies, installed if it is not yet."""
    return install(key=files.RERANKER.key).path


@pytest.fixture(scope="session")
def embedder(model_path: Path) -> BgeSmall:
    """The real pinned model."""
    return load(model_path)


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[EmbeddedServer]:
    """An embedded server of this test run, in a home that is thrown away."""
    # Not tmp_path: pytest makes that 0700, and as root the server runs as another user.
    home = Path(tempfile.mkdtemp(prefix="idetic-tests-"))
    home.chmod(0o755)
    lease = quick_server(home)
    try:
        yield lease
    finally:
        lease.release()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """The server that databases are made on."""
    # Asked for by name: where a server is given, the embedded one is not started for nothing.
    found = (
        GivenServer(os.environ)
        if is_given()
        else EmbeddedTestServer(request.getfixturevalue("embedded_server"))
    )
    try:
        yield found
    finally:
        found.close()


@dataclass(frozen=True)
class TestDatabase:
    """A database of its own: the application's DSN and the superuser's."""

    __test__ = False

    dsn: str
    admin_dsn: str


@pytest.fixture
def empty_database(server: TestServer) -> Iterator[TestDatabase]:
    """A new database with nothing in it."""
    name = f"test_{uuid4().hex}"
    server.ensure_login(APP_ROLE)
    server.create(name)
    yield TestDatabase(server.dsn(user=APP_ROLE, dbname=name), server.dsn(dbname=name))
    server.drop(name)


@pytest.fixture(scope="session")
def template(server: TestServer) -> str:
    """A database with the World Agent applied, copied for each test: much faster than anew."""
    name = f"idetic_template_{uuid4().hex[:12]}"
    server.ensure_login(APP_ROLE)

    async def apply(db: Idetic) -> None:
        await apply_agent(server, db, "world_agent")

    server.make_template(name, lambda name: fill(server, name, apply))
    return name


@pytest.fixture(scope="session")
def demo_template(server: TestServer, template: str) -> str:
    """The same with the demo world in it, without vectors; loading it takes longest of all."""
    name = f"idetic_demo_template_{uuid4().hex[:12]}"

    def without_a_model(name: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("IDETIC_HOME", str(server.home / "no-model"))
            patch.delenv("IDETIC_MODEL_DIR", raising=False)
            fill(server, name, load_world)

    server.make_template(name, without_a_model, base=template)
    return name


@pytest.fixture(scope="session")
def persona_template(server: TestServer, template: str) -> str:
    """The same with the Persona Agent applied: two families, which takes more than a second."""
    name = f"idetic_persona_template_{uuid4().hex[:12]}"

    async def apply(db: Idetic) -> None:
        await apply_agent(server, db, "persona_agent")

    server.make_template(name, lambda name: fill(server, name, apply), base=template)
    return name


def shares(request: pytest.FixtureRequest) -> bool:
    """Whether a test shares the database of its file: a file says `SHARED = True`, and a test that
    changes more than a tenant of its own is marked `alone`.
    """
    shared: bool = getattr(request.module, "SHARED", False)
    return shared and request.node.get_closest_marker("alone") is None


def _database(request: pytest.FixtureRequest, server: TestServer) -> Iterator[TestDatabase]:
    """A copy of a template, dropped at the end.

    A module that says `TEMPLATE = "persona_template"` gets the Persona Agent, too.
    """
    name = f"test_{uuid4().hex}"
    server.copy(request.getfixturevalue(getattr(request.module, "TEMPLATE", "template")), name)
    yield TestDatabase(server.dsn(user=APP_ROLE, dbname=name), server.dsn(dbname=name))
    server.drop(name)


async def _db(database: TestDatabase) -> AsyncIterator[Idetic]:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as opened:
        yield opened


own_database = pytest.fixture(name="own_database")(_database)
shared_database = pytest.fixture(scope="module", name="shared_database")(_database)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> TestDatabase:
    """A database with the World Agent applied, reached as the application role: the test's own,
    or its file's.
    """
    which = "shared_database" if shares(request) else "own_database"
    found: TestDatabase = request.getfixturevalue(which)
    return found


@pytest.fixture
async def own_db(own_database: TestDatabase) -> AsyncIterator[Idetic]:
    async for opened in _db(own_database):
        yield opened


# While it lives a loop runs, so no test of such a file runs a loop of its own.
@pytest.fixture(scope="module")
async def shared_db(shared_database: TestDatabase, anyio_backend: str) -> AsyncIterator[Idetic]:
    async for opened in _db(shared_database):
        yield opened


@pytest.fixture
def db(request: pytest.FixtureRequest) -> Idetic:
    """An open Idetic, as the application role: on the test's own database, or on its file's."""
    found: Idetic = request.getfixturevalue("shared_db" if shares(request) else "own_db")
    return found


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
