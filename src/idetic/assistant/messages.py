"""Messages of a conversation, in the forms that applications have them.

A text, messages with `role` and `content` as OpenAI's and Anthropic's APIs have them, with parts,
tool calls and tool results; and whole exports of chats. Each becomes one `Message` with its parts
in order; one that says nothing, as the result of a tool that printed nothing, is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from idetic.errors import InputError
from idetic.persona.events import EventKind
from idetic.verbs.arguments import SHORT, check_text

# A longer part is several events, each of which is searched by pieces of its own.
PART_MAX = 50_000
MESSAGES_MAX = 10_000

_KINDS = {
    "user": EventKind.USER_INPUT,
    "human": EventKind.USER_INPUT,
    "assistant": EventKind.ACTOR_OUTPUT,
    "ai": EventKind.ACTOR_OUTPUT,
    "model": EventKind.ACTOR_OUTPUT,
    "tool": EventKind.TOOL_RESULT,
    "function": EventKind.TOOL_RESULT,
    "system": EventKind.SYSTEM_EVENT,
    "developer": EventKind.SYSTEM_EVENT,
}
# Items of OpenAI's Responses API have a type in place of a role.
_ITEMS = {
    "function_call": EventKind.TOOL_CALL,
    "function_call_output": EventKind.TOOL_RESULT,
    "reasoning": EventKind.ACTOR_OUTPUT,
}
_TIMES = ("created_at", "timestamp", "create_time", "time", "ts", "date")
_IDS = ("id", "uuid", "message_id")
# What only the model saw of its own answer is not part of what was said.
_UNSAID = ("thinking", "redacted_thinking", "reasoning", "user_editable_context", "thoughts")
# Where messages and parts keep their words.
_WORDS = ("content", "text", "parts", "output")
_PART_WORDS = ("text", "content", "refusal")

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class MessagePart:
    """One thing that a message says or does."""

    kind: EventKind
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its parts, when it was sent, and whatever tells it from others."""

    parts: tuple[MessagePart, ...]
    at: datetime | None = None
    id: str | None = None
    speaker: str | None = None


def read_messages(
    given: Messages, *, speaker: str | None = None, at: datetime | None = None
) -> list[Message]:
    """Read what was handed over; raises what is wrong with it, and which message has it.

    `speaker` and `at` are those of messages that say neither.
    """
    raw = list(_raw(given))
    if not raw:
        raise InputError("The input has no message.", remedy="Pass a text or a list of messages.")
    if len(raw) > MESSAGES_MAX:
        raise InputError(f"At most {MESSAGES_MAX:,} messages per call; split them.")
    read = [_message(one, number, speaker, at) for number, one in enumerate(raw, start=1)]
    said = [one for one in read if one.parts]
    if not said:
        raise InputError("No message says anything.", remedy="Add messages with a content.")
    return said


def _raw(given: object) -> Iterator[Mapping[str, Any]]:
    """The messages one by one, out of a text, a list, or a chat's export."""
    if isinstance(given, str):
        yield {"role": "user", "content": check_text(given, MESSAGES_MAX * PART_MAX, "messages")}
    elif isinstance(given, Mapping):
        yield from _of_mapping(given)
    elif isinstance(given, Sequence) and not isinstance(given, bytes):
        for one in given:
            yield from _raw(one)
    else:
        raise InputError(
            f"A message is of the type {type(given).__name__}, not a text or a mapping.",
            remedy='For example `[{"role": "user", "content": "Call me Ada."}]`.',
        )


