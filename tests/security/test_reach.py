"""What works on memory does not hold the way to administer it, nor the words that open it.

The objects that an Actor, an agent or a key's holder is handed are walked, attribute by attribute,
into what they hold and close over: none of them leads to the admin login. That holds on a server by
DSN, under another clock, on the embedded server, and for the forms without `await`. The controls
hide it in each way in which an object can hold another, and the same walk finds it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import ref

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from idetic import Idetic, Principal, open_sync
from idetic.library.sync import SyncIdetic
from idetic.persona.events import Persona
from idetic.persona.identity import Identity
from idetic.store.database import Administration, Database
from idetic.store.embedded import EmbeddedServer
from tests.conftest import TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import remembering, task
from tests.support.reaching import reached

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"


@dataclass(frozen=True)
class House:
    """An open database, and the words that only its admin login's address holds."""

    db: Idetic
    world: World
    admin_dsn: str
    secrets: frozenset[str]

    def leaks(self, root: object) -> list[str]:
        """By which ways the administration, or its address, is reached."""
        return leaks(root, self.secrets)


def leaks(root: object, secrets: frozenset[str]) -> list[str]:
    """By which ways the administration of a database, or a word of its address, is reached."""
    return [
        way
        for way, one in reached(root)
        if isinstance(one, Administration | Idetic | EmbeddedServer)
        or (isinstance(one, str | bytes) and any(word in str(one) for word in secrets))
    ]


def marked(database: TestDatabase) -> tuple[str, frozenset[str]]:
    """The admin login's address, and the words that it alone holds.

    A mark stands beside the password: a given server may have none, or one for every role.
    """
    admin_dsn = make_conninfo(database.admin_dsn, application_name=f"admin-{uuid4().hex}")
    return admin_dsn, _words(admin_dsn) - _words(database.dsn)


@pytest.fixture
async def house(database: TestDatabase) -> AsyncIterator[House]:
    admin_dsn, secrets = marked(database)
    async with Idetic.open(database.dsn, admin_dsn=admin_dsn, embedder=FakeEmbedder()) as db:
        world = await make_world(db, await db.agent("world_agent"))
        yield House(db, world, admin_dsn, secrets)


@pytest.fixture
async def under(house: House) -> House:
    """The same house where another clock tells the time."""
    db = house.db.under(SettableClock())
    world = await make_world(db, await db.agent("world_agent"))
    return House(db, world, house.admin_dsn, house.secrets)


@pytest.fixture
async def embedded(embedded_server: EmbeddedServer) -> AsyncIterator[House]:
    """A house on the embedded server, whose superuser's password lies in the same home."""
    admin_dsn = embedded_server.dsn()
    secrets = _words(admin_dsn)
    assert secrets, "the superuser has a password"
    async with Idetic.open(home=embedded_server.home, embedder=FakeEmbedder()) as db:
        world = await make_world(db, await db.agent("world_agent"))
        yield House(db, world, admin_dsn, secrets)


def _words(dsn: str) -> frozenset[str]:
    """What an address says of who opens it."""
    parts = conninfo_to_dict(dsn)
    return frozenset(
        str(parts[name]) for name in ("application_name", "password") if parts.get(name)
    )


async def actor(house: House) -> object:
    memory = await remembering(house.db)
    await task(memory, "When does the train leave?", "At noon.")
    await memory.actor.rag_query("train")
    return memory.actor


async def subconscious(house: House) -> object:
    return (await remembering(house.db)).subconscious


async def loop(house: House) -> object:
    return (await remembering(house.db)).loop("a task", Persona.ACTOR)


async def persona_agent(house: House) -> object:
    return await house.db.persona_agent(Identity("help-desk"), tenant="acme")


async def memory(house: House) -> object:
    await house.world.operator.prefer("Ask first.")
    await house.world.memory.recall("ask")
    return house.world.memory


async def session(house: House) -> object:
    opened = await house.world.memory.session().open()
    await opened.observe("Wires leave at noon.")
    return opened


async def a_keys_memory(house: House) -> object:
    made = await house.db.keys.create(
        agent="world_agent",
        principal=Principal.operator("ada"),
        anchor={"org_id": house.world.org_id, "domain_id": house.world.domain_id},
    )
    return await house.db.authenticate(made.key)


HANDED: tuple[Callable[[House], Awaitable[object]], ...] = (
    *(actor, subconscious, loop, persona_agent),
    *(memory, session, a_keys_memory),
)


each_handed = pytest.mark.parametrize("handed", HANDED, ids=lambda made: made.__name__)
Handed = Callable[[House], Awaitable[object]]


async def leads_nowhere(house: House, handed: Handed) -> bool:
    root = await handed(house)
    assert gets_to_the_door(root)
    return house.leaks(root) == []


@each_handed
async def test_what_is_handed_out_leads_to_no_administration(house: House, handed: Handed) -> None:
    assert await leads_nowhere(house, handed)


