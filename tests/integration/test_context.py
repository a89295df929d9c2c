"""The prompt block as an agent gets it: evidence, ceiling, stable order, read receipts."""

from __future__ import annotations

import psycopg
import pytest

from idetic import Claim, errors
from tests.conftest import TestDatabase, World

pytestmark = pytest.mark.anyio
SHARED = True


async def test_a_context_holds_the_session_and_what_was_recalled(world: World) -> None:
    await world.operator.prefer("Answer in one sentence.", claim=Claim("answer", "length", "one"))
    async with world.memory.session() as session, session.interaction() as turn:
        await session.observe("The desk is short of people today.")
        await turn.observe("The customer asks about a wire to Lisbon.", refs=[world.rule])
        context = await turn.context("How should I answer about the wire?")
    assert context.unknown is None
    assert context.tokens <= context.ceiling
    assert [i.tier for i in context.included] == ["persistent", "session", "interaction"]
    for body in ("Answer in one sentence.", "short of people", "wire to Lisbon"):
        assert body in context.text
    assert "As observed, not confirmed" in context.text, "what an agent saw is hedged as such"


@pytest.mark.alone
async def test_what_was_put_before_the_agent_is_recorded_as_read(
    world: World, database: TestDatabase
) -> None:
    async with world.memory.session() as session:
        seen = await session.observe("The desk is short of people today.")
        await session.context("Who is at the desk?")
    with psycopg.connect(database.admin_dsn) as admin:
        rows = admin.execute(
            "SELECT memory_id, session_id, read_by FROM worlds.world_agent_memory_reads"
        ).fetchall()
    assert rows == [(seen.entry_id, session.id, "agent:explorer")]


async def test_an_empty_memory_says_that_it_does_not_know(world: World) -> None:
    context = await world.memory.context("What is the limit for wires?")
    assert context.unknown
    assert "I don't know" in context.text
    assert context.included == ()


@pytest.mark.parametrize("budget", [1, 7, 40, 200])
async def test_a_small_budget_is_never_exceeded_and_says_what_gave_way(
    world: World, budget: int
) -> None:
    async with world.memory.session() as session:
        for number in range(12):
            await session.observe(f"Observation {number}: 日本語 🙂 " + "w" * 300)
        context = await session.context("observation", budget=budget)
    assert context.tokens <= budget
    assert len(context.included) + len(context.evicted) == 12


async def test_a_longer_session_only_appends_to_the_prompt(world: World) -> None:
    await world.operator.prefer("Answer in one sentence.", claim=Claim("answer", "length", "one"))
    async with world.memory.session() as session:
        await session.observe("First thing seen.")
        first = await session.context("what was seen?")
        await session.observe("Second thing seen.")
        second = await session.context("what was seen?")
    shared = first.text[: first.text.index("First thing seen.")]
    assert second.text.startswith(shared), "what a provider cached stays as it was"


async def test_a_budget_that_is_none_of_those_is_refused(world: World) -> None:
    for budget in (0, -1, 1.5, "many"):
        with pytest.raises(errors.InputError):
            await world.memory.context("anything", budget=budget)  # type: ignore[arg-type]
