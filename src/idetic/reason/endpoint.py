"""The endpoint of a reasoner: which server and model, how it is asked, and what came back.

What came back is a reply, or a failure that says what may be done about it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from pydantic import AliasPath, BaseModel, Field, ValidationError

from idetic.errors import InputError

from .port import ReasonerError, ReasonerMalformed, ReasonerRefused, ReasonerUnavailable
from .questions import ReasonerQuestion

KEY_VARIABLE = "IDETIC_REASONER_KEY"
_OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
_OPENAI = "https://api.openai.com/v1"
# Any fixed number: with temperature 0 it makes an answer as repeatable as the server can.
_SEED = 7
# What the chat format wraps around each message, and around the whole.
_PER_MESSAGE = " . . . . . . . ."

_CHECK_ADDRESS = "Check `base_url`; for most servers it ends in `/v1`."
_BY_STATUS = {
    400: "Check the model's name and that the entries fit into its context.",
    401: "Check the reasoner's key.",
    403: "Check what the reasoner's key is allowed to do.",
    404: "Check the model's name and `base_url`; for most servers it ends in `/v1`.",
    429: "Try again later, or raise the limit at your provider.",
}
_LATER = "Try again later."


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that speaks `POST /chat/completions`, and a model it serves.

    Without `base_url` it is OpenAI's own.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """Without one, `IDETIC_REASONER_KEY`; for OpenAI's own server also `OPENAI_API_KEY`."""
    retries: int = 2
    """How often a call is repeated that met a limit, a fault of the server or silence."""
    answer_tokens: int = 1_500
    """The most an answer may take; raise it for models that think before they answer."""

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise InputError("A reasoner needs the name of a model.")
        if not _host(self.url):
            raise InputError(
                "base_url is not an address.",
                remedy="Give it whole, for example `http://localhost:11434/v1`.",
            )
        if "@" in urlsplit(self.url).netloc:
            raise InputError("base_url holds credentials.", remedy="Give the key as `api_key`.")
        if type(self.retries) is not int or not 0 <= self.retries <= 10:
            raise InputError("retries must be a whole number from 0 to 10.")
        if type(self.answer_tokens) is not int or self.answer_tokens < 1:
            raise InputError("answer_tokens must be a whole number above 0.")

    @property
    def url(self) -> str:
        """The base address that requests go to."""
        return self.base_url or _OPENAI

    @property
    def host(self) -> str:
        """The server as errors name it: no path and no credentials."""
        return _host(self.url)

    def key(self) -> str:
        """The key to send. OpenAI's is never taken from the environment for another server."""
        key = self.api_key or os.environ.get(KEY_VARIABLE)
        if not key and self.base_url is None:
            key = os.environ.get(_OPENAI_KEY_VARIABLE)
        if not key and self.base_url is None:
            raise ReasonerUnavailable(
                "There is no key for the reasoner.",
                remedy=f"Set {KEY_VARIABLE}, or give `base_url` for a server that needs no key.",
            )
        # Servers at home ask for no key, yet the SDK does.
        key = key or "none"
        if not (key.isascii() and key.isprintable()):
            raise InputError("The reasoner's key has characters that no HTTP header allows.")
        return key


def _host(url: str) -> str:
    """The host and port of an http address, without credentials; empty if it is none."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except (ValueError, AttributeError, TypeError):
        return ""
    return f"{parts.hostname}{port}" if parts.scheme in ("http", "https") and parts.hostname else ""


@dataclass(slots=True)
class Dialect:
    """The way one server is asked, learnt from what it turns away.

    Servers differ in three things: strict JSON schemas (many take only `json_object`), the name of
    the answer's limit (`max_tokens` is the one most know; OpenAI's reasoning models know only the
    newer one), and whether the temperature may be set. Each is given up at most once.
    """

    schema: bool = True
    limit: str = "max_tokens"
    steady: bool = True

    def request(
        self,
        endpoint: Endpoint,
        messages: Sequence[Mapping[str, Any]],
        question: ReasonerQuestion | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """The body of one request; it asks for a form where there is a question."""
        body: dict[str, Any] = {"model": endpoint.model, self.limit: endpoint.answer_tokens}
        if self.steady:
            body |= {"temperature": 0, "seed": _SEED}
        if tools:
            body["tools"] = list(tools)
        if question is None:
            return {**body, "messages": list(messages)}
        schema = question.form.model_json_schema()
        if self.schema:
            named = {"name": question.name, "strict": True, "schema": schema}
            form = {"type": "json_schema", "json_schema": named}
            return {**body, "messages": list(messages), "response_format": form}
        # A server without JSON schemas cannot show the model the form, so the instructions do.
        first, *rest = messages
        text = f"{first['content']}\nThe JSON object fits this schema: {json.dumps(schema)}\n"
        with_schema = [{**first, "content": text}, *rest]
        return {**body, "messages": with_schema, "response_format": {"type": "json_object"}}

    def concede(self, parameter: str | None, *, form: bool) -> bool:
        """Give up what the server turned away; False if there is nothing left to give up."""
        if parameter == "max_tokens" and self.limit == parameter:
            self.limit = "max_completion_tokens"
        elif parameter in ("temperature", "seed") and self.steady:
            self.steady = False
        elif form and self.schema:
            self.schema = False
        else:
            return False
        return True


def prompt_of(request: Mapping[str, Any]) -> str:
    """All of a request that a server may count as prompt."""
    texts = [(message.get("content") or "") + _PER_MESSAGE for message in request["messages"]]
    called = [message["tool_calls"] for message in request["messages"] if "tool_calls" in message]
    schemas = [request[key] for key in ("response_format", "tools") if key in request]
    return "\n".join([*texts, *map(json.dumps, (*called, *schemas))])


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model wants called; the arguments are JSON, as the model wrote them."""

    id: str
    name: str
    arguments: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The reply of a model."""

    content: str = field(repr=False)
    refused: bool
    cut: bool
    tokens: tuple[int, int] | None
    """Prompt and completion, as the server counted them."""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no reply."""

    message: str
    remedy: str
    again: bool = False
    """Whether the same request may fare better in a while."""
    wait: float | None = None
    """How many seconds the server asks to wait."""
    spent: bool = False
    """Whether a model may have worked on it."""
    turned_away: bool = False
    """Whether the server did not like the request's form."""
    parameter: str | None = None
    error: type[ReasonerError] = ReasonerUnavailable


