"""What Idetic asks of the outside, as Protocols. Adapters live elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where 'now' comes from; injected, so that a month of memory fits into one test."""

    def now(self) -> datetime:
        """The current moment, time zone aware."""
        ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """The current moment in UTC."""
        return datetime.now(UTC)
