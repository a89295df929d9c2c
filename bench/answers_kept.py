"""Answers and verdicts, one line each, so that a run that was killed goes on where it stopped.

A line is found again by its key: the question, the context's messages, the model, the prompt. So
nothing is asked twice, and whatever changed is asked anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Line = dict[str, Any]


def key_of(*parts: object) -> str:
    """A key for what these parts say together."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:24]


class KeptLines:
    """A file of lines with keys; use it as `with`. A line is on disk before the next is asked."""

    def __init__(self, path: Path):
        self._path = path
        self._lines: dict[str, Line] = {}

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+", encoding="utf-8")
        self._file.seek(0)
        text = self._file.read()
        for line in filter(None, map(_read, text.splitlines())):
            self._lines[line["key"]] = line
        if text and not text.endswith("\n"):
            # The last run was killed while it wrote: that line is lost, the next begins anew.
            self._file.write("\n")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def get(self, key: str) -> Line | None:
        """The line with this key, if there is one."""
        return self._lines.get(key)

    def add(self, key: str, line: Mapping[str, Any]) -> Line:
        """Keep a line under a key."""
        kept = {"key": key, **line}
        self._file.write(json.dumps(kept, ensure_ascii=False) + "\n")
        self._file.flush()
        self._lines[key] = kept
        return kept


def _read(text: str) -> Line | None:
    """A line, unless it was never written to its end."""
    try:
        line = json.loads(text)
    except json.JSONDecodeError:
        return None
    return line if isinstance(line, dict) and "key" in line else None
