"""What other stores remembered, as things that the gateway may be asked to take. No I/O but a file.

Such a memory comes without a chain, without a scope and without anybody who vouches for it. So it
is an observation of an external origin, each with its own checks, and never a restored row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from idetic.errors import InputError

_FILE_LIMIT = 512 << 20


@dataclass(frozen=True, slots=True)
class Foreign:
    """One memory of another store."""

    source: str
    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def stated(self) -> str:
        """As of when it says so there. Never a hash of its text: that would outlive an erasure."""
        at = self.updated_at or self.created_at
        if at is None:
            return "at an unknown time"
        return f"as of {at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    @property
    def disguised(self) -> str:
        """Its id as letters, for one that names somebody."""
        digest = hashlib.sha256(self.id.encode("utf-8", "replace")).hexdigest()
        letters = digest[:16].translate(str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst"))
        return " ".join(letters[at : at + 4] for at in range(0, 16, 4))


@dataclass(frozen=True, slots=True)
class NotTaken:
    """One thing that was left behind, and why; never its text."""

    id: str
    code: str
    why: str


Read = Callable[[Any], Iterator[Foreign | NotTaken]]


def documents(path: str | Path) -> Any:
    """A file of JSON, or of JSON Lines as a list."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_FILE_LIMIT + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name is no path"
        raise InputError(f"The file cannot be read: {why}.") from None
    if len(raw) > _FILE_LIMIT:
        raise InputError(f"The file is larger than {_FILE_LIMIT >> 20} MB; split it.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("The file is not UTF-8.") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _lines(text)


def _lines(text: str) -> list[Any]:
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                raise InputError(
                    f"Line {number} of the file is not JSON.",
                    remedy="Give one JSON document, or one to a line. Nothing was written.",
                ) from None
    return found


def listed(data: Any, keys: tuple[str, ...]) -> list[Any]:
    """The list in a document: itself, or under one of some keys."""
    for key in keys:
        if isinstance(data, Mapping) and isinstance(data.get(key), list):
            found: list[Any] = data[key]
            return found
    if isinstance(data, list):
        return data
    raise InputError(
        f"The file has no list of memories: neither a list nor one under {', '.join(keys)}.",
        remedy="Export it as docs/how-to/move-memory.md says. Nothing was written.",
    )


def moment(value: Any) -> datetime | None:
    """A time as stores write it; what is none is left out, and no reason to refuse a memory."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
