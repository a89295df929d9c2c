"""Days of an address: from one to another, both of them part of it, in UTC as the ledger has it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from starlette.requests import Request

from idetic.errors import InputError

# Before anything was written; a moment of the first year has no time zone west of it.
_BEGINNING = date(1970, 1, 1)


@dataclass(frozen=True)
class Days:
    """Some days, open where one is missing."""

    since: date | None = None
    until: date | None = None

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None

    def moments(self, now: datetime) -> tuple[datetime, datetime]:
        """The first moment of them, and the first after them."""
        first, last = self.since or _BEGINNING, self.until or now.astimezone(UTC).date()
        return _midnight(first), _midnight(last + timedelta(days=1))

    def __str__(self) -> str:
        if self.since == self.until:
            return f"on {self.since}"
        parts = (("from", self.since), ("to", self.until))
        return " ".join(f"{word} {day}" for word, day in parts if day is not None)


NO_DAYS = Days()


def days_of(request: Request) -> Days:
    """The days that an address names."""
    given = request.query_params
    try:
        found = Days(*(date.fromisoformat(given[name]) if given.get(name) else None
                       for name in ("since", "until")))  # fmt: skip
    except ValueError:
        found = None
    if found is None or any(d and not 1 < d.year < 9998 for d in (found.since, found.until)):
        raise InputError(
            "This address names a day that is none.", remedy="Write days as 2026-11-16."
        )
    return found


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
