"""Tools are declared as servers want them, and nothing they do ends a loop."""

from __future__ import annotations

from typing import Any

import pytest

from idetic.errors import InputError
from idetic.persona.conversation import (
    SHOWN_MAX,
    ModelReply,
    Tool,
    call_tool,
    checked_tools,
    conversation,
    read_reply,
)
from idetic.persona.persona_errors import ModelMalformed
from idetic.reason.endpoint import ToolCall

pytestmark = pytest.mark.anyio


def add(a: int, b: int = 1) -> int:
    return a + b


NUMBER = {"type": "integer"}
ADD = Tool(add, "Add two numbers.", {"a": NUMBER, "b": NUMBER}, frozenset({"b"}))


def test_a_tool_is_declared_as_chat_completions_have_it() -> None:
    assert ADD.declared("add") == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": NUMBER, "b": NUMBER},
                "required": ["a"],
                "additionalProperties": False,
            },
        },
    }


@pytest.mark.parametrize(
    ("arguments", "content", "failed"),
    [
        ('{"a": 1, "b": 2}', "3", False),
        ('{"a": 1}', "2", False),
        ("", "`a` is missing", True),
        ("{}", "`a` is missing", True),
        ('{"a": "1"}', 'not of type "integer"', True),
        ('{"a": true}', 'not of type "integer"', True),
        ('{"a": 1, "c": 2}', "no argument `c`", True),
        ("[1]", "not a JSON object", True),
        ("{a: 1}", "not JSON", True),
        ("[" * 100_000, "not JSON", True),
    ],
)
async def test_arguments_are_checked_before_the_call(
    arguments: str, content: str, failed: bool
) -> None:
    outcome = await call_tool({"add": ADD}, "add", arguments)
    assert content in outcome.content
    assert outcome.failed is failed


async def test_a_failing_tool_is_a_result_that_says_so() -> None:
    def broken() -> None:
        raise RuntimeError("the pump is dry")

    outcome = await call_tool({"broken": Tool(broken, "Breaks.")}, "broken", "{}")
    assert outcome.failed
    assert outcome.content == "Error: RuntimeError: the pump is dry"
    unknown = await call_tool({"add": ADD}, "subtract", "{}")
    assert unknown.failed
    assert unknown.content == "Error: There is no tool `subtract`. Known: add."


async def test_tools_may_be_async_and_may_return_anything() -> None:
    async def later(what: Any) -> Any:
        return {"got": what, "odd": {1, 2}.__class__}

    tool = Tool(later, "Later.", {"what": {}})
    outcome = await call_tool({"later": tool}, "later", '{"what": "ü\\u0000"}')
    assert not outcome.failed
    assert "ü" in outcome.content
    assert "\x00" not in outcome.content


async def test_a_long_result_is_shown_in_part() -> None:
    tool = Tool(lambda: "x" * 50_000, "Much.")
    outcome = await call_tool({"much": tool}, "much", "{}")
    assert len(outcome.content) == 50_000
    assert len(outcome.shown) == SHOWN_MAX
    assert outcome.shown.endswith("(cut)")


def test_tools_that_cannot_be_declared_are_refused() -> None:
    with pytest.raises(InputError, match="letters"):
        checked_tools({"my tool": ADD})
    with pytest.raises(InputError, match="not a `Tool`"):
        checked_tools({"add": add})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="`c`"):
        Tool(add, "Adds.", {"a": NUMBER}, frozenset({"c"}))
    with pytest.raises(InputError, match="function"):
        Tool("add", "Adds.")  # type: ignore[arg-type]
    assert checked_tools(None) == {}


CALL = ToolCall("c1", "add", '{"a": 1}')
MESSAGE = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}],
}


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Hello.", ModelReply("Hello.")),
        (ModelReply("Hello."), ModelReply("Hello.")),
        ({"content": "Hello."}, ModelReply("Hello.")),
        (MESSAGE, ModelReply("", (CALL,))),
        ({"tool_calls": [CALL]}, ModelReply("", (CALL,))),
        (
            {"tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]},
            ModelReply("", (ToolCall("call_1", "add", '{"a": 1}'),)),
        ),
        ("nul \x00 and \ud800", ModelReply("nul \\x00 and \\ud800")),
    ],
)
def test_replies_of_every_form_are_read(said: object, reply: ModelReply) -> None:
    assert read_reply(said) == reply


@pytest.mark.parametrize(
    "said",
    [None, 3, "", "  ", {}, {"content": 3}, {"content": "", "tool_calls": [{"id": "x"}]},
     {"tool_calls": ["add"]}, {"tool_calls": 3}],
)  # fmt: skip
def test_what_is_no_reply_is_a_clear_error(said: object) -> None:
    with pytest.raises(ModelMalformed):
        read_reply(said)


def test_a_reply_goes_on_as_a_message() -> None:
    assert ModelReply("", (CALL,)).message()["tool_calls"][0]["function"]["name"] == "add"
    assert "tool_calls" not in ModelReply("Hello.").message()


async def test_a_model_is_any_callable() -> None:
    class Echo:
        async def __call__(self, messages: Any, tools: Any) -> str:
            return str(messages[-1]["content"])

    async def echo(messages: Any, tools: Any) -> str:
        return str(messages[-1]["content"])

    def plain(messages: Any, tools: Any) -> str:
        return str(messages[-1]["content"])

    for llm in (Echo(), echo, plain):
        async with conversation(llm) as ask:
            assert (await ask([{"role": "user", "content": "hi"}], [])).text == "hi"


async def test_what_is_no_model_is_refused() -> None:
    for llm, said in ((3, "no model"), ("http://localhost:1/v1", "which model")):
        with pytest.raises(InputError, match=said):
            async with conversation(llm):  # type: ignore[arg-type]
                pass
