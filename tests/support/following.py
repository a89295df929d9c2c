"""Following a page as a reader would: every block of it, in order.

Blocks are told apart by their language:

- ``python``: typed line by line at a prompt that knows `await`, as `python -m asyncio` does; all
  blocks of a page share one namespace, and together they have to be a script, too.
- ``sh``: run by bash, which stops at the first failure; what a block exports, all that follow have.
- ``console``: each line `$ …` is typed, and must succeed; the lines below it are its output.
- ``sql``: run on the database that `IDETIC_ADMIN_DSN` names, or else `IDETIC_DSN`.
- ``yaml``, ``toml``, ``json`` with a title: written to the file of that name, or added to it.
- ``text`` and ``json`` without one, right after ``python`` or ``sh``: what it printed.

Nothing else is known, and a block that is nothing of this is an error; so is a line that nobody
here can type. A ``text`` alone is a figure, which tests/acceptance/test_docs_run.py counts.
"""

from __future__ import annotations

import ast
import asyncio
import codeop
import dataclasses
import inspect
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import indent
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

import psycopg

from tests.support.docs import Block, blocks, typed_lines
from tests.support.shell import ELSEWHERE, script, type_line
from tests.support.shown import differences

FILES = {"yaml", "toml", "json"}
OUTPUTS = {"text", "json"}
TYPED = {"python", "sh", "console", "sql"}


def follow(page: Path, own: Mapping[str, str] | None = None) -> int:
    """Do what the page says, in order; returns how many blocks were run.

    `own` is what the reader has in place of what the page names: an address, a directory.
    """
    own = own or {}
    assert [name for name in own if name not in page.read_text("utf-8")] == []
    check_script(page)
    # The reader's environment is this process's: what a page exports, its Python sees too.
    with mock.patch.dict(os.environ), asyncio.Runner() as runner:
        reader = _Reader(runner, own)
        for block in blocks(page):
            reader.do(block)
    return reader.ran


class _Reader:
    """Somebody at a prompt and a terminal, and what came out last."""

    def __init__(self, runner: asyncio.Runner, own: Mapping[str, str]) -> None:
        self.ran = 0
        self._runner = runner
        self._own = own
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed: str | None = None
        self._awaits = False

    def do(self, block: Block) -> None:
        text = block.text
        for named, instead in self._own.items():
            text = text.replace(named, instead)
        block = dataclasses.replace(block, text=text)
        if block.language in TYPED:
            self._printed = self._run(block)
            self.ran += 1
        elif block.title and block.language in FILES:
            with Path(block.title).open("a", encoding="utf-8") as file:
                file.write(block.text)
        elif self._printed is not None and block.language in OUTPUTS:
            check_output(block, block.text, self._printed)
            self._printed = None
        else:
            assert block.language == "text", f"{block}: nothing runs or reads this"

    def _run(self, block: Block) -> str | None:
        if block.language == "python":
            return self._python(block)
        if block.language == "sh":
            return script(block.text, str(block))
        if block.language == "console":
            type_lines(block)
            return None
        dsn = os.environ.get("IDETIC_ADMIN_DSN") or os.environ["IDETIC_DSN"]
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(block.text.encode())
        return None

    def _python(self, block: Block) -> str:
        codes = list(statements(block))
        # From the first `await` on it is the prompt that knows it, and runs all within its loop.
        self._awaits |= any(code.co_flags & inspect.CO_COROUTINE for code in codes)
        out = io.StringIO()
        # A prompt also shows what an expression gives, which pages leave out.
        with redirect_stdout(out), mock.patch("sys.displayhook"):
            for code in codes:
                function = FunctionType(code, self._names)
                if self._awaits:
                    self._runner.run(_within_loop(function))
                else:
                    function()
        return out.getvalue()


async def _within_loop(function: FunctionType) -> None:
    result = function()
    if inspect.iscoroutine(result):
        await result


def statements(block: Block) -> Iterator[CodeType]:
    """The statements of a block as a prompt takes them: an empty line ends a compound one."""
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    typed: list[str] = []
    for line in [*block.text.splitlines(), ""]:
        typed.append(line)
        try:
            code = compiler("\n".join(typed), str(block))
        except SyntaxError as error:
            raise AssertionError(f"{block}: a prompt does not take {typed}") from error
        if code:
            yield code
            typed.clear()
    assert not typed, f"{block}: a prompt waits for the end of {typed}"


def check_script(page: Path) -> None:
    """The Python of a page, one block below the other, is the body of an `async def`."""
    body = "pass\n" + "\n".join(each.text for each in blocks(page) if each.language == "python")
    try:
        compile(f"async def main():\n{indent(body, '    ')}", str(page), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise AssertionError(f"{page}: its Python is no script") from error


def type_lines(block: Block) -> None:
    """Type each line of a console block, but for those that another test types."""
    for line, shown in typed_lines(block):
        if line.partition(" #")[0].rstrip() in ELSEWHERE:
            continue
        said = type_line(line, shown, str(block))
        if shown.strip():
            check_output(block, shown, said)


def check_output(block: Block, shown: str, actual: str) -> None:
    """Compare what a page shows with what came out; JSON by what it says, keys in order."""
    if block.language == "json":
        shown, actual = (json.dumps(json.loads(text), indent=1) for text in (shown, actual))
    found = differences(shown, actual)
    assert not found, f"{block}: {found}\n{actual}"
