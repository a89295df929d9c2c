"""Fixtures that several surface tests share: a served database, and one for frameworks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest

from idetic import Idetic, Principal
from idetic.library.handles import Agent, Memory
from tests.conftest import TestDatabase
from tests.support.clock import START, SettableClock
from tests.support.databases import copy_of
from tests.support.http_house import House, housed
from tests.support.servers import TestServer
from tests.support.templates import apply_agent, fill


@pytest.fixture(scope="module")
async def house(server: TestServer, template: str, anyio_backend: str) -> AsyncIterator[House]:
    """One served database for each file of tests over HTTP."""
    with copy_of(server, template) as database:
        async with housed(database) as made:
            yield made


@dataclass(frozen=True)
class Frameworks:
    """An open database with `framework_agent` applied, under a clock that the test sets.

    Tests share it and do not meet: each has tenants of its own.
    """

    db: Idetic
    agent: Agent
    clock: SettableClock
    database: TestDatabase
    own: str = field(default_factory=lambda: uuid4().hex)

    def memory(self, tenant_id: str = "acme", space: str = "support") -> Memory:
        return self.bind(Principal.agent("app"), tenant_id, space)

    def auditor(self, tenant_id: str = "acme", space: str = "support") -> Memory:
        return self.bind(Principal.auditor("ada"), tenant_id, space)

    def bind(self, who: Principal, tenant_id: str = "acme", space: str = "support") -> Memory:
        return self.agent.bind(tenant_id=f"{tenant_id} {self.own}", space=space, principal=who)


@pytest.fixture(scope="module")
def framework_template(server: TestServer, template: str) -> Iterator[str]:
    """The template with the agent for frameworks beside the World Agent."""
    name = f"idetic_framework_template_{uuid4().hex[:12]}"

    async def apply(db: Idetic) -> None:
        await apply_agent(server, db, "framework_agent")

    server.make_template(name, lambda name: fill(server, name, apply), base=template)
    yield name
    server.drop_template(name)


async def opened(database: TestDatabase) -> AsyncIterator[Frameworks]:
    clock = SettableClock()
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock) as db:
        yield Frameworks(db, await db.agent("framework_agent"), clock, database)


# For one file at a time: while an async fixture lives, no test without a loop can run one.
@pytest.fixture(scope="module")
async def shared_frameworks(
    server: TestServer, framework_template: str, anyio_backend: str
) -> AsyncIterator[Frameworks]:
    with copy_of(server, framework_template) as database:
        async for made in opened(database):
            yield made


@pytest.fixture
async def frameworks(shared_frameworks: Frameworks) -> Frameworks:
    """The shared database, for tenants of this test alone."""
    shared_frameworks.clock.moment = START
    return replace(shared_frameworks, own=uuid4().hex)


@pytest.fixture
async def lone_frameworks(server: TestServer, framework_template: str) -> AsyncIterator[Frameworks]:
    """A database of its own, for what changes more than a tenant."""
    with copy_of(server, framework_template) as database:
        async for made in opened(database):
            yield made


@pytest.fixture
def framework_database(server: TestServer, framework_template: str) -> Iterator[TestDatabase]:
    """The same, not opened: for what opens it without an event loop."""
    with copy_of(server, framework_template) as database:
        yield database
