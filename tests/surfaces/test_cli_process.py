"""The program as a process: pipes that close, interrupts, odd locales, bugs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.children import child
from tests.surfaces.cli_runner import process

WAIT = 60.0


def test_a_reader_that_leaves_early_hears_no_complaint() -> None:
    read, write = os.pipe()
    os.close(read)
    left = subprocess.run(
        [sys.executable, "-m", "idetic", "spec", "render", "world_agent"],
        stdout=write, stderr=subprocess.PIPE, check=False, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert left.stderr == b""
    assert left.returncode == 1


def test_an_interrupt_ends_quietly() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with child([sys.executable, "-m", "idetic", "spec", "new"], patience=WAIT, **pipes) as asking:
        assert asking.stderr is not None
        said = b""
        # To the end of the question, which no line end follows; or of what it says at all.
        while b"agent: " not in said and (more := os.read(asking.stderr.fileno(), 1000)):
            said += more
        asking.send_signal(signal.SIGINT)
        # Its input stays open until it has gone: the end of it would be another way to end.
        assert asking.wait() == 130
        out, err = asking.communicate()
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "said"),
    [
        ("<&-", ["spec", "new"], 2, "The input ended at the question"),
        (">&-", ["spec", "render", "world_agent"], 0, ""),
        ("2>&-", ["spec", "render", "nobody"], 5, ""),
        ("<&- >&- 2>&-", ["spec", "check", "world_agent"], 0, ""),
    ],
)
def test_a_stream_that_was_closed_before_is_an_empty_one(
    closed: str, arguments: list[str], code: int, said: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "idetic", *arguments],
        capture_output=True, check=False, timeout=60, encoding="utf-8",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr
    assert "Idetic met an error" not in done.stderr


def test_what_nobody_foresaw_is_one_line_and_a_private_file(tmp_path: Path) -> None:
    # A module of the program's own that breaks: the nearest to a bug that is not there.
    broken = "import sys; sys.modules['idetic.spec.loader'] = None;"
    run = "from idetic.surfaces.cli.app import main; sys.argv[1:] = ['spec', 'check', 'x']; main()"
    done = subprocess.run(
        [sys.executable, "-c", f"{broken} {run}"], capture_output=True, check=False, text=True,
        timeout=60, env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "200"},
    )  # fmt: skip
    (log,) = tmp_path.glob("idetic-*.log")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "ModuleNotFoundError" in done.stderr
    assert str(log) in done.stderr
    assert "Traceback" in log.read_text("utf-8")
    assert log.stat().st_mode & 0o077 == 0


def test_a_terminal_without_unicode_gets_its_answer_too() -> None:
    ran = process("spec", "diff", "world_agent", "operator_agent",
                  PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")  # fmt: skip
    assert ran.code == 0
    assert "operator_agent" in ran.out


def test_importing_the_command_line_imports_no_rich() -> None:
    probe = (
        "import sys, idetic.surfaces.cli.app; "
        "print([m for m in sys.modules if m == 'rich' or m.startswith('rich.')])"
    )
    said = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, check=True, text=True, timeout=60
    ).stdout
    assert said == "[]\n"
