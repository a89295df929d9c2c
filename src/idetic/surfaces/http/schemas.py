"""What requests and answers look like in the OpenAPI, read off the verbs and the nouns.

Answers are written by `idetic.wire`; their models only describe them. A request's model also
checks: types are strict, and a key that nobody reads is refused. What a value may be is for the
verb to say, as for every caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
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
    WithJsonSchema,
    create_model,
)

from idetic import wire
from idetic.verbs.arguments import Between
from idetic.verbs.declaration import Parameter

_MANY = (list, tuple, frozenset)
# As they are written: a digest in hexadecimal digits, an amount without loss.
_HEX = Annotated[str, Field(pattern="^[0-9a-f]*$")]
_MOMENT = Annotated[datetime, WithJsonSchema({"type": "string", "format": "date-time"})]
_TEXTS: dict[Any, Any] = {bytes: _HEX, Decimal: str, datetime: _MOMENT}
_FORBID = ConfigDict(extra="forbid")


def shape(kind: Any) -> Any:
    """The type that describes how a value of `kind` is written."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return Union[tuple(NoneType if part is NoneType else shape(part) for part in parts)]  # noqa: UP007 - made at run time
    if origin in _MANY:
        return list[shape(parts[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key = str if parts[0] is UUID else shape(parts[0])
        return dict[key, shape(parts[1])]  # type: ignore[valid-type, misc]
    known: Any = _TEXTS.get(kind, kind)
    return _answer_model(known) if is_dataclass(kind) else known


@cache
def _answer_model(noun: Any) -> type[BaseModel]:
    held: dict[str, Any] = {name: (shape(hint), ...) for name, hint in wire.declared(noun).items()}
    # The first paragraph: what follows it is for readers of the Python.
    text = (noun.__doc__ or "").split("\n\n")[0]
    made: type[BaseModel] = create_model(noun.__name__, __config__=_FORBID, __doc__=text, **held)
    return made


def page_model(items: str, kind: Any) -> type[BaseModel]:
    """A page of a list, and where the next one begins; null on the last."""
    held: Any = {items: (shape(kind), ...), "next_cursor": (UUID | None, ...)}
    made: type[BaseModel] = create_model(
        f"{items.capitalize()}Page",
        __config__=_FORBID,
        __doc__=f"A page of {items}, and where the next page begins; null on the last.",
        **held,
    )
    return made


def _text(value: object) -> object:
    """Ids come as texts: pydantic would also take bytes and numbers."""
    if not isinstance(value, str):
        raise ValueError("it is a text")  # noqa: TRY004 - what pydantic turns into its own
    return value


def _moment(value: object) -> object:
    if isinstance(value, str) and len(value) > 10 and value[10] in "Tt ":
        return value
    raise ValueError("it is a moment such as 2026-01-31T12:00:00Z")


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
        plain = form(parts[0], query=query)
        return Annotated[plain, Field(ge=bounds[0].least, le=bounds[0].most)] if bounds else plain
    if origin in (Union, UnionType):
        return Union[tuple(form(part, query=query) for part in parts)]  # noqa: UP007 - made at run time
    if origin in (list, tuple, Sequence, Iterable):
        return list[form(parts[0], query=query)]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        # A query has no form for an object but its text.
        return Annotated[str, Field(max_length=10_000)] if query else _mapping(parts)
    if is_dataclass(hint):
        return _request_model(hint)  # type: ignore[arg-type]
    return (_QUERY if query else _BODY).get(hint, hint)


def _mapping(parts: tuple[Any, ...]) -> Any:
    return dict[str, form(parts[1])]  # type: ignore[misc]


@cache
def _request_model(noun: Any) -> type[BaseModel]:
    hints = get_type_hints(noun)
    held: dict[str, Any] = {}
    for each in fields(noun):
        default = ... if each.default is MISSING else each.default
        held[each.name] = (form(hints[each.name]), default)
    made: type[BaseModel] = create_model(
        f"{noun.__name__}Input", __config__=_FORBID, __doc__=noun.__doc__.split("\n\n")[0], **held
    )
    return made


def body_model(name: str, parameters: Sequence[Parameter]) -> type[BaseModel]:
    """The JSON body of a verb: an argument each."""
    held: dict[str, Any] = {
        one.wire_name: (carried(one), ... if one.required else one.default) for one in parameters
    }
    made: type[BaseModel] = create_model(f"{name}Body", __config__=_FORBID, **held)
    return made


def carried(parameter: Parameter, *, query: bool = False) -> Any:
    """The type of one argument in a request, as its note about the wire says or by its hint."""
    if parameter.wire is None:
        return form(parameter.hint, query=query)
    kind = form(parameter.wire.kind, query=query)
    return kind if parameter.required or parameter.default is not None else kind | None


def value_of(hint: Any, given: Any) -> Any:
    """An argument as the verb takes it: the model of a noun becomes the noun."""
    if isinstance(given, BaseModel):
        noun = next(part for part in (hint, *get_args(hint)) if is_dataclass(part))
        hints = get_type_hints(noun)
        return noun(
            **{  # type: ignore[operator]
                name: value_of(hints[name], getattr(given, name))
                for name in type(given).model_fields
            }
        )
    if isinstance(given, list):
        made = [value_of(next(iter(get_args(hint)), Any), each) for each in given]
        return tuple(made) if get_origin(hint) is tuple else made
    return given
