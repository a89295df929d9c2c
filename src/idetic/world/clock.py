"""The story's clock: days that begin at nine, and pass as fast as they are told."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from idetic.ports import SystemClock

_OPENS = time(9)
_BETWEEN = timedelta(hours=2)
_LAST = timedelta(hours=23)


class StoryClock:
    """The machine's clock until the story begins, and then the story's; day 1 is `begins`."""

    def __init__(
        self,
        begins: datetime,
        between: timedelta = _BETWEEN,
        thread: timedelta = timedelta(0),
    ) -> None:
        self.begins = begins
        self._thread = thread
        self._between = between
        self._moment: datetime | None = None
        self._day: int | None = None

    def now(self) -> datetime:
        """The current moment."""
        return self._moment or SystemClock().now()

    def turn_to(self, day: int) -> None:
        """The next thing on a day: the first at nine, each other one some time later.

        A day never runs into the next one: what is told for yesterday is not in the future.
        """
        midnight = self.begins + timedelta(days=day - 1)
        if self._moment is not None and day == self._day:
            self._moment = min(self._moment + self._between, midnight + _LAST)
            return
        self._day = day
        self._moment = datetime.combine(midnight, _OPENS, UTC)

    def go_on(self) -> None:
        """As long as a thread of a session takes."""
        if self._moment is not None:
            self._moment += self._thread

    def day_of(self, moment: datetime) -> int:
        """The day of the story that a moment is in."""
        return (moment - self.begins).days + 1
