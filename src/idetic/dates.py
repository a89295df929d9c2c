"""Dates in what is said: "in May 2023", "last week", "on Monday", each as a window of time.

Deterministic, in English. In a question a window is one more signal and hides nothing, so what
this reads wrongly costs little. What is relative is resolved against the moment of saying it and
counts less: whoever says "last month" often means the last few weeks.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

RELATIVE = 0.4
_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name}
# "May" has no shorter form, and "mar" or "sept" are no other words.
_MONTHS |= {name[:3]: n for name, n in _MONTHS.items() if name != "may"} | {"sept": 9}
_DAYS = [name.lower() for name in calendar.day_name]
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_NUMBERS |= {"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_NUMBERS |= {"a couple of": 2, "couple of": 2, "few": 3, "a few": 3, "several": 4}
_UNITS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_NUMBER = "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r"|\d{1,3}"
_SEASON = "|".join(_SEASONS)
_YEAR = r"((?:19|20)\d\d)"
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"

Found = re.Match[str]
Span = tuple[datetime, datetime]


_ASKS_WHEN = re.compile(
    r"\b(?:when (?:did|do|does|is|was|were|will|has|have|had|are)|since when|how long ago|"
    r"(?:what|which) (?:date|day|week|month|year|time))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DateWindow:
    """The time that a date names; `sure` is how far the wording can be trusted."""

    since: datetime
    until: datetime
    words: str
    sure: float = 1.0


def asks_when(said: str) -> bool:
    """Whether a question asks for a time."""
    return _ASKS_WHEN.search(said) is not None


def date_windows(said: str, now: datetime) -> tuple[DateWindow, ...]:
    """The windows that a text names; the longest wording of a date is read first."""
    left, windows = said.lower(), []
    for pattern, read, sure in _WORDINGS:
        for found in list(pattern.finditer(left)):
            span = _span(read, found, now.astimezone(UTC))
            if span is not None:
                windows.append(DateWindow(*span, found[0], sure))
                left = left[: found.start()] + " " * len(found[0]) + left[found.end() :]
    return tuple(windows)


def _span(read: Callable[[Found, datetime], Span], found: Found, now: datetime) -> Span | None:
    """The window of one wording; None for a day that no calendar has."""
    try:
        return read(found, now)
    except (ValueError, OverflowError):
        return None


def _midnight(now: datetime) -> datetime:
    """The beginning of a moment's day."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _monday(now: datetime) -> datetime:
    """The beginning of a moment's week."""
    return _midnight(now) - timedelta(days=now.weekday())


def _days(first: datetime, count: float) -> Span:
    """Some days from a moment on."""
    return first, first + timedelta(days=count)


def _month(year: int, month: int) -> Span:
    """One month of a calendar."""
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return datetime(year, month, 1, tzinfo=UTC), datetime(*following, 1, tzinfo=UTC)


def _years(first: int) -> Span:
    """One year of a calendar."""
    return datetime(first, 1, 1, tzinfo=UTC), datetime(first + 1, 1, 1, tzinfo=UTC)


def _year_of(month: int, year: str | None, now: datetime) -> int:
    """The year that was said, or the last one in which this month has begun."""
    return int(year) if year else now.year - (month > now.month)


def _on_day(day: str, month: str, year: str | None, now: datetime) -> Span:
    """One day of a calendar."""
    number = _MONTHS[month]
    return _days(datetime(_year_of(number, year, now), number, int(day), tzinfo=UTC), 1)


def _iso(found: Found, _now: datetime) -> Span:
    """2023-05-07"""
    return _days(datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC), 1)


def _season(found: Found, now: datetime) -> Span:
    """Three months from the one that a season begins in; the last is one that is over."""
    first = _SEASONS[found[1]]
    year = _year_of(first, found[2] if found.re.groups > 1 else None, now)
    season = _days(datetime(year, first, 1, tzinfo=UTC), 92)
    if found[0].startswith("last") and season[1] > now:
        return _days(datetime(year - 1, first, 1, tzinfo=UTC), 92)
    return season


def _last_month(_found: Found, now: datetime) -> Span:
    """The month before this one."""
    return _month(now.year - (now.month == 1), (now.month - 2) % 12 + 1)


def _count(found: Found) -> float:
    """How many days a number of units is."""
    number = _NUMBERS[found[1]] if found[1] in _NUMBERS else int(found[1])
    return number * _UNITS[found[2]]


