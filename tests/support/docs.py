"""Following the documentation as a reader would: every block of a page, in order.

Blocks are told apart by their language:

- ``python``: run, with `await` allowed at the top; all blocks of a page share one namespace.
- ``text`` right after it, or after ``sh``: what it prints.
- ``console``: each line `$ idetic …` is run and must succeed; the lines below it are its output.
- ``sql``: run on the database that `IDETIC_DSN` names.
- ``sh``: run by bash, which stops at the first failure; what a block exports, the next one has.

Ids, times and hashes differ from run to run and are compared as if they were all the same. A line
`…` in an output stands for any lines.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any

import psycopg

from tests.surfaces.cli_runner import called

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGING = {
    "UUID": re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    "TIME": re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"),
    "HASH": re.compile(r"\b[0-9a-f]{12,64}\b"),
}
_ANYTHING = "…"


@dataclass(frozen=True)
class Block:
    """One fenced block of a page, and the line its text begins on."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Every page of the documentation, the two at the root included."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start(2)) + 1
        yield Block(page, line, found[1], found[2])


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def follow(page: Path) -> int:
    """Do what the page says, in order; returns how many blocks were run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exported = dict(os.environ)
    printed: str | None = None
    count = 0
    with asyncio.Runner() as runner:
        for block in blocks(page):
            if block.language == "text" and printed is not None:
                check_output(block, block.text, printed)
            printed = None
            if block.language == "python":
                printed = _run(block, names, runner)
            elif block.language == "sh":
                printed, exported = _script(block, exported)
            elif block.language == "console":
                _type(block)
            elif block.language == "sql":
                with psycopg.connect(os.environ["IDETIC_DSN"], autocommit=True) as connection:
                    connection.execute(block.text.encode())
            else:
                continue
            count += 1
    return count


def _run(block: Block, names: dict[str, Any], runner: asyncio.Runner) -> str:
    # Empty lines in front, so that a traceback names the page's own line.
    source = "\n" * (block.line - 1) + block.text
    # Nothing is inherited: a reader's prompt has none of this file's imports from the future.
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, str(block.page), "exec", flags=flags, dont_inherit=True)
    out = io.StringIO()
    with redirect_stdout(out):
        result = FunctionType(code, names)()
        if inspect.iscoroutine(result):
            runner.run(result)
    return out.getvalue()


def _script(block: Block, exported: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Run a block by bash; what it printed, and the variables it leaves."""
    with tempfile.NamedTemporaryFile() as left:
        source = f"{block.text}\nenv -0 > {left.name}\n"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", source],
            env=exported | {"COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        lines = left.read().decode().split("\0")
    return done.stdout, dict(line.split("=", 1) for line in lines if "=" in line)


def _type(block: Block) -> None:
    text = block.text.replace("\\\n", " ")
    for typed in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = typed.partition("\n")
        program, *arguments = shlex.split(line, comments=True)
        if program != "idetic":
            continue
        ran = called(*arguments)
        assert ran.code == 0, f"{block}: {line}\n{ran.err}"
        if shown.strip():
            check_output(block, shown, ran.out)


def check_output(block: Block, shown: str, actual: str) -> None:
    """Compare what a page shows with what came out."""
    wanted, got = _settled(shown), _settled(actual)
    if _ANYTHING not in wanted:
        assert got == wanted, f"{block}\n{actual}"
        return
    rest = got
    for piece in _pieces(wanted):
        at = next((n for n in range(len(rest)) if rest[n : n + len(piece)] == piece), None)
        assert at is not None, f"{block}: {piece} is not in {rest}"
        rest = rest[at + len(piece) :]


def _settled(text: str) -> list[str]:
    for name, pattern in _CHANGING.items():
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _pieces(lines: list[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    for line in [*lines, _ANYTHING]:
        if line != _ANYTHING:
            piece.append(line)
        elif piece:
            yield piece
            piece = []


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


def signature(function: Callable[..., Any]) -> str:
    """How a function is called, as the reference writes it: no `self`, defaults as typed."""
    said = inspect.signature(function)
    parts: list[str] = []
    for each in said.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        stars = "**" if each.kind is each.VAR_KEYWORD else ""
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        parts.append(f"{stars}{each.name}: {each.annotation}{default}")
    return f"{function.__name__}({', '.join(parts)}) -> {said.return_annotation}"


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
    listing = ["git", "--no-optional-locks", "ls-files", "--cached", "--others"]
    try:
        listed = subprocess.run(
            [*listing, "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
        )
        found = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # unpacked from an archive
        found = [p for p in ROOT.rglob("*") if not any(n[0] == "." for n in p.parts)]
    return (path for path in found if path.is_file())
