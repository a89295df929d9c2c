"""The paged core: in every prompt, within its budget; witnessed, undone and erased."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Principal, Subject, errors
from idetic.model import Decision
from tests.conftest import TestDatabase, World

pytestmark = pytest.mark.anyio
SHARED = True

RULE = "Name the desk that decides before you answer."
ELSEWHERE = "Which soup does the canteen serve?"


async def test_what_is_paged_in_stands_in_every_prompt(world: World) -> None:
    kept = await world.operator.prefer(RULE, claim=Claim("answer", "names", "the desk"))
    await world.operator.prefer("Say it in one sentence.", claim=Claim("answer", "length", "one"))
    assert kept.entry_id is not None
    paged = await world.memory.page_in(kept.entry_id, reason="needed in every case")
    assert paged.decision is Decision.UPDATE
    assert [entry.id for entry in await world.memory.core()] == [kept.entry_id]
    context = await world.memory.context(ELSEWHERE)
    first = context.included[0]
    assert (first.entry_id, first.core) == (kept.entry_id, True)
    assert "# core\n" in context.text
    assert context.text.count(RULE) == 1
    # The same question, asked of a session: the core still comes first and once.
    async with world.memory.session() as session:
        await session.observe("The desk is short of people today.")
        held = await session.context("what does the desk do?")
        assert held.text.index("# core\n") < held.text.index("# session\n")
        assert held.text.count(RULE) == 1
    out = await world.memory.page_out(kept.entry_id, reason="the case is closed")
    assert out.decision is Decision.UPDATE
    assert await world.memory.core() == []
    assert "# core" not in (await world.memory.context(ELSEWHERE)).text


async def test_paging_twice_changes_nothing_and_a_key_replays(world: World) -> None:
    kept = (await world.operator.prefer(RULE)).entry_id
    assert kept is not None
    first = await world.memory.page_in(kept, reason="needed", idempotency_key="once")
    again = await world.memory.page_in(kept, reason="needed", idempotency_key="once")
    assert (again.id, again.replayed) == (first.id, True)
    assert (await world.memory.page_in(kept, reason="needed")).decision is Decision.NOOP
    assert (await world.memory.page_out(kept, reason="done")).decision is Decision.UPDATE
    assert (await world.memory.page_out(kept, reason="done")).decision is Decision.NOOP


async def test_the_core_has_a_budget_of_its_own_and_pushes_nothing_out(world: World) -> None:
    budget = world.agent.spec.injection.core.budget
    held: list[UUID] = []
    told = ""
    while not told:
        number = len(held)
        text = f"Preference number {number}: the desk in branch {number} decides alone."
        made = await world.operator.prefer(text, claim=Claim(f"desk {number}", "is", "alone"))
        assert made.entry_id is not None
        try:
            await world.memory.page_in(made.entry_id, reason="needed")
            held.append(made.entry_id)
        except errors.TransitionRefused as refused:
            told = f"{refused.message} {refused.remedy}"
    assert f"its budget is {budget}" in told
    assert held[0].hex[-6:] in told, "it says what could be paged out"
    context = await world.memory.context(ELSEWHERE)
    assert [one.entry_id for one in context.included if one.core] == held
    assert sum(one.tokens for one in context.included if one.core) <= budget
    await world.memory.page_out(held[0], reason="room for another")
    last = (await world.operator.prefer("Ask first.")).entry_id
    assert last is not None
    assert (await world.memory.page_in(last, reason="needed")).decision is Decision.UPDATE


async def test_only_what_is_known_for_good_is_paged_in(world: World) -> None:
    async with world.memory.session() as session:
        noted = await session.observe("The desk is short of people today.")
        assert noted.entry_id is not None
        with pytest.raises(errors.TransitionRefused, match="session tier"):
            await world.memory.page_in(noted.entry_id, reason="needed")
    old = (await world.operator.prefer(RULE)).entry_id
    assert old is not None
    await world.operator.archive(old, reason="no longer so")
    with pytest.raises(errors.TransitionRefused, match="archived"):
        await world.memory.page_in(old, reason="needed")
    with pytest.raises(errors.EntryNotFound):
        await world.memory.page_in(uuid4(), reason="needed")
    with pytest.raises(errors.CapabilityRefused):
        await world.bind(Principal.customer("cora")).page_in(old, reason="needed")


async def test_the_chain_witnesses_it_and_undo_takes_it_back(
    world: World, database: TestDatabase
) -> None:
    kept = (await world.operator.prefer(RULE)).entry_id
    assert kept is not None
    paged = await world.memory.page_in(kept, reason="needed in every case")
    auditor = world.bind(Principal.auditor("ben"))
    assert (await auditor.verify()).problems == ()
    history = [one.transition for one in await world.operator.history(kept)]
    assert history == ["preferred", "paged_in"]
    with psycopg.connect(database.admin_dsn) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute("UPDATE worlds.world_agent_memory SET core_at = NULL")
        admin.commit()
        assert (await auditor.verify()).problems, (
            "a core that was changed behind the chain is found"
        )
        admin.execute("UPDATE worlds.world_agent_memory SET core_at = %s", (paged.at,))
    assert (await auditor.verify()).problems == ()
    await world.operator.undo(paged, reason="a mistake")
    assert await world.memory.core() == []
    assert (await auditor.verify()).problems == ()


async def test_what_is_archived_or_erased_is_in_no_prompt(world: World) -> None:
    one = (await world.operator.prefer("Ask Zora Quell before the importer is restarted.")).entry_id
    two = (await world.operator.prefer(RULE, claim=Claim("answer", "names", "desk"))).entry_id
    assert one is not None
    assert two is not None
    for entry in (one, two):
        await world.memory.page_in(entry, reason="needed")
    await world.operator.erase(Subject("Zora Quell"), reason="she asked")
    await world.operator.archive(two, reason="no longer so")
    assert await world.memory.core() == []
    context = await world.memory.context(ELSEWHERE)
    assert "Zora" not in context.text
    assert "# core" not in context.text


async def test_no_other_tenant_sees_the_core(world: World, other_world: World) -> None:
    kept = (await world.operator.prefer(RULE)).entry_id
    assert kept is not None
    await world.memory.page_in(kept, reason="needed")
    assert await other_world.memory.core() == []
    assert RULE not in (await other_world.memory.context(ELSEWHERE)).text
    with pytest.raises(errors.EntryNotFound):
        await other_world.memory.page_out(kept, reason="mine")
    assert len(await world.memory.core()) == 1, "control: it is there for its own"
