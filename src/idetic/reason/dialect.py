"""What an OpenAI-compatible server takes, learnt from what it turns away.

Servers differ in three things: strict JSON schemas (many take only `json_object`), the name of
the answer's limit (`max_tokens` is the one most know; OpenAI's reasoning models know only the
newer one), and whether the temperature may be set. Each is given up at most once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .endpoint import Endpoint
from .questions import Message, Question

# Any fixed number: with temperature 0 it makes an answer as repeatable as the server can.
_SEED = 7


@dataclass(slots=True)
class Dialect:
    """The way one server is asked."""

    schema: bool = True
    limit: str = "max_tokens"
    steady: bool = True

    def request(
        self, endpoint: Endpoint, question: Question, messages: list[Message]
    ) -> dict[str, Any]:
        """The body of one request."""
        body = self._settings(endpoint)
        schema = question.schema()
        if self.schema:
            named = {"name": question.name, "strict": True, "schema": schema}
            form = {"type": "json_schema", "json_schema": named}
            return {**body, "messages": messages, "response_format": form}
        # Without a schema of its own the server cannot show the model the form: we do.
        first, *rest = messages
        told = f"{first['content']}\nThe JSON object fits this schema: {json.dumps(schema)}\n"
        shown = [{**first, "content": told}, *rest]
        return {**body, "messages": shown, "response_format": {"type": "json_object"}}

    def chat(
        self,
        endpoint: Endpoint,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        """The body of one request of a conversation; it asks for no form."""
        body = {**self._settings(endpoint), "messages": list(messages)}
        return {**body, "tools": list(tools)} if tools else body

    def _settings(self, endpoint: Endpoint) -> dict[str, Any]:
        body: dict[str, Any] = {"model": endpoint.model, self.limit: endpoint.answer_tokens}
        return {**body, "temperature": 0, "seed": _SEED} if self.steady else body

    def concede(self, parameter: str | None) -> bool:
        """Give up what the server turned away; False if there is nothing left to give up."""
        if parameter == "max_tokens" and self.limit == parameter:
            self.limit = "max_completion_tokens"
        elif parameter in ("temperature", "seed") and self.steady:
            self.steady = False
        elif self.schema:
            self.schema = False
        else:
            return False
        return True


# What the chat format wraps around each message, and around the whole.
_PER_MESSAGE = " . . . . . . . ."


def prompt_of(request: Mapping[str, Any]) -> str:
    """All of a request that a server may count as prompt."""
    said = [(message.get("content") or "") + _PER_MESSAGE for message in request["messages"]]
    called = [message["tool_calls"] for message in request["messages"] if "tool_calls" in message]
    told = [request[key] for key in ("response_format", "tools") if key in request]
    return "\n".join([*said, *map(json.dumps, (*called, *told))])
