"""What a log's hashes are over, computed here from the rows alone.

The database computes the same when it appends. It is not asked again: whoever can rewrite rows can
replace a function too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

_text = json.JSONEncoder(ensure_ascii=False).encode
PROBLEMS_KEPT = 100
_BATCH = 1_000
EMPTIED = "[erased]"
"""What an erased event says."""


@dataclass(frozen=True, slots=True)
class LogHead:
    """Where a log ends. Kept elsewhere, it shows a cut tail."""

    position: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class LogVerified:
    """What verifying a log found: nothing, or where it is not as it was written."""

    events: int
    head: LogHead
    problems: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every event is as it was written, and none is missing."""
        return not self.problems


@dataclass(slots=True)
class LogWalk:
    """Walks a log link by link, and keeps what is wrong with it."""

    genesis: bytes
    kept: LogHead | None = None
    events: int = 0
    problems: list[str] = field(default_factory=list)
    _end: LogHead | None = None
    _emptied: dict[str, int] = field(default_factory=dict)

    @property
    def end(self) -> LogHead:
        """The last link so far."""
        return self._end or LogHead(0, self.genesis)

    def take(self, row: tuple[Any, ...]) -> None:
        """The next link, as the query `chain` gives it."""
        position, *said, content, metadata, salt, content_hash, prev_hash, digest = row
        last = self.end
        if position != last.position + 1:
            self.tell(f"position {last.position + 1} is missing; {position} follows")
        if bytes(prev_hash) != last.digest:
            self.tell(f"position {position} does not follow from the one before")
        if not salt and content == EMPTIED:
            self._emptied[said[0]] = position
        elif hashed(bytes(salt), content, metadata) != bytes(content_hash):
            self.tell(f"position {position} has another content than was written")
        words = _text([position, *said, bytes(content_hash).hex()])
        if hashlib.sha256(bytes(prev_hash) + words.encode()).digest() != bytes(digest):
            self.tell(f"position {position} has another hash than its link")
        self._end = LogHead(position, bytes(digest))
        self.events += 1
        if self.kept and self.kept.position == position and self.kept.digest != bytes(digest):
            self.tell(f"position {position} has another hash than the head that was kept")

    def settle(self, head: LogHead | None, erased: Collection[str]) -> None:
        """Compare the end of the walk with the anchor's own row, and with the head that was kept.

        What is empty must have been erased: a link of the ledger says so.
        """
        for event_id, position in self._emptied.items():
            if event_id not in erased:
                self.tell(f"position {position} is empty, and nothing says that it was erased")
        if head is not None and head != self.end:
            self.tell(f"the anchor's row says that the log ends at {head.position}")
        if head is None and self.events:
            self.tell("the anchor's row says that there is no log")
        if self.kept and self.kept.position > self.end.position:
            self.tell(f"the log ended at {self.kept.position} once, and now at {self.end.position}")

    def tell(self, problem: str) -> None:
        """Keep a problem; beyond some hundred, more of them say nothing more."""
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem)


class LogReader(Protocol):
    """Whoever reads a log: where it ends, its links, and what the ledger says was erased."""

    async def log_end(self) -> tuple[int, bytes] | None:
        """Where the log ends, by the anchor's row."""
        ...

    async def log_chain(self, after: int, limit: int) -> list[tuple[Any, ...]]:
        """Links after a position, with all that their hashes are over."""
        ...

    async def log_erased(self) -> set[str]:
        """The events that the ledger says were erased."""
        ...


async def walk_log(
    reader: LogReader,
    genesis: bytes,
    kept: LogHead | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> LogWalk:
    """Walk a whole log, and compare where it ends."""
    end, walk = await reader.log_end(), LogWalk(genesis, kept)
    while rows := await reader.log_chain(walk.end.position, _BATCH):
        for row in rows:
            walk.take(row)
        if progress is not None:
            progress("verify", walk.events, max(walk.events, end[0] if end else 0))
    # The log may have grown since its end was read; only then read it again.
    if end is not None and end[0] < walk.end.position:
        end = await reader.log_end()
    walk.settle(LogHead(*end) if end else None, await reader.log_erased())
    return walk


def hashed(salt: bytes, content: str, metadata: str) -> bytes:
    """The salted hash of what an event says; `metadata` is the database's own text of it."""
    return hashlib.sha256(salt + content.encode() + b"\x00" + metadata.encode()).digest()
