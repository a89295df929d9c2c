"""A conversation with a model: an endpoint or any callable, its replies, and the tools it calls.

A tool that fails is a result that says so: the model can try again, and the loop goes on.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from anyio import to_thread
from pydantic import ValidationError

from idetic.errors import InputError
from idetic.persona.persona_errors import ModelMalformed
from idetic.reason.caps import Caps, Meter
from idetic.reason.endpoint import ChatReply, Endpoint, SentToolCall, ToolCall
from idetic.reason.openai_compatible import Chat

Message: TypeAlias = dict[str, Any]

CAPS = Caps(tokens_per_call=128_000, tokens_per_run=1_000_000)
"""What one task may take of an endpoint. For other caps, hand in a `Chat` with its own meter."""

# What a model is shown of a result; the log has all of it, up to its own bound.
SHOWN_MAX = 8_000
LOGGED_MAX = 200_000
_CUT = "\n… (cut)"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply: a text, tools to call, or both."""

    text: str = field(default="", repr=False)
    calls: tuple[ToolCall, ...] = ()

    def message(self) -> Message:
        """The reply as a message of the conversation."""
        message: Message = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in self.calls
            ]
        return message


Talk: TypeAlias = Callable[[list[Message], list[Message]], Any]
"""A callable that gets messages and declared tools, and returns text, a `ModelReply`, or a message.
"""

Llm: TypeAlias = Endpoint | Talk | str
"""An endpoint, such a callable, or a server's address: the model is then the identity's."""

Ask: TypeAlias = Callable[[list[Message], list[Message]], Awaitable[ModelReply]]


@asynccontextmanager
async def conversation(llm: Llm, model: str | None = None) -> AsyncIterator[Ask]:
    """A way to ask the model, open for one loop; `model` is the one of a bare address."""
    if isinstance(llm, str):
        if model is None:
            raise InputError(
                "An address alone does not say which model to ask.",
                remedy="Name one under `model` in the identity, or give an `Endpoint`.",
            )
        llm = Endpoint(model, llm)
    if isinstance(llm, Endpoint):
        async with Chat(llm, Meter(CAPS)) as chat:
            yield partial(_ask, chat)
        return
    if not callable(llm):
        raise InputError(
            f"`llm` is a {type(llm).__name__}; that is no model.",
            remedy="Give an `Endpoint`, or a callable that takes messages and tools.",
        )
    yield partial(_ask, llm)


async def _ask(talk: Talk, messages: list[Message], tools: list[Message]) -> ModelReply:
    """Ask a model once and read its reply, whichever form it has."""
    return read_reply(await _called(talk, messages, tools))


async def _called(function: Callable[..., Any], *args: Any, **given: Any) -> Any:
    """What a function returns, sync or async. A sync one runs in a thread: a client that waits
    for a server must not hold up everyone else's loop."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object may have an async one
    ):
        return await function(*args, **given)
    made = await to_thread.run_sync(partial(function, *args, **given))
    return await made if inspect.isawaitable(made) else made


def read_reply(answer: object) -> ModelReply:
    """What a model or a callable returned, as a reply; anything else is refused."""
    if isinstance(answer, ModelReply):
        reply = answer
    elif isinstance(answer, str):
        reply = ModelReply(answer)
    elif isinstance(answer, ChatReply):
        reply = ModelReply(answer.content, answer.calls)
    elif isinstance(answer, Mapping):
        reply = _from_message(answer)
    else:
        raise ModelMalformed(f"The model replied with a {type(answer).__name__}.")
    if not reply.text.strip() and not reply.calls:
        raise ModelMalformed("The model replied with nothing.")
    return ModelReply(escaped(reply.text), reply.calls)


def _from_message(message: Mapping[str, Any]) -> ModelReply:
    """A message as chat completions have it: `content` and `tool_calls`."""
    text, calls = message.get("content") or "", message.get("tool_calls") or ()
    if not isinstance(text, str) or not isinstance(calls, Sequence):
        raise ModelMalformed("The message's `content` is not text, or `tool_calls` no list.")
    return ModelReply(text, tuple(_tool_call(place, c) for place, c in enumerate(calls, start=1)))


def _tool_call(place: int, call: object) -> ToolCall:
    """A tool call in our form or in OpenAI's; one without an id is named by its place."""
    if isinstance(call, ToolCall):
        return call
    try:
        return SentToolCall.model_validate(call).at(place)
    except ValidationError:
        raise ModelMalformed("A tool call has no `function` with a `name`.") from None


