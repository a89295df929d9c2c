"""The third promise of the document: an Actor's prompt holds nothing of the Subconscious.

What is asserted is what a real server received. Each protection has a control in which it is off,
and in which the canary then arrives.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest

from idetic import Identity, Idetic, PersonaAgent
from idetic.embed import BgeSmall
from idetic.persona import prompt as prompt_module
from idetic.persona.events import EventKind, Persona, Visibility
from idetic.persona.persona_errors import HygieneBroken
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.retrieval import LtmHit, Scored
from idetic.reason import Endpoint
from idetic.spec.primitives import FuzzyHeuristics
from tests.conftest import TestDatabase
from tests.support import llm_server
from tests.support.chat import answering_with, texts
from tests.support.llm_server import LlmServer

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

CANARY = "the customer Zebulon is suspected of refund fraud"
TASK = "What is suspected of the customer Zebulon: refund fraud?"
KNOWN = "The customer Zebulon asked for a refund of order 1138."


class Peeking:
    """A view that says it is the Actor's and asks the Subconscious's memory: a leak on purpose."""

    persona = Persona.ACTOR

    def __init__(self, memory: PersonaMemory):
        self.agent_id = memory.agent_id
        self._memory = memory
        self._actor = memory.actor

    async def rag_query(self, text: str, *, limit: int = 8) -> Sequence[LtmHit]:
        return await self._memory.subconscious.rag_query(text, limit=limit)

    async def fuzzy_query(
        self, text: str, heuristics: FuzzyHeuristics | None = None
    ) -> Sequence[Scored]:
        return await self._memory.subconscious.fuzzy_query(text, heuristics)

    async def operational_notes(self, *, limit: int = 20) -> Sequence[Any]:
        return await self._actor.operational_notes(limit=limit)


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    with llm_server.running() as running:
        running.script(answering_with("Nothing that I know of."))
        yield running


@pytest.fixture
async def agent(database: TestDatabase, embedder: BgeSmall) -> AsyncIterator[PersonaAgent]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opened as db:
        made = await db.persona_agent(Identity("help-desk", prompt_tokens=8_000), tenant="acme")
        await remember(made)
        yield made


async def remember(agent: PersonaAgent) -> None:
    """The Actor knows of a refund; the Subconscious suspects something, in every kind of event."""
    async with agent.memory.loop("refund") as loop:
        await loop.append(EventKind.USER_INPUT, KNOWN)
    async with agent.memory.loop("suspect", Persona.SUBCONSCIOUS) as loop:
        for kind in EventKind:
            await loop.append(kind, f"{kind}: {CANARY}", visibility=Visibility.EXTERNAL)
    await agent.learn(f"Be careful: {CANARY}.", rubric=lambda old, new, told: _never())
    await agent.dream()


def _never() -> Any:
    from idetic.persona.learning import RubricVerdict  # noqa: PLC0415 - only here

    return RubricVerdict(False, "Never.")


def endpoint(llm: LlmServer) -> Endpoint:
    return Endpoint("any-model", llm.url, retries=0)


async def test_a_prompt_holds_what_the_actor_knows_and_nothing_that_only_the_other_does(
    agent: PersonaAgent, llm: LlmServer
) -> None:
    done = await agent.do(TASK, llm=endpoint(llm))
    (asked,) = llm.requests
    assert KNOWN in texts(asked)
    assert "suspected of refund fraud" not in texts(asked)
    assert "Be careful" not in texts(asked)
    assert {part.persona for part in done.prompt.parts} == {Persona.ACTOR}


async def test_the_canary_is_there_to_be_found(agent: PersonaAgent) -> None:
    """Without this, the test above would also pass on an empty memory."""
    memory = agent.memory
    assert isinstance(memory, PersonaMemory)
    assert any(CANARY in hit.entry.summary for hit in await memory.subconscious.rag_query(TASK))
    assert any(CANARY in one.entry.summary for one in await memory.subconscious.fuzzy_query(TASK))


async def test_sabotage_a_view_that_peeks_gets_an_error_and_nothing_is_sent(
    agent: PersonaAgent, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = agent.memory
    assert isinstance(memory, PersonaMemory)
    monkeypatch.setattr(memory, "actor", Peeking(memory))
    with pytest.raises(HygieneBroken) as caught:
        await agent.do(TASK, llm=endpoint(llm))
    assert llm.requests == []
    assert "Zebulon" not in str(caught.value)
    last = (await memory.subconscious.tail(0, Persona.ACTOR))[-1]
    assert last.kind is EventKind.ERROR
    for told in ("zebulon", "subconscious", "persona"):
        assert told not in last.content.lower(), "the Actor's own log tells nothing to infer from"


async def test_control_without_the_check_the_canary_reaches_the_server(
    agent: PersonaAgent, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = agent.memory
    assert isinstance(memory, PersonaMemory)
    monkeypatch.setattr(memory, "actor", Peeking(memory))
    monkeypatch.setattr(prompt_module, "check_hygiene", lambda parts, agent_id: None)
    await agent.do(TASK, llm=endpoint(llm))
    assert "suspected of refund fraud" in texts(llm.requests[0])


async def test_the_one_sanctioned_channel_reaches_the_prompt_as_a_quoted_note(
    agent: PersonaAgent, llm: LlmServer
) -> None:
    memory = agent.memory
    assert isinstance(memory, PersonaMemory)
    await memory.note("Ask a supervisor before you promise money back.")
    await agent.do(TASK, llm=endpoint(llm))
    assert "> Ask a supervisor before you promise money back." in (
        llm.requests[0].body["messages"][0]["content"].splitlines()
    )
    assert "suspected of refund fraud" not in texts(llm.requests[0])


async def test_who_proposes_a_change_is_shown_nothing_that_only_the_subconscious_knows(
    agent: PersonaAgent, llm: LlmServer
) -> None:
    """An identity is part of the Actor's prompt: what it is made of must not carry a secret."""
    llm.script(answering_with('{"add": null, "replaces": null}'))
    await agent.learn("The customer Zebulon is waiting for a refund.", llm=endpoint(llm))
    assert "Zebulon asked for a refund" in texts(llm.requests[0])
    assert "suspected of refund fraud" not in texts(llm.requests[0])
