"""What works on memory does not hold the way to administer it, nor the words that open it.

The objects that an Actor, an agent or a key's holder is handed are walked, attribute by attribute,
into what they hold and close over: none of them leads to the admin login. The controls hide it in
each way in which an object can hold another, and the same walk finds it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import ref

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from idetic import Idetic, Principal
from idetic.persona.events import Persona
from idetic.persona.identity import Identity
from idetic.store.database import Administration, Database
from tests.conftest import TestDatabase, World, make_world
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
        return [
            way
            for way, one in reached(root)
            if isinstance(one, Administration | Idetic)
            or (isinstance(one, str | bytes) and any(word in str(one) for word in self.secrets))
        ]


@pytest.fixture
async def house(database: TestDatabase) -> AsyncIterator[House]:
    # A mark beside the password: a given server may have none, or one for every role.
    admin_dsn = make_conninfo(database.admin_dsn, application_name=f"admin-{uuid4().hex}")
    secrets = _words(admin_dsn) - _words(database.dsn)
    async with Idetic.open(database.dsn, admin_dsn=admin_dsn, embedder=FakeEmbedder()) as db:
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


@pytest.mark.parametrize("handed", HANDED, ids=lambda made: made.__name__)
async def test_what_is_handed_out_leads_to_no_administration(
    house: House, handed: Callable[[House], Awaitable[object]]
) -> None:
    root = await handed(house)
    doors = [one for _, one in reached(root) if isinstance(one, Database)]
    assert doors, "the walk gets as far as the door of the database"
    assert house.leaks(root) == []


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
