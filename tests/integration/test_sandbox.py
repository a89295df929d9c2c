"""A sandbox: a spec is applied and tried, and nothing of it is left."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from idetic import Idetic, Principal
from idetic.errors import InputError, ShadowRefused
from idetic.spec.loader import load
from idetic.store.sandbox import NAME
from tests.conftest import RULE_TEXT, TestDatabase, World
from tests.support.databases import every_row_count

pytestmark = pytest.mark.anyio


def sandbox_scope(world: World) -> dict[str, Any]:
    return {"org_id": world.org_id, "domain_id": world.domain_id}


async def test_a_spec_is_tried_and_nothing_is_left(
    db: Idetic, world: World, database: TestDatabase
) -> None:
    await world.operator.prefer("Answer in one sentence.")
    before = every_row_count(database.admin_dsn)
    async with db.sandbox("world_agent") as agent:
        memory = agent.bind(principal=Principal.agent("a"), **sandbox_scope(world))
        async with memory.session() as session:
            await session.observe("The bank closes early on Fridays.", refs=[world.rule])
            with pytest.raises(ShadowRefused):
                await session.observe(RULE_TEXT)
            found = await session.recall("when does the bank close?")
            assert [hit.entry.body_text for hit in found.hits] == [
                "The bank closes early on Fridays."
            ], "what was refused took nothing else with it, and the memory beside it is not read"
            # Others write meanwhile, in the family that stands.
            await world.operator.prefer("Answer in two sentences.")
            closed = await session.close()
        assert closed.count("proposed") == 1
        assert (await memory.list())[0].candidate
    after = every_row_count(database.admin_dsn)
    changed = {name for name, count in before.items() if after[name] != count}
    # The one preference that was written beside it.
    assert after["worlds.world_agent_memory"] == before["worlds.world_agent_memory"] + 1
    assert {name.split(".")[0] for name in changed} <= {"worlds", "idetic"}
    assert before.keys() == after.keys()


async def fails_in_a_sandbox(db: Idetic) -> None:
    async with db.sandbox("assistant_agent") as agent:
        memory = agent.bind(principal=Principal.agent("a"), tenant_id="t", user_id="ada")
        await memory.add("I live in Rome.")
        assert len(await memory.list()) == 1
        await memory.recall("where?", limit=-1)


async def test_what_fails_in_a_sandbox_leaves_nothing_either(
    db: Idetic, world: World, database: TestDatabase
) -> None:
    before = every_row_count(database.admin_dsn)
    with pytest.raises(InputError):
        await fails_in_a_sandbox(db)
    assert every_row_count(database.admin_dsn) == before


async def test_control_without_the_roll_back_everything_would_be_left(
    db: Idetic, world: World, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = psycopg.AsyncConnection.transaction
    monkeypatch.setattr(
        psycopg.AsyncConnection,
        "transaction",
        lambda self, **_options: real(self, force_rollback=False),
    )
    before = every_row_count(database.admin_dsn)
    async with db.sandbox("world_agent") as agent:
        memory = agent.bind(principal=Principal.agent("a"), **sandbox_scope(world))
        async with memory.session() as session:
            await session.observe("The bank closes early on Fridays.")
    after = every_row_count(database.admin_dsn)
    assert after[f"{NAME}.{NAME}_memory_ledger"] > 0
    assert after.keys() > before.keys()


async def test_a_spec_with_two_personas_is_not_tried(db: Idetic) -> None:
    with pytest.raises(InputError, match="two personas"):
        await db.sandbox(load("persona_agent")).__aenter__()
