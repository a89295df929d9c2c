"""A terminal at which a page is followed literally: a shell, and what is started in it.

Lines are typed into the shell's own input, so a Python prompt that the page starts takes the lines
that come after it, as at a keyboard. After each block a mark is typed that the shell or the prompt
repeats; what came out before the mark belongs to the block.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.support.children import child

_PROMPT = re.compile(r"^(?:>>> |\.\.\. )+", re.MULTILINE)
_WAIT = 900.0


class Terminal:
    """A shell in a directory, until it is closed."""

    def __init__(self, cwd: Path, environment: Mapping[str, str]) -> None:
        self._stack = ExitStack()
        shell = child(
            ["bash", "--noprofile", "--norc"],
            patience=None,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # What other programs say in the user's language may be in another encoding.
            errors="replace",
            # So that it can be killed with all that was started in it.
            start_new_session=True,
        )
        self._shell = self._stack.enter_context(shell)
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._marks = 0
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._keys: IO[str] = self._shell.stdin
        said = self._shell.stdout
        self._listener = threading.Thread(target=self._listen, args=(said,), daemon=True)
        self._listener.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave whatever runs, then the shell: the end of input ends both."""
        with self._stack:
            self._keys.close()
            try:
                self._shell.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self._shell.pid, signal.SIGKILL)
                raise
            finally:
                self._listener.join(60)

    def shell(self, line: str) -> str:
        """Type a line at the shell; what it printed. It must succeed."""
        self._type(f"{line} || echo FAILED: $?\n")
        said = self._until('echo "{}"\n')
        assert "FAILED: " not in said, f"$ {line}\n{said}"
        return said

    def start(self, line: str) -> None:
        """Type a line that starts a Python prompt."""
        self._type(f"{line}\n")
        self.paste("")

    def paste(self, block: str) -> str:
        """Paste a block at the Python prompt, with one more Enter; what it printed."""
        self._type(f"{block}\n")
        said = _PROMPT.sub("", self._until('print("{}")\n'))
        assert "Traceback (most recent call last)" not in said, f"{block}\n{said}"
        return said

    def _listen(self, said: IO[str]) -> None:
        try:
            with said:
                for line in said:
                    self._lines.put(line)
        finally:
            # Whatever ended it: somebody waits for a line.
            self._lines.put(None)

    def _type(self, text: str) -> None:
        self._keys.write(text)
        self._keys.flush()

    def _until(self, mark: str) -> str:
        self._marks += 1
        wanted = f"--- mark {self._marks} ---"
        self._type(mark.format(wanted))
        said: list[str] = []
        while True:
            line = self._lines.get(timeout=_WAIT)
            assert line is not None, f"The terminal closed after:\n{''.join(said)}"
            if line.rstrip("\n").endswith(wanted):
                said.append(line.replace(wanted, ""))
                return "".join(said)
            said.append(line)