@each_handed
async def test_nor_under_another_clock(under: House, handed: Handed) -> None:
    assert await leads_nowhere(under, handed)
    # The control: the view itself leads there, as the house does.
    assert under.leaks(under.db) != []


@each_handed
async def test_nor_on_the_embedded_server(embedded: House, handed: Handed) -> None:
    assert await leads_nowhere(embedded, handed)
    assert embedded.leaks(embedded.db) != []


def gets_to_the_door(root: object) -> bool:
    """Whether the walk comes as far as the door of the database: or it would show nothing."""
    return any(isinstance(one, Database) for _, one in reached(root))


def blocking_actor(db: SyncIdetic) -> object:
    remembered = db.persona(Identity("help-desk"), tenant="acme")
    remembered.actor.rag_query("train")
    return remembered.actor


def blocking_loop(db: SyncIdetic) -> object:
    return db.persona(Identity("help-desk"), tenant="acme").loop("a task", Persona.ACTOR)


def blocking_persona_agent(db: SyncIdetic) -> object:
    return db.persona_agent(Identity("help-desk"), tenant="acme")


def blocking_memory(db: SyncIdetic) -> object:
    bound = db.agent("world_agent").bind(
        org_id=uuid4(), domain_id=uuid4(), principal=Principal.agent("explorer")
    )
    assert bound.list() == []
    return bound


def blocking_session(db: SyncIdetic) -> object:
    bound = db.agent("framework_agent").bind(
        tenant_id="acme", space="desk", principal=Principal.agent("explorer")
    )
    return bound.session().open()


BLOCKING: tuple[Callable[[SyncIdetic], object], ...] = (
    *(blocking_actor, blocking_loop, blocking_persona_agent),
    *(blocking_memory, blocking_session),
)


@contextmanager
def blocking_house(
    kind: str, request: pytest.FixtureRequest
) -> Iterator[tuple[SyncIdetic, frozenset[str]]]:
    """A database opened without `await`, and the words of its admin login."""
    if kind == "embedded":
        server: EmbeddedServer = request.getfixturevalue("embedded_server")
        with open_sync(home=server.home, embedder=FakeEmbedder()) as db:
            yield db, _words(server.dsn())
        return
    database: TestDatabase = request.getfixturevalue("database")
    admin_dsn, secrets = marked(database)
    with open_sync(database.dsn, admin_dsn=admin_dsn, embedder=FakeEmbedder()) as db:
        yield db.under(SettableClock()) if kind == "under" else db, secrets


@pytest.mark.parametrize("kind", ["house", "under", "embedded"])
@pytest.mark.parametrize("handed", BLOCKING, ids=lambda made: made.__name__)
def test_what_is_handed_out_without_await_leads_to_none_either(
    request: pytest.FixtureRequest, kind: str, handed: Callable[[SyncIdetic], object]
) -> None:
    with blocking_house(kind, request) as (db, secrets):
        root = handed(db)
        assert gets_to_the_door(root)
        assert leaks(root, secrets) == []
        # The control: the handle that opened the database leads there.
        assert leaks(db, secrets) != []


# --- controls ---------------------------------------------------------------------------------


class Plain:
    """Holds something in an attribute."""

    def __init__(self, held: object):
        self.held = held

    def method(self) -> None:
        """Bound, it holds its object."""


class Slotted:
    """Holds something in a slot, under a name of its class's own."""

    __slots__ = ("__held",)

    def __init__(self, held: object):
        self.__held = held


HIDDEN: dict[str, Callable[[Any], object]] = {
    "attribute": Plain,
    "slot": Slotted,
    "list": lambda held: Plain([1, (held,)]),
    "value": lambda held: {"a": {"b": held}},
    "key": lambda held: {held: 1},
    "closure": lambda held: lambda: held,
    "default": lambda held: lambda kept=held: kept,
    "partial": lambda held: partial(print, 1, end=held),
    "method": lambda held: Plain(held).method,
    "weak": ref,
    "generator": lambda held: (one for one in [held]),
}


@pytest.mark.parametrize("way", list(HIDDEN))
async def test_control_an_object_that_holds_it_is_found(house: House, way: str) -> None:
    hidden = HIDDEN[way](house.db.administration)
    assert house.leaks(hidden) != []


@pytest.mark.parametrize("way", list(HIDDEN))
async def test_control_an_actor_whose_layers_hold_it_is_found(house: House, way: str) -> None:
    """However deep: beside the pool that the Actor's tables are reached through."""
    remembered = await remembering(house.db)
    store = remembered.stores[Persona.ACTOR].store
    store.database.__dict__["aside"] = HIDDEN[way](house.db.administration)
    assert house.leaks(remembered.actor) != []


async def test_control_the_words_that_open_it_are_found(
    house: House, database: TestDatabase
) -> None:
    assert house.leaks(Plain({"dsn": house.admin_dsn})) != []
    assert house.leaks(Plain({"dsn": database.dsn})) == [], "and those of the application are not"
