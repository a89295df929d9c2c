"""The suite passes however it is started, and one failure in it stays one.

A few telling tests are run once more, by a pytest that is started as badly as can be; and where the
plugin that makes up for that is left out, tests fail.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.children import child, within
from tests.support.docs import ROOT

PLUGIN = "tests.support.started"
# Signals ignored and input closed, as by `nohup make test &` in a script; nobody else may read.
BADLY = "trap '' INT QUIT HUP TERM; umask 077; exec \"$@\" <&-"
ENVIRONMENT = {
    "LC_ALL": "C",
    "TZ": "Pacific/Chatham",
    "COLUMNS": "37",
    "FORCE_COLOR": "1",
    "PYTHONHASHSEED": "7",
    # Whoever is led there by the user's own settings fails.
    "IDETIC_DSN": "postgresql://nobody@127.0.0.1:1/nothing",
    "HTTP_PROXY": "http://127.0.0.1:9",
}
# A process that is interrupted, answers that have a form, a server that another user runs.
TELLING = (
    "tests/surfaces/test_cli_process.py::test_an_interrupt_ends_quietly",
    "tests/surfaces/test_cli_spec.py::test_diff_names_the_primitive_and_both_sides",
    "tests/integration/test_embedded.py::test_a_home_with_a_long_and_awkward_path",
)


def counts(*arguments: str, cwd: Path = ROOT) -> tuple[dict[str, int], str]:
    """How many tests passed and failed in a run that was started badly, and all it said."""
    path = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        ["sh", "-c", BADLY, "sh", sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
         "--color=no", *arguments],
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, path))},
        cwd=cwd, capture_output=True, encoding="utf-8", check=False, timeout=240,
        start_new_session=True,
    )  # fmt: skip
    said = done.stdout + done.stderr
    found = re.findall(r"(\d+) (passed|failed|errors?)\b", done.stdout.splitlines()[-1])
    return {what: int(number) for number, what in found}, said


def test_telling_tests_pass_in_a_run_that_was_started_badly() -> None:
    # With a worker, as by `make test`.
    told, said = counts("-n", "1", "--dist", "loadfile", *TELLING)
    assert told == {"passed": len(TELLING)}, said


# --- what the plugin is for ---------------------------------------------------------------------

HEARING = """
import os, signal, subprocess, sys

def said_by(code):
    ran = [sys.executable, "-c", code]
    return subprocess.run(ran, stdout=subprocess.PIPE, text=True, timeout=60).stdout

def test_what_is_started_is_interrupted():
    assert "default_int_handler" in said_by("import signal; print(signal.getsignal(2))")

def test_what_is_started_is_ended():
    assert "SIG_DFL" in said_by("import signal; print(repr(signal.getsignal(15)))")

def test_the_run_itself_goes_on_ignoring_it():
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)

def test_answers_are_as_wide_as_they_are():
    assert not {"COLUMNS", "FORCE_COLOR", "IDETIC_DSN"} & set(os.environ)
"""
FAILING = """
import gc, subprocess, sys

def test_that_fails_and_leaves_a_process():
    # It ends with its input, so with the pipe.
    ran = [sys.executable, "-c", "input()"]
    waiting = subprocess.Popen(ran, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert waiting is None

def test_after_it():
    # As at some moment in some later test: what is left is part of a circle.
    gc.collect()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, where only the plugin is there that the command line names."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return tmp_path


def test_what_a_test_starts_hears_what_the_run_ignores(place: Path) -> None:
    (place / "test_it.py").write_text(HEARING)
    told, said = counts("-p", PLUGIN, cwd=place)
    assert told == {"passed": 4}, said
    told, said = counts(cwd=place)
    assert told == {"failed": 3, "passed": 1}, said


def test_a_failure_stays_one_failure(place: Path) -> None:
    (place / "test_it.py").write_text(FAILING)
    told, said = counts("-p", PLUGIN, cwd=place)
    assert told == {"failed": 1, "passed": 1}, said
    told, said = counts(cwd=place)
    assert told == {"failed": 2}, said


def test_the_suite_has_the_plugin() -> None:
    """The control of the first test: without it answers are not what a test looks for."""
    told, said = counts("-p", f"no:{PLUGIN}", TELLING[1])
    assert told == {"failed": 1}, said


# --- waiting ------------------------------------------------------------------------------------


def test_a_process_that_is_late_is_killed_and_nothing_waits_for_it() -> None:
    began = time.monotonic()
    endless = [sys.executable, "-c", "input()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with child(endless, patience=0.1, **pipes) as running:
        assert running.stdout is not None
        assert (running.stdout.read(), running.wait()) == ("", -9)
    with child(endless, patience=None, **pipes) as running:
        assert running.stdout is not None
        with within(running, 0.1):
            assert running.stdout.readline() == ""
    with child(endless, **pipes) as left:
        pass
    assert (left.returncode, left.stdin is not None and left.stdin.closed) == (-9, True)
    assert time.monotonic() - began < 30


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield node


def test_no_test_waits_for_a_process_without_end() -> None:
    files = [p for p in (ROOT / "tests").rglob("*.py") if "subprocess" in p.read_text("utf-8")]
    waiting = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in files
        for call in calls(path)
        if ast.unparse(call.func) in ("subprocess.run", "subprocess.check_output")
        and "timeout" not in {each.arg for each in call.keywords}
    ]
    starting = {
        str(path.relative_to(ROOT))
        for path in files
        for call in calls(path)
        if ast.unparse(call.func) == "subprocess.Popen"
    }
    assert waiting == []
    assert starting == {"tests/support/children.py"}
