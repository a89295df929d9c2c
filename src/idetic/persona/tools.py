"""Tools that an agent may call: declared to the model, and called without ever raising.

A tool that fails is a result that says so: the model can try again, and the loop goes on.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anyio import to_thread

from idetic.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
# What a model is shown of a result; the log has all of it, up to its own bound.
SHOWN_MAX = 8_000
LOGGED_MAX = 200_000
_CUT = "\n… (cut)"

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
            raise InputError("A tool's `run` is a function.")
        if unknown := frozenset(self.optional) - self.parameters.keys():
            raise InputError(f"The optional argument `{min(unknown)}` is not among `parameters`.")
        object.__setattr__(self, "optional", frozenset(self.optional))

    def declared(self, name: str) -> dict[str, Any]:
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
class Outcome:
    """What came of a call: the content, and whether the tool failed."""

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
                "A tool's name is 1 to 64 letters, digits, dashes and underscores.",
                remedy="Rename the tool.",
            )
        if not isinstance(tool, Tool):
            raise InputError(
                f"The tool `{name}` is a {type(tool).__name__}, not a `Tool`.",
                remedy="Wrap it: `Tool(function, description, parameters)`.",
            )
    return dict(tools or {})


async def call(tools: Mapping[str, Tool], name: str, arguments: str) -> Outcome:
    """Call a tool with arguments that a model wrote. Whatever goes wrong is the outcome."""
    tool = tools.get(name)
    if tool is None:
        return _failure(f"There is no tool `{name[:64]}`. Known: {', '.join(tools) or 'none'}.")
    given = _arguments(tool, arguments)
    if isinstance(given, str):
        return _failure(given)
    try:
        return Outcome(_cut(_text(await _run(tool.run, given)), LOGGED_MAX))
    # A tool is someone else's code: nothing it raises may end the loop.
    except Exception as error:  # noqa: BLE001
        return _failure(f"{type(error).__name__}: {error}")


async def _run(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**given)
    made = await to_thread.run_sync(lambda: function(**given))
    return await made if inspect.isawaitable(made) else made


def _arguments(tool: Tool, written: str) -> dict[str, Any] | str:
    """The arguments, or what is wrong with them in words for the model."""
    try:
        given = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return "The arguments are not JSON."
    if not isinstance(given, dict):
        return "The arguments are not a JSON object."
    if unknown := sorted(given.keys() - tool.parameters.keys()):
        return f"There is no argument `{unknown[0][:64]}`."
    for name, schema in tool.parameters.items():
        if name not in given:
            if name not in tool.optional:
                return f"The argument `{name}` is missing."
        elif not _fits(given[name], schema.get("type")):
            return f"The argument `{name}` is not of type {json.dumps(schema.get('type'))}."
    return given


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value has the declared type; what else a schema says is the tool's to check."""
    names = wanted if isinstance(wanted, list) else [wanted]
    known = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
    if not known:
        return True
    if isinstance(value, bool):
        return any(bool in types for types in known)
    return any(isinstance(value, types) for types in known)


def _failure(said: str) -> Outcome:
    return Outcome(_cut(f"Error: {said}", SHOWN_MAX), failed=True)


def _text(value: Any) -> str:
    """A result as text: as it is, or as JSON. What PostgreSQL cannot hold is spelt out."""
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return storable(value)


def storable(text: str) -> str:
    """A text that the log can hold: NUL and lone surrogates become escapes."""
    if "\x00" not in text and text.isascii():
        return text
    whole = text.encode("utf-8", "backslashreplace").decode()
    return whole.replace("\x00", "\\x00")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT
