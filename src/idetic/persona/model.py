"""The model an agent talks to: an endpoint, or any callable that takes messages and tools."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from anyio import to_thread

from idetic.errors import InputError
from idetic.persona.errors import ModelMalformed
from idetic.persona.tools import storable
from idetic.reason.caps import Caps, Meter
from idetic.reason.endpoint import ChatReply, Endpoint, ToolCall
from idetic.reason.openai_compatible import Chat

Message: TypeAlias = dict[str, Any]

CAPS = Caps(tokens_per_call=128_000, tokens_per_run=1_000_000)
"""What one task may take of an endpoint. For other caps, hand in a `Chat` with its own meter."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied: a text, tools to call, or both."""

    text: str = field(default="", repr=False)
    calls: tuple[ToolCall, ...] = ()

    def message(self) -> Message:
        """The reply as the conversation goes on with it."""
        said: Message = {"role": "assistant", "content": self.text}
        if self.calls:
            said["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in self.calls
            ]
        return said


Talk: TypeAlias = Callable[[list[Message], list[Message]], Any]
"""A callable that gets messages and declared tools, and returns text, a `Reply`, or a message."""

Llm: TypeAlias = Endpoint | Talk | str
"""An endpoint, such a callable, or a server's address: the model is then the identity's."""

Ask: TypeAlias = Callable[[list[Message], list[Message]], Awaitable[Reply]]


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

            async def ask(messages: list[Message], tools: list[Message]) -> Reply:
                return read_reply(await chat(messages, tools))

            yield ask
        return
    if not callable(llm):
        raise InputError(
            f"`llm` is a {type(llm).__name__}; that is no model.",
            remedy="Give an `Endpoint`, or a callable that takes messages and tools.",
        )

    async def call(messages: list[Message], tools: list[Message]) -> Reply:
        return read_reply(await _called(llm, messages, tools))

    yield call


async def _called(talk: Talk, messages: list[Message], tools: list[Message]) -> Any:
    if inspect.iscoroutinefunction(talk) or inspect.iscoroutinefunction(
        getattr(talk, "__call__", None)  # noqa: B004 - an object may have an async one
    ):
        return await talk(messages, tools)
    # A client that waits for a server must not hold up everyone else's loop.
    made = await to_thread.run_sync(talk, messages, tools)
    return await made if inspect.isawaitable(made) else made


def read_reply(said: object) -> Reply:
    """What a model or a callable returned, as a reply; anything else is refused."""
    if isinstance(said, Reply):
        reply = said
    elif isinstance(said, str):
        reply = Reply(said)
    elif isinstance(said, ChatReply):
        reply = Reply(said.content, said.calls)
    elif isinstance(said, Mapping):
        reply = _from_message(said)
    else:
        raise ModelMalformed(f"The model replied with a {type(said).__name__}.")
    if not reply.text.strip() and not reply.calls:
        raise ModelMalformed("The model replied with nothing.")
    return Reply(storable(reply.text), reply.calls)


def _from_message(message: Mapping[str, Any]) -> Reply:
    """A message as chat completions have it: `content` and `tool_calls`."""
    text, calls = message.get("content") or "", message.get("tool_calls") or ()
    if not isinstance(text, str) or not isinstance(calls, Sequence):
        raise ModelMalformed("The message's `content` is not text, or `tool_calls` no list.")
    return Reply(text, tuple(_call(place, call) for place, call in enumerate(calls, start=1)))


def _call(place: int, call: object) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not name:
        raise ModelMalformed("A tool call has no `function` with a `name`.")
    arguments = function.get("arguments") or {}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(str(call.get("id") or f"call_{place}"), str(name), text)
