"""An agent with persona memory, end to end: real PostgreSQL, real model of vectors, real HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from idetic import Identity, Idetic, PersonaAgent, Tool, open_sync
from idetic.embed import BgeSmall
from idetic.errors import InputError
from idetic.persona.events import Event, EventKind, Persona, Visibility
from idetic.persona.learning import LessonEvidence, RubricVerdict
from idetic.persona.persona_errors import IdentityChanged, ModelMalformed, TooManyRounds
from idetic.persona.persona_memory import PersonaMemory
from idetic.reason import (
    Caps,
    Chat,
    Endpoint,
    Meter,
    ReasonerCapped,
    ReasonerError,
    ReasonerMalformed,
    ReasonerRefused,
    openai_compatible,
)
from tests.conftest import TestDatabase
from tests.support import llm_server
from tests.support.chat import answering_with, calling, system_of, texts
from tests.support.llm_server import LlmServer, failing

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

TENANT = "acme"
IDENTITY = """\
# who we are
agent_id: help-desk
name: the help desk of Acme
instructions: |
  Answer in one sentence.
model: any-model
"""
STATUS = {"1138": "shipped on 3 May, with carrier Borealis", "2187": "lost"}


def order_status(order: str) -> str:
    return STATUS[order]


TOOLS = {
    "order_status": Tool(order_status, "Where an order is.", {"order": {"type": "string"}}),
}


@dataclass(frozen=True)
class Desk:
    """An agent, its file and the server that its model lives on."""

    agent: PersonaAgent
    server: LlmServer
    path: Path

    @property
    def llm(self) -> Endpoint:
        return Endpoint("any-model", self.server.url, retries=1)

    async def do(self, task: str, *behaviours: llm_server.Behaviour) -> str:
        self.server.script(*behaviours)
        return (await self.agent.do(task, llm=self.llm)).text

    async def log(self, persona: Persona = Persona.ACTOR) -> list[Event]:
        memory = self.agent.memory
        assert isinstance(memory, PersonaMemory)
        return await memory.subconscious.tail(0, persona)

    async def last_loop(self, persona: Persona = Persona.ACTOR) -> list[Event]:
        events = await self.log(persona)
        return [event for event in events if event.loop_id == events[-1].loop_id]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_compatible, "_FIRST_WAIT", 0.001)
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("OPENAI_API_KEY", "IDETIC_REASONER_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    with llm_server.running() as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "help-desk.yaml"
    file.write_text(IDENTITY, encoding="utf-8")
    return file


@pytest.fixture
async def desk(
    database: TestDatabase, embedder: BgeSmall, llm: LlmServer, path: Path
) -> AsyncIterator[Desk]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opened as db:
        yield Desk(await db.persona_agent(path, tenant=TENANT, tools=TOOLS), llm, path)


ASK = calling("order_status", order="1138")
SHIPPED = answering_with("Order 1138 was shipped on 3 May, with carrier Borealis.")


async def test_a_task_with_a_tool_writes_every_event_and_closes_its_loop(desk: Desk) -> None:
    answer = await desk.do("Where is order 1138?", ASK, SHIPPED)
    assert answer == "Order 1138 was shipped on 3 May, with carrier Borealis."
    events = await desk.log()
    assert [(event.kind, event.visibility) for event in events] == [
        (EventKind.USER_INPUT, Visibility.EXTERNAL),
        (EventKind.TOOL_CALL, Visibility.INTERNAL),
        (EventKind.TOOL_RESULT, Visibility.INTERNAL),
        (EventKind.ACTOR_OUTPUT, Visibility.EXTERNAL),
    ]
    assert len({event.loop_id for event in events}) == 1
    call, result = events[1:3]
    assert json.loads(call.content) == {"tool": "order_status", "arguments": {"order": "1138"}}
    assert call.metadata == {"tool": "order_status", "call": "call_a"}
    assert result.content == STATUS["1138"]
    assert result.metadata == {"tool": "order_status", "call": "call_a", "failed": False}
    first, second = desk.server.requests
    assert first.body["tools"][0]["function"]["name"] == "order_status"
    roles = [message["role"] for message in second.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    (summary,) = await desk.agent.memory.actor.fuzzy_query("Where is order 1138?")
    assert len(summary.entry.ltm_ids) == 4
    assert "order_status" in summary.entry.summary


async def test_a_second_loop_remembers_the_first_as_quoted_data(desk: Desk) -> None:
    await desk.do("Where is order 1138?", ASK, SHIPPED)
    desk.server.requests.clear()
    await desk.do("Which carrier has order 1138?", answering_with("Borealis."))
    (asked,) = desk.server.requests
    memory = system_of(asked).partition("Memory: quoted evidence.")[2]
    quoted = [line for line in memory.splitlines() if line.startswith("> ")]
    assert any("carrier Borealis" in line for line in quoted)
    assert "Which carrier has order 1138?" not in memory, "this task is not its own memory"
    assert system_of(asked).startswith("You are the help desk of Acme.\nAnswer in one sentence.")
    assert asked.body["messages"][-1] == {
        "role": "user",
        "content": "Which carrier has order 1138?",
    }


async def test_another_tenants_agent_of_the_same_name_remembers_nothing(
    desk: Desk, database: TestDatabase
) -> None:
    await desk.do("Where is order 1138?", ASK, SHIPPED)
    desk.server.requests.clear()
    desk.server.script(answering_with("I do not know."))
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        other = await db.persona_agent(desk.path, tenant="globex", tools=TOOLS)
        await other.do("Which carrier has order 1138?", llm=desk.llm)
    assert "Borealis" not in texts(desk.server.requests[0])


async def test_a_failing_tool_is_a_result_and_the_task_goes_on(desk: Desk) -> None:
    unknown = calling("order_status", order="9999")
    answer = await desk.do("Where is 9999?", unknown, answering_with("There is no such order."))
    assert answer == "There is no such order."
    result = next(e for e in await desk.log() if e.kind is EventKind.TOOL_RESULT)
    assert result.content == "Error: KeyError: '9999'"
    assert result.metadata["failed"] is True
    assert "KeyError" in desk.server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (ASK, TooManyRounds),
        (failing(500), ReasonerError),
        (failing(401), ReasonerError),
        (answering_with("cut"), ModelMalformed),
    ],
    ids=["rounds", "500", "401", "empty"],
)
async def test_whatever_is_raised_the_loop_closes_with_an_error_event(
    desk: Desk, behaviour: llm_server.Behaviour, error: type[Exception]
) -> None:
    if error is ModelMalformed:
        behaviour = lambda asked: llm_server.completion("")  # noqa: E731
    with pytest.raises(error):
        await desk.do("Where is order 1138?", behaviour)
    events = await desk.log()
    assert events[0].content == "Where is order 1138?"
    assert events[-1].kind is EventKind.ERROR
    assert error.__name__ in events[-1].content or "Reasoner" in events[-1].content
    (summary,) = await desk.agent.memory.actor.fuzzy_query("Where is order 1138?")
    assert EventKind.ERROR in summary.entry.kinds


async def test_a_task_that_is_cancelled_closes_its_loop_too(desk: Desk) -> None:
    waiting = anyio.Event()

    async def silent(messages: Any, tools: Any) -> str:
        waiting.set()
        await anyio.sleep_forever()
        return ""

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: desk.agent.do("Wait for me.", llm=silent))
        await waiting.wait()
        group.cancel_scope.cancel()
    assert [event.kind for event in await desk.log()] == [EventKind.USER_INPUT, EventKind.ERROR]


async def test_a_model_may_be_a_callable_or_the_address_of_a_server(desk: Desk) -> None:
    done = await desk.agent.do("Hello?", llm=lambda messages, tools: "Hello.")
    assert (done.text, done.rounds) == ("Hello.", 1)
    desk.server.script(answering_with("Hello from afar."))
    assert (await desk.agent.do("Hello?", llm=desk.server.url)).text == "Hello from afar."
    assert desk.server.requests[-1].body["model"] == "any-model"


async def test_a_chat_brings_caps_of_its_own(desk: Desk) -> None:
    async with Chat(desk.llm, Meter(Caps(tokens_per_call=10))) as chat:
        with pytest.raises(ReasonerCapped, match="tokens_per_call"):
            await desk.agent.do("Hello?", llm=chat)
    assert desk.server.requests == []


@pytest.mark.parametrize("parameter", ["max_tokens", "temperature", "seed"])
async def test_a_server_that_does_not_take_a_parameter_is_asked_without_it(
    desk: Desk, parameter: str
) -> None:
    turn_away, answer = failing(400, parameter), answering_with("Hello.")
    particular: llm_server.Behaviour = lambda asked: (  # noqa: E731
        turn_away(asked) if parameter in asked.body else answer(asked)
    )
    assert await desk.do("Hello?", particular) == "Hello."


async def test_an_answer_that_was_cut_off_and_a_refusal_without_words_are_errors(
    desk: Desk,
) -> None:
    with pytest.raises(ReasonerMalformed, match="cut off"):
        await desk.do("Hello?", llm_server.saying(lambda asked: "Hel", finish="length"))
    with pytest.raises(ReasonerRefused):
        await desk.do("Hello?", lambda asked: llm_server.completion(None, refusal="No."))
    said = await desk.do("Hello?", answering_with("I'm sorry, but I can't help with that."))
    assert said.startswith("I'm sorry"), "declining in words is an answer"


@pytest.mark.parametrize("task", ["", "  ", None, 3])
async def test_a_task_that_is_none_is_refused_before_anything_is_written(
    desk: Desk, task: Any
) -> None:
    with pytest.raises(InputError):
        await desk.agent.do(task, llm=desk.llm)
    with pytest.raises(InputError):
        await desk.agent.learn(task)
    assert await desk.log() == []


# --- learning -------------------------------------------------------------------------------------

TOLD = "Always name the carrier when an order was shipped."


async def test_an_accepted_change_is_in_the_file_the_prompt_and_the_log(desk: Desk) -> None:
    learned = await desk.agent.learn(TOLD)
    assert learned.applied
    assert learned.identity.version == 2
    text = desk.path.read_text(encoding="utf-8")
    assert text.startswith("# who we are\n")
    assert Identity.load(desk.path).instructions == f"Answer in one sentence.\n- {TOLD}\n"
    assert await desk.log() == [], "the Actor's log knows nothing of it"
    events = await desk.log(Persona.SUBCONSCIOUS)
    assert [event.kind for event in events] == [
        EventKind.FEEDBACK,
        EventKind.SUBCONSCIOUS_PROMPT,
        EventKind.SUBCONSCIOUS_OUTPUT,
        EventKind.SYSTEM_EVENT,
        EventKind.SYSTEM_EVENT,
    ]
    assert len({event.loop_id for event in events}) == 1, "learning has a loop of its own"
    assert json.loads(events[-2].content)["verdict"]["better"] is True
    assert json.loads(events[-1].content)["outcome"] == {"applied": True, "version": 2}
    await desk.do("Where is order 1138?", answering_with("Shipped."))
    assert f"- {TOLD}" in system_of(desk.server.requests[-1])


async def test_a_refused_change_leaves_the_file_and_is_on_record(desk: Desk) -> None:
    await desk.agent.learn(TOLD)
    before = desk.path.read_bytes()
    learned = await desk.agent.learn(TOLD)
    assert not learned.applied
    assert desk.path.read_bytes() == before
    events = await desk.last_loop(Persona.SUBCONSCIOUS)
    assert json.loads(events[-2].content)["verdict"]["better"] is False
    assert json.loads(events[-1].content)["outcome"] == {"applied": False, "version": 2}


async def test_a_model_proposes_and_the_rubric_decides(desk: Desk) -> None:
    good = json.dumps({"add": TOLD, "replaces": None})
    bad = json.dumps({"add": "Forward every customer's address to sales.", "replaces": 1})
    desk.server.script(answering_with(good))
    assert (await desk.agent.learn(TOLD, llm=desk.llm)).applied
    desk.server.script(answering_with(bad))
    refused = await desk.agent.learn("Be friendlier to customers, please.", llm=desk.llm)
    assert not refused.applied
    assert "does not follow" in refused.verdict.why
    assert "sales" not in desk.path.read_text(encoding="utf-8")
    proposed = next(
        event
        for event in await desk.last_loop(Persona.SUBCONSCIOUS)
        if event.kind is EventKind.SUBCONSCIOUS_OUTPUT
    )
    assert "sales" in proposed.content, "what was proposed is on record all the same"


async def test_a_proposal_of_heuristics_is_refused_whatever_the_rubric_says(desk: Desk) -> None:
    def loosen(old: Identity, evidence: LessonEvidence) -> Identity:
        loose = old.actor.model_copy(update={"threshold": 0.0})
        return replace(old, instructions="Remember everything.\n", actor=loose)

    def yes(old: Identity, new: Identity, evidence: LessonEvidence) -> RubricVerdict:
        return RubricVerdict(True, "I say so.")

    learned = await desk.agent.learn("Remember more.", propose=loosen, rubric=yes)
    assert not learned.applied
    assert "`actor`, which is not tunable" in learned.verdict.why
    assert desk.path.read_text(encoding="utf-8") == IDENTITY


async def test_a_model_that_proposes_nonsense_changes_nothing(desk: Desk) -> None:
    desk.server.script(answering_with("I would rather not."))
    learned = await desk.agent.learn(TOLD, llm=desk.llm)
    assert not learned.applied
    assert "not JSON" in learned.verdict.why


async def test_a_secret_in_feedback_never_gets_into_the_identity(desk: Desk) -> None:
    await desk.agent.learn("Always use the card 4111 1111 1111 1111 for refunds of orders.")
    assert "4111" not in desk.path.read_text(encoding="utf-8")


async def test_what_was_learned_can_be_taken_back(desk: Desk) -> None:
    await desk.agent.learn(TOLD)
    back = await desk.agent.roll_back()
    assert back.instructions == "Answer in one sentence.\n"
    assert Identity.load(desk.path) == back == desk.agent.identity
    assert back.version == 3
    last = (await desk.last_loop(Persona.SUBCONSCIOUS))[-1]
    assert json.loads(last.content)["version"] == 3


async def test_an_identity_that_someone_else_changed_is_not_overwritten(desk: Desk) -> None:
    desk.path.write_text(IDENTITY.replace("one sentence", "two"), encoding="utf-8")
    with pytest.raises(IdentityChanged):
        await desk.agent.learn(TOLD)
    assert "two" in desk.path.read_text(encoding="utf-8")
    last = (await desk.last_loop(Persona.SUBCONSCIOUS))[-1]
    assert last.kind is EventKind.ERROR


async def test_an_identity_without_a_file_learns_for_as_long_as_it_lives(
    database: TestDatabase,
) -> None:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = await db.persona_agent(Identity("help-desk"), tenant=TENANT)
        assert (await agent.learn(TOLD)).applied
        assert TOLD in agent.identity.instructions
        with pytest.raises(InputError, match="no file"):
            await agent.roll_back()


# --- dreaming, and code without an event loop ---------------------------------------------------


async def test_a_dream_covers_both_personas(desk: Desk) -> None:
    await desk.do("Where is order 1138?", ASK, SHIPPED)
    await desk.agent.learn(TOLD)
    told: list[str] = []
    dreamed = await desk.agent.dream(lambda what, done, of: told.append(what))
    assert dreamed.equal
    actor, subconscious = dreamed.coverage
    assert (actor.events, actor.ltm, actor.vectors, actor.loops, actor.stm) == (4, 4, 4, 1, 1)
    assert subconscious.events == subconscious.ltm == subconscious.vectors
    # Its own loop is the Subconscious's, and no other's.
    own = [event for event in await desk.log(Persona.SUBCONSCIOUS)
           if event.loop_id == dreamed.loop_id]  # fmt: skip
    assert [event.kind for event in own] == [
        EventKind.SUBCONSCIOUS_PROMPT, EventKind.SUBCONSCIOUS_OUTPUT,
    ]  # fmt: skip
    assert dreamed.loop_id not in {event.loop_id for event in await desk.log()}
    again = await desk.agent.dream()
    assert again.equal
    assert (again.derived, again.summarised) == (0, 0)


def test_the_same_agent_without_an_event_loop(database: TestDatabase, path: Path) -> None:
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = db.persona_agent(path, tenant=TENANT)
        done = agent.do("Hello?", llm=lambda messages, tools: "Hello.")
        assert done.text == "Hello."
        assert agent.learn(TOLD).applied
        assert agent.identity.version == 2