@dataclass(frozen=True, slots=True)
class Tool:
    """A function, sync or async, with what a model must know to call it.

    `parameters` maps each argument's name to its JSON schema, for example
    `{"city": {"type": "string", "description": "Where"}}`; those in `optional` may be left out.
    """

    run: Callable[..., Any]
    description: str
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise InputError("A tool's `run` must be a function.")
        if unknown := frozenset(self.optional) - self.parameters.keys():
            raise InputError(f"The optional argument `{min(unknown)}` is not among `parameters`.")
        object.__setattr__(self, "optional", frozenset(self.optional))

    def declared(self, name: str) -> Message:
        """The tool as a chat completion declares it."""
        schema = {
            "type": "object",
            "properties": {key: dict(value) for key, value in self.parameters.items()},
            "required": [key for key in self.parameters if key not in self.optional],
            "additionalProperties": False,
        }
        about = {"name": name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": about}


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a call, and whether the tool failed."""

    content: str = field(repr=False)
    failed: bool = False

    @property
    def shown(self) -> str:
        """As much of the content as a model is shown."""
        return _cut(self.content, SHOWN_MAX)


def checked_tools(tools: Mapping[str, Tool] | None) -> dict[str, Tool]:
    """The tools by name; a name that no server takes is refused."""
    for name, tool in (tools or {}).items():
        if not isinstance(name, str) or not _NAME.match(name):
            raise InputError(
                "A tool's name must be 1 to 64 letters, digits, dashes and underscores.",
                remedy="Rename the tool.",
            )
        if not isinstance(tool, Tool):
            raise InputError(
                f"The tool `{name}` is a {type(tool).__name__}, not a `Tool`.",
                remedy="Wrap it: `Tool(function, description, parameters)`.",
            )
    return dict(tools or {})


async def call_tool(tools: Mapping[str, Tool], name: str, arguments: str) -> ToolOutcome:
    """Call a tool with arguments that a model wrote. Whatever goes wrong is the outcome."""
    tool = tools.get(name)
    if tool is None:
        return _failure(f"There is no tool `{name[:64]}`. Known: {', '.join(tools) or 'none'}.")
    values = _arguments(tool, arguments)
    if isinstance(values, str):
        return _failure(values)
    try:
        made = await _called(tool.run, **values)
        text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False, default=str)
        return ToolOutcome(_cut(escaped(text), LOGGED_MAX))
    # A tool is someone else's code: nothing it raises may end the loop.
    except Exception as error:  # noqa: BLE001
        return _failure(f"{type(error).__name__}: {error}")


def _arguments(tool: Tool, text: str) -> dict[str, Any] | str:
    """The arguments, or what is wrong with them in words for the model."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return "The arguments are not JSON."
    if not isinstance(arguments, dict):
        return "The arguments are not a JSON object."
    if unknown := sorted(arguments.keys() - tool.parameters.keys()):
        return f"There is no argument `{unknown[0][:64]}`."
    for name, schema in tool.parameters.items():
        if name not in arguments:
            if name not in tool.optional:
                return f"The argument `{name}` is missing."
        elif not _fits(arguments[name], schema.get("type")):
            return f"The argument `{name}` is not of type {json.dumps(schema.get('type'))}."
    return arguments


def _fits(value: Any, declared: Any) -> bool:
    """Whether a value has the declared type; what else a schema says is the tool's to check."""
    names = declared if isinstance(declared, list) else [declared]
    known = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
    if not known:
        return True
    if isinstance(value, bool):
        return any(bool in types for types in known)
    return any(isinstance(value, types) for types in known)


def _failure(reason: str) -> ToolOutcome:
    """The outcome of a call that failed, in words for the model."""
    return ToolOutcome(_cut(f"Error: {reason}", SHOWN_MAX), failed=True)


def _cut(text: str, most: int) -> str:
    """The text, or its beginning with a mark that it was cut."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def escaped(text: str) -> str:
    """A text as the log can hold it: NUL and lone surrogates become escapes."""
    if "\x00" not in text and text.isascii():
        return text
    whole = text.encode("utf-8", "backslashreplace").decode()
    return whole.replace("\x00", "\\x00")
