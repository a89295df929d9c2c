"""SQL files as templates: each holds commented blocks, one per object or query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from psycopg import sql

_HEADER = re.compile(r"^-- (object|query): (.+)$", re.MULTILINE)
_RUNS_AS = re.compile(r"^-- as: (\w+)$", re.MULTILINE)


def raw(text: str) -> sql.SQL:
    """SQL text of our own: a template, or a name the spec's patterns allow. Never user input."""
    return sql.SQL(text)


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a SQL file: its header, the role it runs as, its text."""

    title: str
    runs_as: str
    text: str


@cache
def read(path: str, package: str = "idetic.store") -> str:
    """The text of a file below a package's `sql` folder."""
    return (resources.files(package) / "sql" / path).read_text(encoding="utf-8")


@cache
def blocks(path: str, package: str = "idetic.store") -> tuple[Block, ...]:
    """The blocks of a file, in order."""
    return tuple(_split(read(path, package)))


def _split(text: str) -> Iterator[Block]:
    parts = _HEADER.split(text)
    # parts: preamble, then (kind, title, body) triples
    for title, body in zip(parts[2::3], parts[3::3], strict=True):
        runs_as = _RUNS_AS.search(body)
        yield Block(title.strip(), runs_as.group(1) if runs_as else "owner", body.strip())


@cache
def query(path: str, title: str, package: str = "idetic.store") -> str:
    """One named query of a file."""
    for block in blocks(path, package):
        if block.title == title:
            return block.text
    raise KeyError(f"{path} has no query {title!r}")
