"""Ids are UUIDv7: made by the application, sortable by time, no shared sequence to probe."""

from __future__ import annotations

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def uuid7() -> UUID:
    """A time-ordered id (RFC 9562, version 7), strictly increasing within this process.

    The twelve bits after the milliseconds hold a sub-millisecond fraction, so ids made in
    one process sort in the order they were made; the last 62 bits are random.
    """
    global _last  # noqa: PLW0603 - one clock per process is the point
    with _lock:
        ticks = time.time_ns() * 4096 // 1_000_000
        _last = max(ticks, _last + 1)
        ticks = _last
    millis, fraction = divmod(ticks, 4096)
    random = int.from_bytes(os.urandom(8), "big") & 0x3FFF_FFFF_FFFF_FFFF
    value = (millis & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random
    return UUID(int=value)
