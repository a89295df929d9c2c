"""Two ways to run the command line in a test: as a process, and within this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import pytest

from idetic.surfaces.cli.app import main
from tests.conftest import TestDatabase


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The answer, which must be all that stdout holds."""
        return json.loads(self.out)

    def error(self) -> Any:
        """The error, which must be all that stderr holds."""
        return json.loads(self.err)["error"]


def process(*arguments: str | bytes, stdin: str = "", **environment: str) -> Ran:
    """Run `python -m idetic …` as a user would."""
    done = subprocess.run(
        [sys.executable, "-m", "idetic", *arguments],
        input=stdin.encode(),
        capture_output=True,
        check=False,
        timeout=120,
        # Some locales have fewer letters than its answers; one test gives it such a locale.
        env={**os.environ, "COLUMNS": "200", "PYTHONUTF8": "1", **environment},
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


class Terminal(io.StringIO):
    """An input at which somebody sits."""

    def isatty(self) -> bool:
        return True


def called(*arguments: str, stdin: io.StringIO | str = "", **environment: str) -> Ran:
    """Run the same entry point without a new process: a second faster."""
    out, err = io.StringIO(), io.StringIO()
    typed = io.StringIO(stdin) if isinstance(stdin, str) else stdin
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", typed)
        for name, value in {"COLUMNS": "200", **environment}.items():
            patch.setenv(name, value)
        code = main(list(arguments))
    return Ran(code, out.getvalue(), err.getvalue())


def administered(database: TestDatabase, *arguments: str, stdin: io.StringIO | str = "") -> Ran:
    """The same as somebody does who has the admin login beside the application's."""
    dsn = ("--dsn", database.dsn)
    return called(*arguments, *dsn, stdin=stdin, IDETIC_ADMIN_DSN=database.admin_dsn)
