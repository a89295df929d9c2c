"""What came back from one request: a reply, or a failure that says what may be done about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from .errors import ReasonerError, ReasonerMalformed, ReasonerRefused, ReasonerUnavailable

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
class ToolCall:
    """A tool that a model wants called; the arguments are JSON, as the model wrote them."""

    id: str
    name: str
    arguments: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

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


def _seconds(said: str | None) -> float | None:
    """A Retry-After header: seconds, or a date."""
    if said is None:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", said.strip()):
        return float(said)
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


class _Function(BaseModel):
    name: str
    arguments: str | dict[str, Any] | None = None


class _ToolCall(BaseModel):
    id: str | None = None
    function: _Function


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


def by_body(host: str, body: bytes, content_type: str) -> Reply | Failed:
    """What the body of a success says."""
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        kind = content_type.partition(";")[0].strip()
        if kind != "application/json":
            kind = kind if re.fullmatch(r"[\w.+/-]{1,60}", kind) else "something unnamed"
            said = f"The reasoner at {host} answered with {kind}, not with JSON."
            return Failed(said, _CHECK_ADDRESS)
        said = f"What the reasoner at {host} answered is not a chat completion."
        return Failed(said, _CHECK_ADDRESS, spent=True, error=ReasonerMalformed)
    choice = completion.choices[0]
    return Reply(
        content=choice.message.content or "",
        refused=bool(choice.message.refusal) or choice.finish_reason == "content_filter",
        cut=choice.finish_reason == "length",
        tokens=_counted(completion.usage),
        calls=tuple(map(_called, range(1, 1_000), choice.message.tool_calls or ())),
    )


def _called(place: int, call: _ToolCall) -> ToolCall:
    """A call as we read it: some servers give it no id, others the arguments as an object."""
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall(call.id or f"call_{place}", call.function.name, text)


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


def content_of(reply: Reply) -> str:
    """What is to be read, unless the model declined or was cut off."""
    if reply.refused or _DECLINES.match(reply.content):
        raise ReasonerRefused
    if reply.cut:
        raise ReasonerMalformed(
            "The reasoner's answer was cut off at its limit of tokens.",
            remedy="Raise `answer_tokens` of the endpoint, or give the reasoner fewer entries.",
        )
    return reply.content
