"""How one tool is shown: what runs it, what it takes besides a verb's arguments, and its schema.

A model pays for each word of a schema, so that it has none that the model has no use for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from idetic.surfaces.mcp.callers import Caller, Sessions
from idetic.surfaces.request_forms import Id
from idetic.verbs.declaration import Parameter


@dataclass(frozen=True, slots=True)
class CallContext:
    """Where a call is answered: whose memory, the open sessions, how long an answer may be."""

    caller: Caller
    sessions: Sessions
    bound: int


Arguments = dict[str, Any]
Present = Callable[[CallContext, Arguments], Awaitable[str]]


def extra(name: str, hint: Any, description: str, default: Any = None) -> Parameter:
    """An optional argument that a tool has and no verb has."""
    return Parameter(name, hint, default, True, None, None, description)


CURSOR = extra("cursor", str | None, "Where the last answer says to go on.")
SESSION = extra(
    "session_id", Id | None, "A session's UUID. Left out: the session of this connection."
)


@dataclass(frozen=True, slots=True)
class Presenter:
    """How one verb is shown, and what it takes.

    `only` are those of the verb's arguments that the tool has, by default all that travel; `more`
    are arguments of the tool's own.
    """

    present: Present
    only: tuple[str, ...] | None = None
    more: tuple[Parameter, ...] = ()


_NULL = {"type": "null"}
# A value out of bounds or of a wrong format has an error that says so; the schema need not.
_UNTOLD = frozenset({"title", "minimum", "maximum", "format"})


def slim_schema(form: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a form without titles, and without the null of what can be left out."""
    slim: dict[str, Any] = _slim(form.model_json_schema())
    return slim


def _slim(node: Any) -> Any:
    """A part of a schema; names of arguments are no keywords and stay."""
    if isinstance(node, list):
        return [_slim(one) for one in node]
    if not isinstance(node, dict):
        return node
    held = {key: one for key, one in node.items() if key not in _UNTOLD and not _blank(key, one)}
    choices = [one for one in held.pop("anyOf", ()) if one != _NULL]
    if len(choices) == 1:
        held = {**_slim(choices[0]), **held}
    elif choices:
        held["anyOf"] = choices
    named = ("properties", "$defs")
    return {
        key: {name: _slim(one) for name, one in value.items()} if key in named else _slim(value)
        for key, value in held.items()
    }


def _blank(key: str, value: object) -> bool:
    """Whether a keyword says only what is so without it: that an argument can be left out."""
    return (key == "default" and not value) or (key == "additionalProperties" and value is True)
