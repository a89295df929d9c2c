"""The documentation as data: its pages, their blocks, and what they say of the code."""

from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

from idetic.verbs.declaration import Verb

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r'^```(\w*)(?: title="([^"\n]+)")?[^\n]*\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page, the line its text begins on, and the file it belongs into."""

    page: Path
    line: int
    language: str
    text: str
    title: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Every page of the documentation, those at the root included."""
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start(3)) + 1
        yield Block(page, line, found[1], found[3], found[2] or "")


def typed_lines(block: Block) -> list[tuple[str, str]]:
    """The lines that a console block says to type, each with the output it shows."""
    text = block.text.replace("\\\n", " ")
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(line, shown) for line, _, shown in (part.partition("\n") for part in parts)]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


# --- what a page says of the code ---------------------------------------------------------------


def table_rows(page: Path, first: str) -> list[str]:
    """The rows of the tables whose header begins with `first`."""
    rows: list[str] = []
    inside = False
    for line in prose(page).splitlines():
        if not line.startswith("|"):
            inside = False
        elif line.startswith(f"| {first} |"):
            inside = True
        elif inside and not line.startswith("|---"):
            rows.append(line)
    return rows


def signature(function: Callable[..., Any] | Verb[..., Any]) -> str:
    """How a function or a verb is called, as the reference writes it: defaults as typed."""
    if isinstance(function, Verb):
        name, said, kinds = function.name, function.signature, _kinds(function)
    else:
        name, said, kinds = function.__name__, inspect.signature(function), {}
    parts: list[str] = []
    for each in said.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        stars = "**" if each.kind is each.VAR_KEYWORD else ""
        stars = "*" if each.kind is each.VAR_POSITIONAL else stars
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        parts.append(f"{stars}{each.name}: {kinds.get(each.name, each.annotation)}{default}")
    return f"{name}({', '.join(parts)}) -> {said.return_annotation}"


def _kinds(verb: Verb[..., Any]) -> dict[str, str]:
    """The types of arguments that say more than a reader needs: bounds, and how they are sent."""
    plain = get_type_hints(verb.function)
    told = {name: each.hint for name, each in verb.parameters.items()}
    return {name: _shown(plain[name]) for name, hint in told.items() if hint != plain[name]}


def _shown(kind: Any) -> str:
    """A type without the names of modules."""
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", inspect.formatannotation(kind))
    return re.sub(r"Optional\[(.*)\]$", r"\1 | None", text)


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple) and value and isinstance(value[0], Enum):
        assert value == tuple(type(value[0])), "all members"
        return f"tuple({type(value[0]).__name__})"
    return repr(value)


def text_files() -> Iterator[tuple[str, str]]:
    """Every text file that is in the repository or about to be, with its content."""
    for path in listed_files():
        try:
            yield str(path.relative_to(ROOT)), path.read_text("utf-8")
        except UnicodeDecodeError:
            continue


def listed_files() -> Iterator[Path]:
    """Every file that is in the repository or about to be."""
    # Also of a tree that belongs to another user.
    git = ["git", "--no-optional-locks", "-c", "safe.directory=*"]
    listing = [*git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, timeout=60)
        found = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # unpacked from an archive
        found = [ROOT / p for p in _all_names() if not any(map(_made, p.parts))]
    return (path for path in found if path.is_file())


def _all_names() -> Iterator[Path]:
    return (path.relative_to(ROOT) for path in ROOT.rglob("*"))


def _made(name: str) -> bool:
    """Whether tools make such files and folders, and nobody writes them."""
    return name == "__pycache__" or (name[0] == "." and name != ".gitignore")
