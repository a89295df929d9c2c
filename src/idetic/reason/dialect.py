"""What an OpenAI-compatible server takes, learnt from what it turns away.

Servers differ in three things: strict JSON schemas (many take only `json_object`), the name of
the answer's limit (`max_tokens` is the one most know; OpenAI's reasoning models know only the
newer one), and whether the temperature may be set. Each is given up at most once.
"""

from __future__ import annotations

import json
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
        body: dict[str, Any] = {"model": endpoint.model, self.limit: endpoint.answer_tokens}
        if self.steady:
            body |= {"temperature": 0, "seed": _SEED}
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


def prompt_of(request: dict[str, Any]) -> str:
    """All of a request that a server may count as prompt."""
    said = [message["content"] + _PER_MESSAGE for message in request["messages"]]
    return "\n".join([*said, json.dumps(request["response_format"])])
