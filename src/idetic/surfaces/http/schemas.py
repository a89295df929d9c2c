"""What answers look like in the OpenAPI, made from the nouns themselves.

Answers are written by `idetic.wire`; these models only describe them. A model that repeats a noun
by hand would be a second truth about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, Field, WithJsonSchema, create_model

from idetic import wire
from idetic.surfaces.request_forms import FORBID

_MANY = (list, tuple, frozenset)
# As they are written: a digest in hexadecimal digits, an amount without loss.
_HEX = Annotated[str, Field(pattern="^[0-9a-f]*$")]
_MOMENT = Annotated[datetime, WithJsonSchema({"type": "string", "format": "date-time"})]
_TEXTS: dict[Any, Any] = {bytes: _HEX, Decimal: str, datetime: _MOMENT}


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
    """The model that describes a noun in answers; one for each noun, so one schema too."""
    held: dict[str, Any] = {name: (shape(hint), ...) for name, hint in wire.declared(noun).items()}
    # The first paragraph: what follows it is for readers of the Python.
    text = (noun.__doc__ or "").split("\n\n")[0]
    made: type[BaseModel] = create_model(noun.__name__, __config__=FORBID, __doc__=text, **held)
    return made


def page_model(items: str, kind: Any) -> type[BaseModel]:
    """A page of a list, and where the next one begins; null on the last."""
    held: Any = {items: (shape(kind), ...), "next_cursor": (UUID | None, ...)}
    made: type[BaseModel] = create_model(
        f"{items.capitalize()}Page",
        __config__=FORBID,
        __doc__=f"A page of {items}, and where the next page begins; null on the last.",
        **held,
    )
    return made