def _ago(found: Found, now: datetime) -> Span:
    """A day, or the unit around a moment that lies back."""
    unit = _UNITS[found[2]]
    middle = (_midnight(now) if unit == 1 else now) - timedelta(days=_count(found))
    return _days(middle if unit == 1 else middle - timedelta(days=unit / 2), unit)


def _weekday(found: Found, now: datetime) -> Span:
    """The last day of this name before today."""
    back = (now.weekday() - _DAYS.index(found[1])) % 7 or 7
    return _days(_midnight(now) - timedelta(days=back), 1)


def _since(found: Found, now: datetime) -> datetime:
    """The beginning of a month or a year that was said to be the first."""
    if found[1] is None:
        return _years(int(found[3]))[0]
    month = _MONTHS[found[1]]
    return _month(_year_of(month, found[2], now), month)[0]


def _wording(pattern: str) -> re.Pattern[str]:
    """A wording as whole words."""
    return re.compile(rf"\b{pattern}\b")


_WORDINGS: list[tuple[re.Pattern[str], Callable[[Found, datetime], Span], float]] = [
    (_wording(r"(\d{4})-(\d\d)-(\d\d)"), _iso, 1.0),
    (
        _wording(rf"since (?:({_MONTH})(?:,? {_YEAR})?|{_YEAR})(?! \d)"),
        lambda f, now: (_since(f, now), now),
        1.0,
    ),
    (
        _wording(rf"({_MONTH})\.? {_NTH}(?:,? {_YEAR})?"),
        lambda f, now: _on_day(f[2], f[1], f[3], now),
        1.0,
    ),
    (
        _wording(rf"{_NTH}(?: of)? ({_MONTH})\.?(?:,? {_YEAR})?"),
        lambda f, now: _on_day(f[1], f[2], f[3], now),
        1.0,
    ),
    (
        _wording(rf"({_MONTH})\.?,?(?: of)? {_YEAR}"),
        lambda f, _: _month(int(f[2]), _MONTHS[f[1]]),
        1.0,
    ),
    (
        # A preposition before it: "may" and "march" are other words as well.
        _wording(rf"(?:in|during|last|by|until|of|early|late|mid) ({_MONTH})"),
        lambda f, now: _month(_year_of(_MONTHS[f[1]], None, now), _MONTHS[f[1]]),
        1.0,
    ),
    (_wording(rf"({_SEASON})(?: of)? {_YEAR}"), _season, 1.0),
    (_wording(rf"(?:last|this) ({_SEASON})"), _season, RELATIVE),
    (_wording(rf"(?:in|during|of) {_YEAR}"), lambda f, _: _years(int(f[1])), 1.0),
    (
        _wording("the day before yesterday"),
        lambda _, now: _days(_midnight(now) - timedelta(days=2), 1),
        RELATIVE,
    ),
    (
        _wording("half a year ago"),
        lambda _, now: _days(now - timedelta(days=183 + 30), 60),
        RELATIVE,
    ),
    (
        _wording("(?:yesterday|last night)"),
        lambda _, now: _days(_midnight(now) - timedelta(days=1), 1),
        RELATIVE,
    ),
    (_wording("(?:today|tonight|this morning)"), lambda _, now: _days(_midnight(now), 1), RELATIVE),
    (_wording("last weekend"), lambda _, now: _days(_monday(now) - timedelta(days=2), 2), RELATIVE),
    (_wording("last week"), lambda _, now: _days(_monday(now) - timedelta(days=7), 7), RELATIVE),
    (_wording("this week"), lambda _, now: _days(_monday(now), 7), RELATIVE),
    (_wording("last month"), _last_month, RELATIVE),
    (_wording("this month"), lambda _, now: _month(now.year, now.month), RELATIVE),
    (_wording("last year"), lambda _, now: _years(now.year - 1), RELATIVE),
    (_wording("this year"), lambda _, now: _years(now.year), RELATIVE),
    (_wording(rf"({_NUMBER}) (day|week|month|year)s? ago"), _ago, RELATIVE),
    (
        _wording(rf"(?:last|past) ({_NUMBER}) (day|week|month|year)s?"),
        lambda f, now: (now - timedelta(days=_count(f)), now),
        RELATIVE,
    ),
    (_wording(rf"(?:on|last|this) ({'|'.join(_DAYS)})"), _weekday, RELATIVE),
]
