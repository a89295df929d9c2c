"""The OpenAI Agents SDK with its sessions in Idetic, and a model that is none."""

from __future__ import annotations

from typing import Any

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Usage,
    function_tool,
)
from agents.memory import Session, SessionSettings
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from idetic.surfaces.openai_agents import IdeticSession
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

QUIET = RunConfig(tracing_disabled=True)


def message(text: str) -> ResponseOutputMessage:
    return ResponseOutputMessage(
        id="msg_1",
        role="assistant",
        status="completed",
        type="message",
        content=[ResponseOutputText(text=text, type="output_text", annotations=[])],
    )


class Scripted(Model):
    """Says what is in its script, and remembers what it was shown."""

    def __init__(self, *script: Any):
        self.script = list(script)
        self.shown: list[Any] = []

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the SDK calls it so
        *rest: Any,
        **more: Any,
    ) -> ModelResponse:
        self.shown.append(input)
        return ModelResponse(output=[self.script.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> Any:
        raise NotImplementedError


def said(shown: Any) -> list[str]:
    texts = []
    for item in shown:
        content = item.get("content", item.get("output"))
        texts.append(content if isinstance(content, str) else (content or [{}])[0].get("text", ""))
    return texts


async def test_a_run_sees_what_earlier_runs_said(frameworks: Frameworks) -> None:
    model = Scripted(message("Hello Ada."), message("Your name is Ada."))
    agent = Agent(name="helper", model=model)
    for _ in range(2):  # each run as after a restart: a session object of its own
        session = IdeticSession("chat-1", frameworks.memory())
        text = "I am Ada." if not model.shown else "What is my name?"
        result = await Runner.run(agent, text, session=session, run_config=QUIET)
    assert result.final_output == "Your name is Ada."
    assert said(model.shown[1]) == ["I am Ada.", "Hello Ada.", "What is my name?"]
    other = IdeticSession("chat-10", frameworks.memory())
    assert await other.get_items() == []


async def test_tool_calls_and_long_outputs_come_back_exactly(frameworks: Frameworks) -> None:
    @function_tool
    def report() -> str:
        """A long report."""
        return "line of the report\n" * 1_000

    call = ResponseFunctionToolCall(
        call_id="call_1", name="report", arguments="{}", type="function_call"
    )
    model = Scripted(call, message("Done."), message("Again."))
    agent = Agent(name="helper", model=model, tools=[report])
    session = IdeticSession("chat-1", frameworks.memory())
    await Runner.run(agent, "Report!", session=session, run_config=QUIET)
    await Runner.run(agent, "And?", session=session, run_config=QUIET)
    before, after = model.shown[1], model.shown[2]
    assert after[: len(before)] == before
    output = next(item for item in after if item.get("type") == "function_call_output")
    assert output["output"] == "line of the report\n" * 1_000


async def test_it_keeps_to_the_protocol(frameworks: Frameworks) -> None:
    session: Session = IdeticSession("chat-1", frameworks.memory())
    assert isinstance(session, Session)
    await session.add_items([{"role": "user", "content": str(n)} for n in range(5)])
    assert said(await session.get_items()) == ["0", "1", "2", "3", "4"]
    assert said(await session.get_items(limit=2)) == ["3", "4"]
    assert await session.get_items(limit=0) == []
    limited = IdeticSession("chat-1", frameworks.memory(), SessionSettings(limit=3))
    assert said(await limited.get_items()) == ["2", "3", "4"]
    assert said(await limited.get_items(limit=1)) == ["4"]
    last = await session.pop_item()
    assert last == {"role": "user", "content": "4"}
    await session.add_items([])
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    assert (await frameworks.auditor().verify()).entries == 5, "nothing of it is lost"


async def test_sessions_of_tenants_do_not_meet(frameworks: Frameworks) -> None:
    mine = IdeticSession("chat-1", frameworks.memory("acme"))
    theirs = IdeticSession("chat-1", frameworks.memory("zeta"))
    await mine.add_items([{"role": "user", "content": "canary"}])
    assert await theirs.get_items() == []
    await theirs.clear_session()
    assert len(await mine.get_items()) == 1
