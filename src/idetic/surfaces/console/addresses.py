"""Addresses of the console: where it is, how a page's address is written, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

from idetic.errors import InputError
from idetic.surfaces.console.wording import day

BASE = "/console"
LOGIN = f"{BASE}/login"
# Before anything was written; a moment of the year 1 has no time zone west of it.
_BEGINNING = date(1970, 1, 1)
S = TypeVar("S")
T = TypeVar("T")


def at(path: str, **query: Any) -> str:
    """Write the address of a page: `at("/explore", q="wires")`. Empty values are left out."""
    given = [(name, value) for name, value in query.items() if value not in (None, "", [], ())]
    return f"{BASE}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")


def inside(address: str | None) -> str:
    """Return the address to go to after the login: one of the console, or its first page."""
    # `//host` and `/\host` are other hosts to a browser; a page of ours has neither.
    ours = address is not None and address.startswith(f"{BASE}/")
    return address if ours and address and "\\" not in address and "//" not in address else at("/")


def parsed(given: S, kind: Callable[[S], T], wrong: str, remedy: str) -> T:
    """Convert something that was typed; raises InputError if `kind` refuses it."""
    try:
        return kind(given)
    except ValueError:
        raise InputError(wrong, remedy=remedy) from None


def utc(given: str) -> datetime:
    """Convert a moment as a browser's field writes it. It is UTC, as the ledger's time."""
    return datetime.fromisoformat(given).replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Days:
    """Days in UTC, the first and the last included; open where one is missing."""

    since: date | None = None
    until: date | None = None

    @classmethod
    def read(cls, since: str, until: str) -> Days:
        """Read the two days of an address."""
        wrong = ("This address names a day that does not exist.", "Write a day as 2026-11-16.")
        return cls(*(parsed(day, _day, *wrong) if day else None for day in (since, until)))

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None

    def moments(self, now: datetime) -> tuple[datetime, datetime]:
        """Return the first moment of these days, and the first after them."""
        first, last = self.since or _BEGINNING, self.until or now.astimezone(UTC).date()
        midnights = (datetime.combine(day, time(), UTC) for day in (first, last))
        return next(midnights), next(midnights) + timedelta(days=1)

    def __str__(self) -> str:
        if self.since == self.until:
            return f"on {self.since and day(self.since)}"
        named = (("from", self.since), ("to", self.until))
        return " ".join(f"{word} {day(on)}" for word, on in named if on is not None)


def _day(given: str) -> date:
    """Read a day; the ends of the calendar are refused, where a day more would overflow."""
    day = date.fromisoformat(given)
    if not 1 < day.year < 9998:
        raise ValueError(given)
    return day
