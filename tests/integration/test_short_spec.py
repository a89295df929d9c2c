"""A name and anchor keys are a whole spec: what it keeps can be promoted, recalled and erased."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from idetic import Claim, Idetic, Principal, errors
from idetic.embed import BgeSmall
from idetic.evidence import Outcome
from idetic.library.handles import Agent, Memory
from tests.conftest import TestDatabase
from tests.support.clock import SettableClock

pytestmark = pytest.mark.anyio
SHORT = {"agent": "tutor", "anchor": {"keys": ["school_id:text", "pupil_id:text"]}}
ADA = {"school_id": "north", "pupil_id": "ada"}


@pytest.fixture
async def agent(database: TestDatabase, embedder: BgeSmall) -> AsyncIterator[Agent]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opened as db:
        plan = await db.apply(SHORT)
        assert plan.to_version == 1
        assert (await db.apply(SHORT)).empty, "the same short spec is the same spec"
        yield await db.agent(SHORT)


async def test_what_is_observed_is_promoted_by_an_operator_recalled_and_erased(
    agent: Agent,
) -> None:
    tutor = agent.bind(principal=Principal.agent("tutor"), **ADA)
    operator = agent.bind(principal=Principal.operator("ida"), **ADA)
    session = await tutor.session().open()
    said = await session.observe(
        "Ada is allergic to peanuts.", claim=Claim("Ada", "allergic_to", "peanuts")
    )
    assert said.lifetime == (
        "it goes when its session closes; for its claim, what it says stays as a candidate, "
        "due for a decision in 30 days"
    )
    plain = await session.observe("It rained all morning.")
    assert plain.lifetime.endswith("waits as a candidate, after 30 days only if it is said again")
    await session.close()
    assert "It rained all morning." not in await _texts(tutor, "It rained"), "as it said"

    waiting, _ = await operator.candidates()
    await operator.dispose([waiting.entry.id], Outcome.PROMOTE, reason="her mother confirmed it")
    assert await _texts(tutor, "What can Ada not eat?") == ["Ada is allergic to peanuts."]
    stated = await operator.prefer("Call her before noon.")
    assert stated.lifetime == "it stays until it is archived or replaced"

    erased = await operator.erase("peanuts", reason="she asked for it")
    assert erased.entries
    assert "peanuts" not in str(await _texts(tutor, "What can Ada not eat?"))
    auditor = agent.bind(principal=Principal.auditor("eve"), **ADA)
    assert (await auditor.verify()).intact, "what a receipt says of time is no part of the chain"


RAIN, EMPTY = "The pool is closed when it rains.", "The corridor was empty."


async def test_what_others_repeat_without_a_claim_becomes_a_fact_and_what_nobody_repeats_goes(
    database: TestDatabase,
) -> None:
    clock = SettableClock()
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock) as db:
        agent = await db.agent(SHORT, apply=True)
        tutor, coach = (agent.bind(principal=Principal.agent(n), **ADA) for n in ("tutor", "coach"))
        upkeep = agent.bind(principal=Principal.maintenance("night"), **ADA)
        operator = agent.bind(principal=Principal.operator("ida"), **ADA)
        said = [await _say(tutor, RAIN), await _say(tutor, RAIN), await _say(tutor, RAIN)]
        (waiting,) = await operator.candidates()
        assert waiting.gates[1].why == "1 independent source, 3 needed", "one agent alone is one"
        said.append(await _say(coach, "When it rains, the pool is CLOSED"))
        assert await operator.candidates() == []
        assert await _texts(tutor, "When is the pool closed?") == [RAIN]
        behind = [one.source_id for one in await operator.lineage(waiting.entry.id)]
        assert behind == said, "the evidence of each source"
        assert {(await operator.get(one)).body_text.casefold()[:4] for one in behind} == {
            "the ", "when",
        }  # fmt: skip

        once = await _say(tutor, EMPTY)
        claimed = await _say(tutor, "Ada swims.", claim=Claim("Ada", "does", "swimming"))
        lone, kept = await operator.candidates()
        clock.advance(days=29)
        assert (await upkeep.dispose_tombstones()).expired == ()
        clock.advance(days=1)
        (gone,) = (await upkeep.dispose_tombstones()).expired
        assert (gone.entry_id, gone.reason) == (
            *(lone.entry.id, "nobody said it again within 30 days"),
        )
        assert [one.entry.id for one in await operator.candidates()] == [kept.entry.id]
        await operator.undo(gone, reason="it matters")
        assert (await upkeep.dispose_tombstones()).expired == (), "somebody wanted it"
        await operator.tombstone(lone.entry.id, reason="it does not")
        clock.advance(days=31)
        assert (await upkeep.dispose_tombstones()).disposed
        with pytest.raises(errors.EntryNotFound):
            await operator.get(once)
        assert (await operator.get(claimed)).body_text == "Ada swims."
        auditor = agent.bind(principal=Principal.auditor("eve"), **ADA)
        assert (await auditor.verify()).intact


async def _say(memory: Memory, text: str, **more: Any) -> UUID:
    """A session in which somebody says one thing; what was written."""
    async with memory.session() as session:
        said = await session.observe(text, **more)
    assert said.entry_id is not None
    return said.entry_id


async def test_a_refusal_and_a_replay_tell_no_other_lifetime(agent: Agent) -> None:
    tutor = agent.bind(principal=Principal.agent("tutor"), **ADA)
    session = await tutor.session().open()
    first = await session.observe("She reads at night.", idempotency_key="one")
    again = await session.observe("She reads at night.", idempotency_key="one")
    assert (again.replayed, again, again.lifetime) == (True, first, first.lifetime)
    inner = await session.interaction().open()
    within = await inner.observe("She likes maps.")
    assert within.lifetime.startswith("its session takes it over when its interaction closes")


async def _texts(memory: Memory, query: str) -> list[str]:
    """The texts of a recall's hits."""
    return [hit.entry.body_text for hit in await memory.recall(query)]
