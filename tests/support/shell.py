"""The terminal of somebody who follows a page: scripts, lines, and servers that are stopped again.

Its variables are those of this process, so what a line exports stays.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.children import child, within
from tests.support.shown import settled
from tests.surfaces.cli_runner import called

# Lines that a page shows and no test of a page types, because they set up the environment that
# tests run in or bring something from elsewhere; and the test that types each.
ELSEWHERE = {
    "make setup": "tests/acceptance/test_tutorial.py",
    "source .venv/bin/activate": "tests/acceptance/test_tutorial.py",
    "python -m asyncio": "tests/acceptance/test_tutorial.py",
    "make demo": "tests/acceptance/test_tutorial.py",
    "make serve": "tests/acceptance/test_docs_run.py",
    "make test": ".ci/run",
    "pip install 'idetic[langgraph]'": "tests/acceptance/test_wheel.py",
    "pip install 'idetic[llm]'": "tests/acceptance/test_wheel.py",
    "pip install 'idetic[server,console]'": "tests/acceptance/test_wheel.py",
}
_WAIT = 300.0


def script(text: str, where: str) -> str:
    """Run a block by bash; what it printed. The variables it leaves are ours."""
    with tempfile.NamedTemporaryFile() as left:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{text}\nenv -0 > {shlex.quote(left.name)}\n"],
            env=os.environ | {"COLUMNS": "200"},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=_WAIT,
        )
        assert done.returncode == 0, f"{where}\n{done.stdout}\n{done.stderr}"
        lines = left.read().decode().split("\0")
    os.environ.clear()
    parts = (line.partition("=") for line in lines if line)
    os.environ.update((name, value) for name, _, value in parts)
    return done.stdout


def type_line(line: str, shown: str, where: str) -> str:
    """Type one line; what it printed. `idetic` alone is run in this process, a second faster."""
    words = shlex.split(os.path.expandvars(line), comments=True)
    if words[0] in ("export", "cmp"):
        return script(line, where)
    assert words[0] == "idetic", f"{where}: nothing types {line!r}"
    if {"|", "||", "&&", ";", ">", "<"} & set(words):
        return script(f"{{ {line}\n}} 2>&1", where)
    if words[1] == "serve" or words[1:3] == ["mcp", "--http"]:
        with served(words, shown) as server:
            return server.said
    ran = called(*words[1:])
    assert ran.code == 0, f"{where}: {line}\n{ran.err}"
    return ran.out


@dataclass(frozen=True)
class Served:
    """A server that runs, and what it said until it was ready."""

    process: subprocess.Popen[str]
    said: str


@contextmanager
def served(words: list[str], shown: str) -> Iterator[Served]:
    """A server at a free port, once it has said the last line shown; it must end well."""
    assert shown.strip(), f"what {words} says is not shown"
    with child(
        [*words, "--port", "0"],  # the last one given holds
        # It may serve all tests of a file.
        patience=None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        with within(process, _WAIT):
            said = _until(process, settled(shown)[-1])
        yield Served(process, said)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=_WAIT)
    assert process.returncode == 0, rest
    assert "Traceback" not in rest


def _until(process: subprocess.Popen[str], last: str) -> str:
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if settled(line)[-1:] == [last]:
            return said
    raise AssertionError(f"The server ended, and {last!r} was not among what it said:\n{said}")
