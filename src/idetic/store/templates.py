"""SQL files, and the statements made of them. A file holds commented blocks, one per object or
query.

A file of a family is written for every spec. What only some specs have stands between
`-- if root:` and `-- end`; what a spec has several of, between `-- for each noun:` and `-- end`.

A query has two kinds of holes. `{memory}` is a name that the spec decides, filled in once;
`%(limit)s` is a value, which travels beside the text and is never part of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any

from psycopg import sql

Names = Mapping[str, str]
Lists = Mapping[str, Sequence[Names]]
Fillers = Mapping[str, "str | Callable[[str], str]"]
Values = Mapping[str, Any]

_HEADER = re.compile(r"^-- (object|query): (.+)$", re.MULTILINE)
_RUNS_AS = re.compile(r"^-- as: (\w+)$", re.MULTILINE)
_OPENING = re.compile(r"\s*-- (if|for each) ([a-z_ ]+):\s*$")
_ENDING = re.compile(r"\s*-- end\s*$")
_NAME = re.compile(r"\{(\w+)\}")
_HOLE = re.compile(r"\{(\w+)(?: (\w+))?\}")
_VALUE = re.compile(r"%\((\w+)\)s")
# What may hold a semicolon that ends nothing: a body, a string, a name, a comment.
_WHOLE = re.compile(r"\$(\w*)\$.*?\$\1\$|'[^']*'|\"[^\"]*\"|--[^\n]*|(;)", re.DOTALL)


def raw(text: str) -> sql.SQL:
    """SQL text of our own: a template, or a name the spec's patterns allow. Never user input."""
    return sql.SQL(text)


def composed(text: str, **values: str | list[str] | None) -> str:
    """A text of ours with names of the catalog's in it, as literals."""
    literals = {name: sql.Literal(value) for name, value in values.items()}
    return raw(text).format(**literals).as_string(None)


@dataclass(frozen=True, slots=True)
class SqlBlock:
    """One block of a SQL file: its header, the role it runs as, its text."""

    title: str
    runs_as: str
    text: str


@cache
def read(path: str, package: str = "idetic.store") -> str:
    """The text of a file below a package's `sql` folder."""
    return (resources.files(package) / "sql" / path).read_text(encoding="utf-8")


def split(text: str) -> Iterator[SqlBlock]:
    """The blocks of a text, in order."""
    parts = _HEADER.split(text)
    # parts: preamble, then (kind, title, body) triples
    for title, body in zip(parts[2::3], parts[3::3], strict=True):
        runs_as = _RUNS_AS.search(body)
        yield SqlBlock(title.strip(), runs_as.group(1) if runs_as else "owner", body.strip())


@cache
def query(path: str, title: str, package: str = "idetic.store") -> str:
    """One named query of a file."""
    for block in split(read(path, package)):
        if block.title == title:
            return block.text
    raise KeyError(f"{path} has no query {title!r}")


def split_statements(text: str) -> list[str]:
    """The statements of a text of ours, one by one.

    Citus hands an index on to its shards only where it is alone in its message: "cannot insert
    multiple commands into a prepared statement".
    """
    ends = [0, *(found.end() for found in _WHOLE.finditer(text) if found[2]), len(text)]
    parts = (text[start:end] for start, end in pairwise(ends))
    return [part for part in parts if re.sub(r"--[^\n]*|[\s;]", "", part)]


def render(text: str, names: Names, lists: Lists) -> str:
    """A family's file for one spec: conditions decided, lists unfolded, names in place."""
    return "\n".join(_rendered(iter(text.splitlines()), names, lists))


def _rendered(lines: Iterator[str], names: Names, lists: Lists) -> Iterator[str]:
    """The lines with names in place; a block's lines once for each thing it is unfolded over."""
    for line in lines:
        opening = _OPENING.match(line)
        if opening is None:
            yield _NAME.sub(lambda hole: names[hole[1]], line)
            continue
        inner = list(_inner(lines))
        # A condition is a list of one, or of none.
        many = lists[opening[2]] if opening[1] == "for each" else [{}] * (opening[2] in names)
        for more in many:
            yield from _rendered(iter(inner), {**names, **more}, lists)


def _inner(lines: Iterator[str]) -> Iterator[str]:
    """The lines up to the end that belongs to the opening just read."""
    depth = 1
    for line in lines:
        depth += bool(_OPENING.match(line)) - bool(_ENDING.match(line))
        if not depth:
            return
        yield line


@dataclass(frozen=True)
class Statement:
    """A text with `$1`, `$2` … and the names of the values that go there.

    `prepared` is for what runs again and again with the same plan: each connection parses it once.
    The rows of a `packed` one travel as they are, bytes without a detour through text.
    """

    text: str
    names: tuple[str, ...] = ()
    prepared: bool = False
    packed: bool = False

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
    """The name of a prepared statement, the same on every client."""
    digest = hashlib.sha256(f"{types} {text}".encode()).hexdigest()
    return f"idetic_{digest[:32]}".encode()


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A statement with its values."""

    statement: Statement
    values: Values = field(default_factory=dict)


def filled(text: str, fillers: Fillers) -> str:
    """A text with its names in place; `{scope m}` hands the alias to whoever knows the scope."""

    def named(hole: re.Match[str]) -> str:
        """What fills one hole: a text, or what its filler makes of the alias."""
        name = fillers[hole[1]]
        return name if isinstance(name, str) else name(hole[2])

    return _HOLE.sub(named, text)


def statement(text: str, *, prepared: bool = False, packed: bool = False) -> Statement:
    """A text whose names are in place as a statement; a value named twice is sent once."""
    order: dict[str, int] = {}

    def numbered(hole: re.Match[str]) -> str:
        """The place of a value in the text, the same for every mention of it."""
        return f"${order.setdefault(hole[1], len(order) + 1)}"

    return Statement(_VALUE.sub(numbered, text), tuple(order), prepared, packed)


@lru_cache(maxsize=512)
def named_query(path: str, title: str) -> Statement:
    """A query that no spec decides anything about."""
    return statement(query(path, title))
