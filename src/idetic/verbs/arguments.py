"""Arguments: each is checked by its annotation, once, before a verb runs.

An error names the argument as the caller passed it. Nothing was written when it is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin
from uuid import UUID

from idetic.errors import InputError, TextRefused

SHORT = 200
MAX_PAGE = 1_000
MAX_LISTED = 1_000
MAX_QUERY = 10_000
MAX_HITS = 200

Kind = TypeVar("Kind", bound=StrEnum)
Check = Callable[[object, str], Any]
# Called with how much is done, and of how much.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of a whole number, both included."""

    least: int
    most: int

    def check(self, value: object, name: str) -> int:
        """Return the number, or raise what it should have been."""
        if type(value) is not int or not self.least <= value <= self.most:
            raise InputError(f"{name} must be a whole number from {self.least} to {self.most:,}.")
        return value


@dataclass(frozen=True, slots=True)
class Wire:
    """How an argument travels over HTTP where its Python form does not: another name or type.

    `encode` turns the Python value into the one that is sent, and `decode` that one back.
    """

    name: str
    kind: Any
    encode: Callable[[Any], Any] = lambda value: value
    decode: Callable[[Any], Any] = lambda value: value


# An argument that only means something in the process of its caller.
IN_PROCESS = Wire("", None)
Limit = Annotated[int, Between(1, MAX_PAGE)]
Cursor = Annotated[UUID | None, Wire("cursor", UUID | None)]


def check_text(text: object, limit: int, name: str = "text") -> str:
    """A text that PostgreSQL can hold and the spec allows, or an error that says why not."""
    if not isinstance(text, str):
        raise TextRefused(f"{name} is a {type(text).__name__}, not a text.")
    if len(text) > limit:
        raise TextRefused(
            f"{name} has {len(text):,} characters; the bound is {limit:,}.",
            remedy="Write what you concluded, and reference the source instead of copying it.",
        )
    if "\x00" in text:
        raise TextRefused(f"{name} holds a NUL character.", remedy="Remove it and write again.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TextRefused(
            f"{name} holds a lone surrogate, which no UTF-8 text can.",
            remedy="Decode the source properly, or replace the broken characters.",
        ) from None
    if not text.strip():
        raise TextRefused(f"{name} is empty.")
    return text


def check_uuid(value: object, name: str) -> UUID:
    """A UUID, given as one or as its text."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(str(value)) if isinstance(value, str) else UUID(None)
    except (ValueError, TypeError):
        raise InputError(f"{name} is not a UUID.") from None


def check_moment(value: object, name: str) -> datetime | None:
    """A datetime with a time zone; None stays None."""
    return None if value is None else moment_of(value, name)


def moment_of(value: object, name: str) -> datetime:
    """A datetime with a time zone."""
    # A year at the edge crosses it in another time zone, and then nothing can read it back.
    if not isinstance(value, datetime) or value.utcoffset() is None or not 1 < value.year < 9999:
        raise InputError(
            f"{name} is not a time zone aware datetime.",
            remedy="Use e.g. datetime.now(UTC); nothing was written.",
        )
    return value


def member_of(kind: type[Kind], value: object, name: str) -> Kind:
    """A member of an enumeration, given as one or as its text."""
    try:
        return kind(value)  # type: ignore[arg-type]
    except ValueError:
        raise InputError(f"{name} must be one of {', '.join(kind)}.") from None


def listed(values: object, name: str) -> list[Any]:
    """Several values as a list; one text is not several."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{name} is a {type(values).__name__}, not a list.")
    return list(values)


def plain(hint: Any) -> Any:
    """A hint without its notes and without None; a union of several types stays one."""
    if get_origin(hint) is Annotated:
        return plain(get_args(hint)[0])
    parts = [part for part in get_args(hint) if part is not NoneType]
    optional = get_origin(hint) in (Union, UnionType) and len(parts) == 1
    return plain(parts[0]) if optional else hint


def check_for(hint: Any) -> Check | None:
    """The check that an annotation asks for; None where the verb itself looks at the value."""
    if get_origin(hint) is Annotated:
        plain, *notes = get_args(hint)
        bounds = next((note for note in notes if isinstance(note, Between)), None)
        return bounds.check if bounds is not None else check_for(plain)
    if get_origin(hint) in (Union, UnionType):
        return _optional(hint)
    if get_origin(hint) in (list, Sequence, Iterable):
        return _each(get_args(hint)[0])
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda value, name: member_of(hint, value, name)
    return _SIMPLE.get(hint) if isinstance(hint, type) else None


_SIMPLE: dict[type, Check] = {
    UUID: check_uuid,
    datetime: moment_of,
    bool: lambda value, _: bool(value),
}


def _optional(hint: Any) -> Check | None:
    """The check of an argument that may be None; other unions are left to the verb itself."""
    parts = [part for part in get_args(hint) if part is not NoneType]
    check = check_for(parts[0]) if len(parts) == 1 else None
    if check is None:
        return None
    return lambda value, name: None if value is None else check(value, name)


def _each(hint: Any) -> Check:
    """A list whose members have a check; a list of other nouns stays as it is."""
    check = check_for(hint)
    one = isinstance(hint, type) and issubclass(hint, StrEnum)

    def all_of(values: object, name: str) -> list[Any]:
        """Check each member; a refusal about one of several choices names all of them."""
        found = listed(values, name)
        if check is None:
            return found
        try:
            return [check(value, name) for value in found]
        except InputError:
            if one:
                raise InputError(f"{name} must be a list of: {', '.join(hint)}.") from None
            raise

    return all_of