def by_status(
    host: str, status: int, headers: Mapping[str, str], parameter: str | None = None
) -> Failed:
    """What a status other than success means."""
    again = status in (408, 409, 425, 429) or status >= 500
    return Failed(
        f"The reasoner at {host} answered with status {status}.",
        _BY_STATUS.get(status, _LATER if again else _CHECK_ADDRESS),
        again=again,
        wait=_seconds(headers.get("retry-after")) if again else None,
        turned_away=status in (400, 422),
        parameter=parameter,
    )


def _seconds(header: str | None) -> float | None:
    """A Retry-After header: seconds, or a date."""
    if header is None:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", header.strip()):
        return float(header)
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


class SentToolCall(BaseModel):
    """A tool call as chat completions have it. Some give it no id, others objects for JSON."""

    id: str | None = Field(None, coerce_numbers_to_str=True)
    name: str = Field(min_length=1, validation_alias=AliasPath("function", "name"))
    arguments: str | dict[str, Any] | None = Field(
        None, validation_alias=AliasPath("function", "arguments")
    )

    def at(self, place: int) -> ToolCall:
        """The call, named by its place among the others if it has no id."""
        given = self.arguments
        text = given if isinstance(given, str) else json.dumps(given or {})
        return ToolCall(self.id or f"call_{place}", self.name, text)


def _first(*path: str) -> AliasPath:
    """The place of a field within the first choice, the only one that is read."""
    return AliasPath("choices", 0, *path)


class _Completion(BaseModel):
    message: dict[str, Any] = Field(validation_alias=_first("message"))
    content: str | None = Field(None, validation_alias=_first("message", "content"))
    refusal: str | None = Field(None, validation_alias=_first("message", "refusal"))
    calls: list[SentToolCall] | None = Field(None, validation_alias=_first("message", "tool_calls"))
    finish_reason: str | None = Field(None, validation_alias=_first("finish_reason"))
    usage: Any = None


def by_body(host: str, body: bytes, content_type: str) -> ChatReply | Failed:
    """What the body of a success says."""
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        kind = content_type.partition(";")[0].strip()
        if kind != "application/json":
            kind = kind if re.fullmatch(r"[\w.+/-]{1,60}", kind) else "something unnamed"
            message = f"The reasoner at {host} answered with {kind}, not with JSON."
            return Failed(message, _CHECK_ADDRESS)
        message = f"What the reasoner at {host} answered is not a chat completion."
        return Failed(message, _CHECK_ADDRESS, spent=True, error=ReasonerMalformed)
    return ChatReply(
        content=completion.content or "",
        refused=bool(completion.refusal) or completion.finish_reason == "content_filter",
        cut=completion.finish_reason == "length",
        tokens=_counted(completion.usage),
        calls=tuple(call.at(place) for place, call in enumerate(completion.calls or (), start=1)),
    )


def _counted(usage: object) -> tuple[int, int] | None:
    """The server's count, unless it cannot be one: some say 0 instead of nothing."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
    if type(prompt) is not int or type(completion) is not int or prompt < 1 or completion < 0:
        return None
    return prompt, completion


# A refusal in prose, where JSON was asked for. Only its beginning is looked at: an answer in
# JSON begins with a brace.
_DECLINES = re.compile(
    r"[\s\"'*]*(?:(?:i['\u2019]?m|i am|we['\u2019]re) (?:very |so )?sorry|sorry\b|apologies|"
    r"i (?:can(?:['\u2019]t|not| not)|won['\u2019]t|will not|am (?:not able|unable)|must decline)|"
    r"i['\u2019]m (?:not able|unable)|as an ai\b|unfortunately)",
    re.IGNORECASE,
)


def content_of(reply: ChatReply) -> str:
    """What is to be read, unless the model declined or was cut off."""
    if reply.refused or _DECLINES.match(reply.content):
        raise ReasonerRefused
    if reply.cut:
        raise ReasonerMalformed(
            "The reasoner's answer was cut off at its limit of tokens.",
            remedy="Raise `answer_tokens` of the endpoint, or give the reasoner fewer entries.",
        )
    return reply.content
