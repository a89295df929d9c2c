"""The chains of an anchor, its ledger's and its log's: links, hashes, heads.

The hashes are computed here from the rows alone. The database has functions for the same. They are
not asked: whoever can rewrite rows can replace a function too. docs/reference/schema.md has the
definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self
from uuid import UUID

from idetic.errors import InputError
from idetic.model import PlainData, Scope, plain

LogQuery = Callable[..., Awaitable[list[tuple[Any, ...]]]]
"""Runs a named query of an anchor's log: `end`, `chain` or `erased`."""
_HEAD_KEYS = ("agent", "anchor", "position", "hash", "at")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HASH_BYTES = 32
_LOG_PROBLEMS = 100
_LOG_BATCH = 1_000
EMPTIED = "[erased]"
"""The content of an erased event."""
# As jsonb prints scalars: a blank after each comma, no letter escaped.
_text = json.JSONEncoder(ensure_ascii=False).encode


class Link(NamedTuple):
    """One row of a ledger, each column as the text that goes into its hash."""

    position: int
    receipt_id: str
    at: str
    transition: str
    decision: str
    memory_id: str | None
    actor_kind: str
    actor: str
    reason: str
    state_from: str | None
    state_to: str | None
    detail: str
    prev_hash: bytes
    hash: bytes


def genesis_hash(family: str, anchor: Iterable[object]) -> bytes:
    """The hash that a chain starts from: of its family and anchor, so that it cannot be moved."""
    values = [str(value) if isinstance(value, UUID) else value for value in anchor]
    return hashlib.sha256(_text([family, values]).encode()).digest()


def link_hash(prev: bytes, link: Link, position: int | None = None) -> bytes:
    """The hash that a link must carry after `prev`; at another position, if one is given."""
    stands = link.position if position is None else position
    words = _text([*link[3:11]])[1:-1]
    content = f"[{stands}, {_text(link.receipt_id)}, {link.at}, {words}, {link.detail}]"
    return hashlib.sha256(prev + content.encode()).digest()


@dataclass(frozen=True, slots=True)
class ChainHead(PlainData):
    """The end of an anchor's chain at one moment; position 0 is an empty chain."""

    agent: str
    anchor: Mapping[str, Any]
    position: int
    hash: bytes
    at: datetime | None

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Read a head from the data of `as_data`; other data raises an error."""
        if not isinstance(data, Mapping) or set(data) != set(_HEAD_KEYS):
            raise _refused(f"it must have exactly the keys {', '.join(_HEAD_KEYS)}")
        agent, anchor, position, text, at = (data[key] for key in _HEAD_KEYS)
        if not isinstance(agent, str) or not isinstance(anchor, Mapping):
            raise _refused("its agent must be a text and its anchor a mapping")
        if type(position) is not int or position < 0:
            raise _refused("its position must be a whole number from 0")
        try:
            digest = bytes.fromhex(text)
            moment = None if at is None else datetime.fromisoformat(at)
        except (TypeError, ValueError):
            raise _refused("its hash must be hexadecimal and its time ISO 8601") from None
        if len(digest) != _HASH_BYTES:
            raise _refused("its hash must have 64 hexadecimal digits")
        return cls(agent, dict(anchor), position, digest, moment)

    def of_same_anchor(self, scope: Scope) -> bool:
        """Whether it is the head of this anchor's chain, read from JSON or not."""
        return self.agent == scope.agent and bool(plain(self.anchor) == plain(scope.anchor))


def moment_of(micros: str | None) -> datetime | None:
    """A time from its microseconds, or None for one that no calendar holds."""
    try:
        return None if micros is None else _EPOCH + timedelta(microseconds=int(micros))
    except (ValueError, OverflowError):
        return None


def _refused(why: str) -> InputError:
    """The refusal of something that is not a chain's head."""
    return InputError(
        f"This is not a chain's head: {why}.", remedy="Give one that `head` or --save-head made."
    )


@dataclass(frozen=True, slots=True)
class LogHead:
    """The end of a log; kept elsewhere, it shows that last events were removed."""

    position: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class LogVerified:
    """The result of verifying a log: the places that differ from what was written."""

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
        if len(self.problems) < _LOG_PROBLEMS:
            self.problems.append(problem)


async def walk_log(
    ask: LogQuery,
    genesis: bytes,
    kept: LogHead | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> LogWalk:
    """Walk a whole log, and compare where it ends; what `ask` reads is of one moment."""
    end, walk = await log_end(ask), LogWalk(genesis, kept)
    while rows := await ask("chain", after=walk.end.position, limit=_LOG_BATCH):
        for row in rows:
            walk.take(row)
        if progress is not None:
            progress("verify", walk.events, max(walk.events, end.position if end else 0))
    walk.settle(end, {row[0] for row in await ask("erased")})
    return walk


async def log_end(ask: LogQuery) -> LogHead | None:
    """Where the log ends, by the anchor's own row."""
    rows = await ask("end")
    return LogHead(rows[0][0], bytes(rows[0][1])) if rows else None


def hashed(salt: bytes, content: str, metadata: str) -> bytes:
    """The salted hash of what an event says; `metadata` is the database's own text of it."""
    return hashlib.sha256(salt + content.encode() + b"\x00" + metadata.encode()).digest()
