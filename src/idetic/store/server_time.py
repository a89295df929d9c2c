"""The server's time, as this process knows it, and the refusal of a clock that is far from it.

An anchor's time never runs backwards, so one write by a clock that is ahead holds the anchor there
until the present has come up to it: 400 days, in the case that was tried.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from idetic.errors import ClockRefused
from idetic.ids import Clock, is_simulated

# What machines without NTP drift apart in months, and what nobody's memory is held up by.
FAR = timedelta(minutes=10)
# A reading serves this many seconds, then the server is asked again.
_SERVES = 300.0


class ServerTime:
    """One reading of the server's clock, carried on by the machine's steady clock.

    So a write costs no round trip for it. Before a clock is refused the server is asked anew: a
    machine that slept has a steady clock that stood still.
    """

    def __init__(self, ask: Callable[[], Awaitable[datetime]]):
        self._ask = ask
        self._read: datetime | None = None
        self._at = 0.0

    async def check(self, clock: Clock) -> None:
        """Refuse a clock that is far from the server's, unless it says that it is simulated."""
        if is_simulated(clock) or self._is_near(clock.now()):
            return
        self._read = await self._ask()
        self._at = time.monotonic()
        ahead = clock.now() - self._read
        if abs(ahead) > FAR:
            raise _refusal(ahead)

    def _is_near(self, now: datetime) -> bool:
        """Whether a moment is near the server's present, by a reading that still serves."""
        passed = time.monotonic() - self._at
        if self._read is None or passed > _SERVES:
            return False
        return abs(now - self._read - timedelta(seconds=passed)) <= FAR


def _refusal(ahead: timedelta) -> ClockRefused:
    """Say how far a clock is from the server's, and in which direction."""
    where = "ahead of" if ahead > timedelta(0) else "behind"
    seconds = round(abs(ahead).total_seconds())
    bound = round(FAR.total_seconds() / 60)
    return ClockRefused(
        f"This clock is {timedelta(seconds=seconds)} {where} the database server's; {bound} "
        "minutes are the bound.",
        ahead_seconds=ahead.total_seconds(),
    )
