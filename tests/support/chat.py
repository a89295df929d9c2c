"""What a chatting model says through the server of `llm_server`: answers, and tools to call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.llm_server import Asked, Behaviour, Said, completion, saying


def answering_with(text: str | Callable[[Asked], str]) -> Behaviour:
    return saying(lambda asked: text(asked) if callable(text) else text)


def calling(name: str, /, **arguments: Any) -> Behaviour:
    """A model that wants a tool called."""

    def call(asked: Asked) -> Said:
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": "call_a", "type": "function", "function": function}]
        return completion(None, finish="tool_calls", tool_calls=calls)

    return call


def texts(asked: Asked) -> str:
    """Everything that a request says, whoever says it."""
    return json.dumps(asked.body, ensure_ascii=False)


def system_of(asked: Asked) -> str:
    return str(asked.body["messages"][0]["content"])
