"""A name and anchor keys are a whole spec: what it keeps can be promoted, recalled and erased."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from idetic import Claim, Idetic, Principal
from idetic.embed import BgeSmall
from idetic.evidence import Outcome
from idetic.library.handles import Agent, Memory
from tests.conftest import TestDatabase

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
    assert "only if another source says the same" in plain.lifetime
    await session.close()
    assert "It rained all morning." not in await _texts(tutor, "It rained"), "as it said"

    (waiting,) = await operator.candidates()
    await operator.dispose([waiting.entry.id], Outcome.PROMOTE, reason="her mother confirmed it")
    assert await _texts(tutor, "What can Ada not eat?") == ["Ada is allergic to peanuts."]
    stated = await operator.prefer("Call her before noon.")
    assert stated.lifetime == "it stays until it is archived or replaced"

    erased = await operator.erase("peanuts", reason="she asked for it")
    assert erased.entries
    assert "peanuts" not in str(await _texts(tutor, "What can Ada not eat?"))
    auditor = agent.bind(principal=Principal.auditor("eve"), **ADA)
    assert (await auditor.verify()).intact, "what a receipt says of time is no part of the chain"


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
