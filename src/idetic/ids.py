"""The clock, and ids that sort by time.

Ids are UUIDv7: made by the application, with no shared sequence to probe.
"""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

_lock = threading.Lock()
_last = 0
_buffer = bytearray()


class Clock(Protocol):
    """Where 'now' comes from; injected, so that a month of memory fits into one test."""

    def now(self) -> datetime:
        """The current moment, time zone aware."""
        ...


def is_simulated(clock: Clock) -> bool:
    """Whether a clock says of itself that it tells another time than the present, on purpose.

    It does so by an attribute, `simulated = True`; any other is held against the server's.
    """
    return getattr(clock, "simulated", False) is True


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """The current moment in UTC."""
        return datetime.now(UTC)


def random_bytes(count: int) -> bytes:
    """Random bytes from the operating system, fetched in pages: a call for each id cost 4 us."""
    with _lock:
        if len(_buffer) < count:
            _buffer.extend(os.urandom(4096))
        taken = bytes(_buffer[:count])
        del _buffer[:count]
        return taken


# A forked child must not hand out what its parent will.
os.register_at_fork(after_in_child=_buffer.clear)


def uuid7() -> UUID:
    """A time-ordered id (RFC 9562, version 7), strictly increasing within this process.

    The twelve bits after the milliseconds hold a sub-millisecond fraction, so ids made in
    one process sort in the order they were made; the last 62 bits are random.
    """
    return UUID(int=_value())


def uuid7_text() -> str:
    """The same as text: what goes over the wire, without the object in between."""
    text = f"{_value():032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _value() -> int:
    """The next id as a number: time, version, fraction, variant, random bits."""
    global _last  # noqa: PLW0603 - one clock per process is the point
    with _lock:
        ticks = time.time_ns() * 4096 // 1_000_000
        # A clock that stands still or is set back must not give an id twice.
        _last = ticks = ticks if ticks > _last else _last + 1
    millis, fraction = divmod(ticks, 4096)
    random = int.from_bytes(random_bytes(8), "big") & 0x3FFF_FFFF_FFFF_FFFF
    return (millis & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random
