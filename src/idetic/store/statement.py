"""Statements: SQL of our own with the values left open, bound when it runs.

A text of an SQL file has two kinds of holes. `{memory}` is a name that the spec decides, filled in
once; `%(limit)s` is a value, which travels beside the text and is never part of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from idetic.store import templates

Names = Mapping[str, "str | Callable[[str], str]"]
Values = Mapping[str, Any]

_NAME = re.compile(r"\{(\w+)(?: (\w+))?\}")
_VALUE = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True)
class Statement:
    """A text with `$1`, `$2` … and the names of the values that go there.

    `prepared` is for what runs again and again with the same plan: each connection parses it once.
    """

    text: str
    names: tuple[str, ...] = ()
    prepared: bool = False

    @cached_property
    def encoded(self) -> bytes:
        """The text as it travels."""
        return self.text.encode()

    def name(self, types: tuple[int, ...]) -> bytes:
        """The hash of the text and its values' types: behind a pooler, two clients that say the
        same name mean the same statement."""
        return _name(self.text, types)

    def bound(self, values: Values) -> list[Any]:
        """The values in the order of the text."""
        return [values[name] for name in self.names]


@lru_cache(maxsize=4096)
def _name(text: str, types: tuple[int, ...]) -> bytes:
    digest = hashlib.sha256(f"{types} {text}".encode()).hexdigest()
    return f"idetic_{digest[:32]}".encode()


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A statement with its values."""

    statement: Statement
    values: Values = field(default_factory=dict)


def filled(text: str, names: Names) -> str:
    """A text with its names in place; `{scope m}` hands the alias to whoever knows the scope."""

    def named(hole: re.Match[str]) -> str:
        name = names[hole[1]]
        return name if isinstance(name, str) else name(hole[2])

    return _NAME.sub(named, text)


def statement(text: str, *, prepared: bool = False) -> Statement:
    """A text whose names are in place as a statement; a value named twice is sent once."""
    order: dict[str, int] = {}

    def numbered(hole: re.Match[str]) -> str:
        return f"${order.setdefault(hole[1], len(order) + 1)}"

    return Statement(_VALUE.sub(numbered, text), tuple(order), prepared)


@lru_cache(maxsize=512)
def named_query(path: str, title: str) -> Statement:
    """A query that no spec decides anything about."""
    return statement(templates.query(path, title))
