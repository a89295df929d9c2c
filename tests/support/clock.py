"""A clock that a test sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class SettableClock:
    """Says what it is told; it never moves by itself."""

    simulated = True

    def __init__(self, moment: datetime = START) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def advance(self, **by: float) -> datetime:
        """Move by a timedelta, also backwards; returns the new moment."""
        self.moment += timedelta(**by)
        return self.moment
