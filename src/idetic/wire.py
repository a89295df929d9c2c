"""Nouns as JSON and back, by their own declarations: what the HTTP server says, its client reads.

A noun becomes an object with its fields, and with those of its properties that are one plain value
(an entry's `state`, a verification's `intact`). Reading goes by the same declarations, so neither
side writes a noun down a second time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

T = TypeVar("T")

_PLAIN = (bool, int, float, str, UUID, datetime)


def as_json(value: Any) -> bytes:
    """A value as JSON. ASCII only, so that no lone surrogate in an echoed text can break it."""
    held = _keyed(value)
    return json.dumps(held, default=_plain, allow_nan=False, separators=(",", ":")).encode()


@cache
def declared(noun: type) -> dict[str, Any]:
    """What an object of a noun holds: the type of each field, and of each plain property."""
    hints = get_type_hints(noun)
    found = {each.name: hints[each.name] for each in fields(noun)}
    for name, member in vars(noun).items():
        if isinstance(member, property) and not name.startswith("_"):
            told = get_type_hints(member.fget)["return"]
            if _is_plain(told):
                found[name] = told
    return found


def read(kind: type[T], data: Any) -> T:
    """A value of a type, from what `as_json` made of one."""
    found: T = _read(kind, data)
    return found


def _is_plain(kind: Any) -> bool:
    """Whether a property's type is plain enough to be told as a field; None may be part of it."""
    either = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    parts = [part for part in either if part is not NoneType]
    return all(isinstance(part, type) and issubclass(part, _PLAIN) for part in parts)


def _plain(value: Any) -> Any:
    """What JSON says of a value that it has no form for by itself."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _keyed(getattr(value, name)) for name in declared(type(value))}
    if isinstance(value, Mapping):
        return _keyed(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, set | frozenset):
        # In an order, so that equal sets read alike.
        return sorted(value)
    if isinstance(value, UUID | Decimal):
        return str(value)
    raise TypeError(f"A {type(value).__name__} has no form in JSON.")


def _keyed(value: Any) -> Any:
    """A mapping as JSON holds one: its keys are texts."""
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else value


def _read(kind: Any, data: Any) -> Any:
    """A value of any declared type, its parts read by the types that they are declared with."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or data is None:
        return data
    if origin in (Union, UnionType):
        # The nouns know one kind of union: something, or nothing.
        return _read(next(part for part in parts if part is not NoneType), data)
    if origin is not None and issubclass(origin, Mapping):
        return {_read(parts[0], key): _read(parts[1], each) for key, each in data.items()}
    if origin in (tuple, list, frozenset):
        return origin(_read(parts[0], each) for each in data)
    return _noun(kind, data) if is_dataclass(kind) else _scalar(kind, data)


def _noun(kind: Any, data: Any) -> Any:
    """A noun from its fields; what this release does not know of it is left out."""
    names, hints = {each.name for each in fields(kind) if each.init}, declared(kind)
    return kind(**{name: _read(hints[name], data[name]) for name in names if name in data})


def _scalar(kind: Any, data: Any) -> Any:
    """A value that JSON holds as a text, made what it was; any other as it is."""
    if kind is datetime:
        return datetime.fromisoformat(data)
    if kind is bytes:
        return bytes.fromhex(data)
    if kind in (UUID, Decimal) or issubclass(kind, Enum):
        return kind(data)
    return data
