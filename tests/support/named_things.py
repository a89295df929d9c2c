"""The named things of the documents, and the page that lists them.

`python -m tests.support.named_things` writes docs/reference/doctrine.md from
tests/data/named_things.toml.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.docs import DOCS, ROOT

DATA = ROOT / "tests" / "data" / "named_things.toml"
PAGE = DOCS / "reference" / "doctrine.md"
DOCUMENTS = {
    "primitives": "Agent Memory Primitives",
    "adr": "ADR-058, World Agent memory",
    "persona": "Agentic Memory System",
}
_HEAD = """# Every named thing

This page lists every thing that the three documents behind Idetic name, its file, and the test \
that shows it. [The doctrine](../explanation/doctrine.md) explains the purpose.

Rooms are below `src/idetic/`, tests below `tests/`. This page is made from \
`tests/data/named_things.toml`; a test fails for a thing without a room or a test that exists.
"""


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A thing that a document names: where it is said, where it acts, what shows it."""

    document: str
    part: str
    name: str
    room: str
    test: str


def named_things() -> list[NamedThing]:
    """All of them, in the documents' order."""
    data = tomllib.loads(DATA.read_text("utf-8"))
    return [
        NamedThing(document, part, name, *told)
        for document, parts in data.items()
        for part, things in parts.items()
        for name, told in things.items()
    ]


def room_is_there(thing: NamedThing) -> bool:
    """Whether the file exists in which a thing acts."""
    return (ROOT / "src" / "idetic" / thing.room).is_file()


def is_shown(thing: NamedThing) -> bool:
    """Whether the test is defined that shows a thing, by the source and not by running it."""
    path, _, name = thing.test.partition("::")
    return name.startswith("test_") and name in _defined(ROOT / "tests" / path)


@cache
def _defined(path: Path) -> frozenset[str]:
    """The functions of a file of tests, in its classes too."""
    if not path.is_file():
        return frozenset()
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    tree = ast.walk(ast.parse(path.read_text("utf-8")))
    return frozenset(node.name for node in tree if isinstance(node, functions))


def page(things: list[NamedThing]) -> str:
    """The page: a table for each document."""
    return "\n".join([_HEAD, *_tables(things)])


def _tables(things: list[NamedThing]) -> Iterator[str]:
    for document, title in DOCUMENTS.items():
        yield f"## {title}\n\n| part | named thing | room | shown by |\n|---|---|---|---|"
        yield from (
            f"| {one.part} | {one.name.replace('<', '&lt;')} | `{one.room}` | `{one.test}` |"
            for one in things
            if one.document == document
        )
        yield ""


if __name__ == "__main__":
    PAGE.write_text(page(named_things()), encoding="utf-8")