def _of_mapping(given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A message itself, or the messages of an exported chat."""
    for key in ("messages", "chat_messages", "conversation"):
        if isinstance(given.get(key), Sequence) and not isinstance(given[key], str):
            yield from _raw(given[key])
            return
    if isinstance(given.get("mapping"), Mapping):
        nodes = [node.get("message") for node in given["mapping"].values() if node]
        sent = [one for one in nodes if one and isinstance(one.get("author"), Mapping)]
        sent.sort(key=lambda one: one.get("create_time") or 0)
        yield from ({**one, "role": one["author"].get("role")} for one in sent)
        return
    yield given


def _message(
    raw: Mapping[str, Any], number: int, speaker: str | None, at: datetime | None
) -> Message:
    """One message in any of the forms."""
    role = raw.get("role") or raw.get("sender") or raw.get("type")
    kind = (_KINDS | _ITEMS).get(role.lower()) if isinstance(role, str) else None
    if kind is None:
        raise InputError(
            f"Message {number} has no role that Idetic knows.",
            remedy=f"Give it a `role`: one of {', '.join(_KINDS)}.",
        )
    content = next((raw[key] for key in _WORDS if raw.get(key) is not None), None)
    parts = [*_parts(content, kind, number), *_tool_calls(raw, number)]
    said = tuple(MessagePart(kind, cut) for kind, text in parts for cut in _cuts(text))
    own = raw.get("name") if kind is EventKind.USER_INPUT else None
    named = own or (speaker if kind is EventKind.USER_INPUT else None)
    return Message(
        said,
        next((_moment(raw[key], number) for key in _TIMES if raw.get(key) is not None), at),
        next((str(raw[key]) for key in _IDS if raw.get(key) not in (None, "")), None),
        None if named is None else check_text(named, SHORT, f"the name in message {number}"),
    )


def _parts(content: object, kind: EventKind, number: int) -> Iterator[tuple[EventKind, str]]:
    """What a message's content says, part by part."""
    if content is None:
        return
    if isinstance(content, str):
        yield kind, content
    elif isinstance(content, Mapping):
        # One part by itself; an export has its texts under `parts`.
        yield from _parts(content.get("parts") or [content], kind, number)
    elif isinstance(content, Sequence):
        said: list[str] = []
        for part in content:
            made = (kind, part) if isinstance(part, str) else _part(part, kind)
            if made is not None and made[0] is kind:
                said.append(made[1])
            elif made is not None:
                if said:
                    yield kind, "\n".join(said)
                said = []
                yield made
        if said:
            yield kind, "\n".join(said)
    else:
        raise InputError(f"The content of message {number} is neither a text nor a list of parts.")


def _part(part: object, kind: EventKind) -> tuple[EventKind, str] | None:
    """One part of a content; None for what was not said."""
    if not isinstance(part, Mapping):
        return kind, json.dumps(part, ensure_ascii=False, default=str)
    form = str(part.get("type") or part.get("content_type") or "text")
    if form in _UNSAID:
        return None
    if form == "tool_use":
        return EventKind.TOOL_CALL, _called(part.get("name"), part.get("input"))
    if form == "tool_result":
        inner = "\n".join(text for _, text in _parts(part.get("content"), kind, 0))
        return EventKind.TOOL_RESULT, inner
    text = next((part[key] for key in _PART_WORDS if isinstance(part.get(key), str)), None)
    named = form.removeprefix("input_").removesuffix("_url").removesuffix("_asset_pointer")
    return kind, text if text is not None else "" if named == "text" else f"[{named}]"


def _tool_calls(raw: Mapping[str, Any], number: int) -> Iterator[tuple[EventKind, str]]:
    """The calls of tools that stand beside a message's content, or are all of it."""
    calls = [*(raw.get("tool_calls") or ()), raw.get("function_call")]
    calls.append(raw if raw.get("type") == "function_call" else None)
    for call in filter(None, calls):
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise InputError(f"A tool call of message {number} is not a mapping with a `name`.")
        yield EventKind.TOOL_CALL, _called(function.get("name"), function.get("arguments"))


def _called(name: object, arguments: object) -> str:
    """A call of a tool as one line."""
    told = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"{name}({told})"


def _cuts(text: str) -> list[str]:
    """A text in cuts that one event can hold, between words; an empty text has none."""
    if not text.strip():
        return []
    found, start = [], 0
    while len(text) - start > PART_MAX:
        space = text.rfind(" ", start + PART_MAX // 2, start + PART_MAX)
        end = space + 1 if space > 0 else start + PART_MAX
        found.append(text[start:end])
        start = end
    return [*found, text[start:]]


def _moment(value: object, number: int) -> datetime:
    """When a message was sent: a datetime, ISO 8601, or seconds; without a zone it is UTC."""
    if isinstance(value, str) and value.replace(".", "", 1).isdecimal():
        value = float(value)
    try:
        if isinstance(value, datetime):
            made = value
        elif isinstance(value, int | float):
            # Milliseconds, if as seconds it were beyond the year 5000.
            made = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            made = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"The time of message {number} cannot be read.",
            remedy="Use ISO 8601, such as 2026-05-01T12:00:00Z, or seconds since 1970.",
        ) from None
    return made if made.utcoffset() is not None else made.replace(tzinfo=UTC)
