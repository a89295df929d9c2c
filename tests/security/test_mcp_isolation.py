"""Two tenants, one server: no word of one ever reaches the other's client.

The control takes away the predicate and the policies, and then the same walk does see them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from mcp import Client, MCPError
from psycopg import sql

from idetic import Idetic, Principal, Rule
from tests.support.aside import run
from tests.support.catalog import tables_of
from tests.support.databases import copy_of
from tests.support.mcp_house import (
    PROGRAM,
    House,
    canary,
    clean,
    make_house,
    named,
    over_http,
    over_stdio,
)
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio

SABOTAGED = ("-m", "tests.support.scope_sabotaged")


@dataclass(frozen=True)
class Planted:
    """What their tenant holds, and every id under which somebody might ask for it."""

    house: House
    words: tuple[str, ...]
    note: UUID
    preference: UUID
    session: UUID
    action: UUID


@pytest.fixture
def planted(server: TestServer, template: str) -> Iterator[Planted]:
    with copy_of(server, template) as database:
        yield run(_plant, database)


async def _plant(database: Any) -> Planted:
    house = await make_house(database)
    words = (canary(), canary())
    world = house.theirs.world
    async with Idetic.open(database.dsn) as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        kept = await memory.prefer(f"Their preference is {words[0]}.")
        session = await memory.session().open()
        note = await session.observe(f"Their note is {words[1]}.", refs=[Rule(world.rule.id)])
        assert kept.entry_id
        assert note.entry_id
        assert session.id
        await memory.contradict(kept.entry_id, Rule(world.rule.id), reason="it differs")
        action = uuid4()
        await memory.link_action(action, "rule_promotion", [kept.entry_id, note.entry_id])
    return Planted(house, words, note.entry_id, kept.entry_id, session.id, action)


async def walk(client: Client, planted: Planted) -> str:
    """Everything that a curious client can ask, with all the ids it could have guessed."""
    said: list[str] = []
    words = [*planted.words, "Their note", "Their preference", "preference", "note"]
    for word in words:
        said.append(await told(client, "recall", query=word))
        said.append(await told(client, "context", query=word))
        said.append(await told(client, "ask_world_agent", question=word))
        said.append(await told(client, "recall", query=word, limit=200, tiers=["persistent"]))
    for entry in (planted.note, planted.preference):
        said.append(await told(client, "explain", entry_id=str(entry)))
        said.append(await told(client, "explain", entry_id=str(entry), query="note"))
        said.append(await resource(client, f"idetic://entries/{entry}"))
    said.append(await told(client, "explain", action_id=str(planted.action)))
    said.append(await told(client, "list_contradictions"))
    theirs = str(planted.session)
    said.append(await told(client, "context", query="note", session_id=theirs))
    said.append(await told(client, "close_session", session_id=theirs))
    said.append(await told(client, "observe", text="I was here.", session_id=theirs))
    page = await client.list_resources()
    said.append(page.model_dump_json())
    return "\n".join(said)


async def told(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    text = "\n".join(getattr(each, "text", "") for each in result.content)
    clean(text)
    return text


async def resource(client: Client, uri: str) -> str:
    try:
        return (await client.read_resource(uri)).model_dump_json()
    except MCPError as error:
        return str(error)


def seen(said: str, planted: Planted) -> list[str]:
    """Which of their words, and of the ids that only they know, were told."""
    return [word for word in planted.words if word in said]


def state(planted: Planted) -> list[tuple[Any, ...]]:
    """Their rows: nobody else may have added to them, or closed their session."""
    world = planted.house.theirs.world
    with psycopg.connect(planted.house.database.admin_dsn) as admin:
        ledger = admin.execute(
            "SELECT count(*) FROM worlds.world_agent_memory_ledger WHERE org_id = %s",
            (world.org_id,),
        ).fetchall()
        closed = admin.execute(
            "SELECT scope_id, closed_at FROM worlds.world_agent_memory_scopes WHERE org_id = %s",
            (world.org_id,),
        ).fetchall()
    return ledger + closed


async def test_no_canary_over_http(planted: Planted) -> None:
    before = state(planted)
    with over_http(planted.house) as served:
        for who in ("operator", "auditor", "customer"):
            async with served.client(planted.house.mine.keys[who]) as client:
                said = await walk(client, planted)
            assert seen(said, planted) == [], who
    assert state(planted) == before


@pytest.mark.parametrize("how", ["key", "flags"])
async def test_no_canary_over_stdio(planted: Planted, how: str) -> None:
    before = state(planted)
    house = planted.house
    key = house.mine.keys["operator"] if how == "key" else None
    words = [] if how == "key" else [*house.mine.scope_words, "--as", "operator:ada"]
    async with over_stdio(house, *words, key=key) as (client, _):
        said = await walk(client, planted)
    assert seen(said, planted) == []
    assert state(planted) == before


async def test_control_the_holder_of_their_key_sees_them(planted: Planted) -> None:
    async with over_stdio(planted.house, key=planted.house.theirs.keys["operator"]) as (client, _):
        said = await told(client, "recall", query="Their note")
        said += await told(client, "recall", query="Their preference")
    assert seen(said, planted) == list(planted.words)


async def test_one_client_after_another_on_one_server_and_one_pool(planted: Planted) -> None:
    """The same server process, the same pooled connections, both keys in turn."""
    house = planted.house
    with over_http(house) as served:
        async with (
            served.client(house.theirs.keys["operator"]) as theirs,
            served.client(house.mine.keys["operator"]) as mine,
        ):
            for _ in range(10):
                own = await told(theirs, "recall", query="Their note Their preference")
                assert seen(own, planted) != []
                other = await told(mine, "recall", query="Their note Their preference")
                other += await told(mine, "context", query="Their note")
                assert seen(other, planted) == []


async def test_without_either_protection_the_same_walk_sees_them(planted: Planted) -> None:
    """The control: their words are there to be seen, and only the protections hide them."""
    house = planted.house
    with over_http(house, program=SABOTAGED) as served:
        async with served.client(house.mine.keys["operator"]) as client:
            said = await told(client, "recall", query="Their note")
            assert seen(said, planted) == [], "the policies alone still hide them"
    with psycopg.connect(house.database.admin_dsn) as admin:
        for table in tables_of(admin, "worlds"):
            off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
            admin.execute(off.format(sql.Identifier("worlds", table.name)))
    with over_http(house, program=PROGRAM) as served:
        async with served.client(house.mine.keys["operator"]) as client:
            said = await told(client, "recall", query="Their note")
            assert seen(said, planted) == [], "the predicate alone still hides them"
    with over_http(house, program=SABOTAGED) as served:
        async with served.client(house.mine.keys["operator"]) as client:
            said = await walk(client, planted)
            assert set(seen(said, planted)) == set(planted.words)


async def test_control_a_session_of_theirs_is_only_theirs_to_close(planted: Planted) -> None:
    house = planted.house
    async with over_stdio(house, key=house.mine.keys["operator"]) as (client, _):
        said = await told(client, "close_session", session_id=str(planted.session))
        assert "no such session" in said
    async with over_stdio(house, key=house.theirs.keys["operator"]) as (client, _):
        said = await told(client, "close_session", session_id=str(planted.session))
        assert "Error" not in said
        later = await told(client, "observe", text="A new one.")
        assert named(later, "session") != planted.session
