"""The form of a request, read off a verb's declaration: for HTTP bodies and queries, and for MCP.

Types are strict, and a key that nobody reads is refused. What a value may be is for the verb to
say, as for every caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    create_model,
    model_validator,
)

from idetic.verbs.arguments import Between, plain
from idetic.verbs.declaration import Parameter

FORBID = ConfigDict(extra="forbid")
# More members than this are told by their number: to tell 10,000 one by one took the event loop
# half a second on a busy machine.
_MORE = 100
# To make a model of each takes the event loop 5 µs.
_MOST_NOUNS = 10_000


def _text(value: object) -> object:
    """Ids come as texts: pydantic would also take bytes and numbers."""
    if not isinstance(value, str):
        raise ValueError("it is a text")  # noqa: TRY004 - what pydantic turns into its own
    return value


def _moment(value: object) -> object:
    """A moment as a text with a time of day: pydantic would also take dates and numbers."""
    if isinstance(value, str) and len(value) > 10 and value[10] in "Tt ":
        return value
    raise ValueError("it must be a moment such as 2026-01-31T12:00:00Z")


def _few(value: object) -> object:
    """What has far more members than are taken is not looked through."""
    if isinstance(value, dict) and len(value) > _MORE:
        raise ValueError(f"it has {len(value):,} members, where at most {_MORE} are taken")
    return value


class RequestObject(BaseModel):
    """A JSON object of a request; a key that nobody reads is refused."""

    model_config = FORBID

    @model_validator(mode="before")
    @classmethod
    def _known(cls, sent: object) -> object:
        """Members that nobody knows are told one by one, unless they are many."""
        return _few(sent)


Id = Annotated[UUID, BeforeValidator(_text)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
_BODY: dict[Any, Any] = {
    UUID: Id,
    datetime: Moment,
    str: StrictStr,
    int: StrictInt,
    bool: StrictBool,
    Any: Any,
}
# A query holds texts, which pydantic turns into what they stand for.
_QUERY: dict[Any, Any] = {datetime: Moment}


def form(hint: Any, *, query: bool = False) -> Any:
    """The type of an argument as a request carries it."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [note for note in parts[1:] if isinstance(note, Between)]
        bare = form(parts[0], query=query)
        return Annotated[bare, Field(ge=bounds[0].least, le=bounds[0].most)] if bounds else bare
    if origin in (Union, UnionType):
        return Union[tuple(form(part, query=query) for part in parts)]  # noqa: UP007 - made at run time
    if origin in (list, tuple, Sequence, Iterable):
        # The first item that is wrong is told: 50,000 of them took a second.
        most = _MOST_NOUNS if is_dataclass(parts[0]) else None
        bounds = Field(fail_fast=True, max_length=most)
        return Annotated[list[form(parts[0], query=query)], bounds]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        # A query has no form for an object but its text.
        return Annotated[str, Field(max_length=10_000)] if query else _mapping(form(parts[1]))
    if is_dataclass(hint):
        return _request_model(hint)  # type: ignore[arg-type]
    return (_QUERY if query else _BODY).get(hint, hint)


def _mapping(kind: Any) -> Any:
    """The type of an object with names of the caller's own; of any values none can be wrong."""
    held = dict[str, kind]
    return held if kind is Any else Annotated[held, BeforeValidator(_few)]


@cache
def _hints(noun: Any) -> Mapping[str, Any]:
    """The types of a noun's parts, read once: for a batch of 300 notes that was 80 ms each time."""
    return get_type_hints(noun)


@cache
def _request_model(noun: Any) -> type[BaseModel]:
    """The model of a noun in a body; one for each noun, so one schema too."""
    hints = _hints(noun)
    members: dict[str, Any] = {}
    for each in fields(noun):
        default = ... if each.default is MISSING else each.default
        members[each.name] = (form(hints[each.name]), default)
    made: type[BaseModel] = create_model(
        f"{noun.__name__}Body",
        __base__=RequestObject,
        __doc__=noun.__doc__.split("\n\n")[0],
        **members,
    )
    return made


def body_model(name: str, parameters: Iterable[Parameter]) -> type[BaseModel]:
    """The JSON object with the arguments of a verb."""
    members: dict[str, Any] = {}
    for one in parameters:
        default = ... if one.required else one.default
        members[one.wire_name] = (
            carried(one),
            Field(default, description=one.description or None),
        )
    made: type[BaseModel] = create_model(name, __base__=RequestObject, **members)
    return made


def carried(parameter: Parameter, *, query: bool = False) -> Any:
    """The type of one argument in a request, as its note about the wire says or by its hint."""
    if parameter.wire is None:
        return form(parameter.hint, query=query)
    kind = form(parameter.wire.kind, query=query)
    return kind if parameter.required or parameter.default is not None else kind | None


def arguments_of(parameters: Iterable[Parameter], sent: Mapping[str, Any]) -> dict[str, Any]:
    """What a request carries as the arguments of a verb; what is left out or null has defaults."""
    values: dict[str, Any] = {}
    for one in parameters:
        value = sent.get(one.wire_name)
        if value is not None:
            value = value_of(plain(one.hint), value)
            values[one.name] = value if one.wire is None else one.wire.decode(value)
    return values


def value_of(hint: Any, sent: Any) -> Any:
    """An argument as the verb takes it: the model of a noun becomes the noun."""
    if isinstance(sent, BaseModel):
        noun: Any = next(part for part in (hint, *get_args(hint)) if is_dataclass(part))
        hints = _hints(noun)
        return noun(
            **{name: value_of(hints[name], getattr(sent, name)) for name in type(sent).model_fields}
        )
    if isinstance(sent, list):
        made = [value_of(next(iter(get_args(hint)), Any), each) for each in sent]
        return tuple(made) if get_origin(hint) is tuple else made
    return sent
