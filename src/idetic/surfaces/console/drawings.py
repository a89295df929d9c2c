"""What is drawn, in figures: a chart of days, a timeline of entries, a graph of boxes.

`templates/drawings.html` makes elements of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from textwrap import wrap
from uuid import UUID

from idetic.model import Entry

_COLOURS = ("c1", "c2", "c3", "c4", "c5", "c6")
# Below this an entry of a moment ago would have no width to be seen by.
_LEAST_PERCENT = 1.5
# A box of a graph, and the gaps between boxes, in pixels.
_WIDE, _HIGH = 230, 76
# What fits into a box: so many letters on a line, and two lines.
_LETTERS = 28
_ACROSS, _DOWN = 70, 16


@dataclass(frozen=True, slots=True)
class DayTally:
    """What one day has of one series; `query` narrows a list to that series."""

    day: date
    name: str
    count: int
    query: Mapping[str, str]


@dataclass(frozen=True)
class DailyChart:
    """A column for each day, made of the day's tallies by the name of their series."""

    tallies: Sequence[DayTally]
    since: date
    until: date

    @cached_property
    def columns(self) -> dict[date, dict[str, DayTally]]:
        """Every day's tallies; a day without any has its place too."""
        length = (self.until - self.since).days + 1
        found: dict[date, dict[str, DayTally]] = {
            self.since + timedelta(days=number): {} for number in range(length)
        }
        for tally in self.tallies:
            found[tally.day][tally.name] = tally
        return found

    @property
    def series(self) -> dict[str, Mapping[str, str]]:
        """The series by name, each with the query that narrows a list to it."""
        return {tally.name: tally.query for tally in self.tallies}

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each series."""
        return {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(self.series)}

    @cached_property
    def highest(self) -> int:
        """The top of the axis: a round number that the fullest day does not exceed."""
        most = max(sum(t.count for t in column.values()) for column in self.columns.values())
        size = 10 ** max(len(str(most)) - 1, 0)
        return next((n * size for n in (1, 2, 4, 5, 8, 10) if n * size >= most), most) or 1

    @property
    def ticks(self) -> tuple[tuple[int, float], ...]:
        """The numbers beside the axis, top first, each with its height in percent."""
        parts = 4 if self.highest % 4 == 0 else 5 if self.highest % 5 == 0 else self.highest
        steps = range(parts, -1, -1) if parts <= 5 else (1, 0)
        return tuple((self.highest * n // max(steps), 100 * n / max(steps)) for n in steps)

    @property
    def labelled(self) -> tuple[tuple[date, float], ...]:
        """Some days below the axis, each with its place from the left in percent."""
        days = list(self.columns)
        every = max(1, len(days) // 5)
        shown = range(len(days) - 1, -1, -every)
        return tuple((days[n], 100 * (n + 0.5) / len(days)) for n in reversed(shown))

    def said(self, column: Mapping[str, DayTally]) -> str:
        """Return a day's counts in words."""
        return ", ".join(f"{tally.count} {name}" for name, tally in column.items())

    def total(self, name: str) -> int:
        """Return the count of a whole series."""
        return sum(tally.count for tally in self.tallies if tally.name == name)


def begins(entry: Entry) -> datetime:
    """Return the moment from which an entry holds."""
    return entry.valid_at or entry.created_at


def ends(entry: Entry) -> datetime | None:
    """Return the moment until which an entry held; None if it still does."""
    ended = (
        entry.invalid_at,
        entry.superseded_at,
        entry.invalidated_at,
        entry.archived_at,
        entry.deleted_at,
    )
    return min((each for each in ended if each is not None), default=None)


@dataclass(frozen=True, slots=True)
class Lane:
    """One entry of a timeline: from when until when it held, and its bar in percent."""

    entry: Entry
    start: datetime
    end: datetime | None
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """When each entry held, those about the same beside each other, oldest first."""

    first: datetime
    lanes: Sequence[Lane]

    @classmethod
    def of(cls, entries: Sequence[Entry], now: datetime) -> Timeline | None:
        """Lay entries out until now; None without entries."""
        if not entries:
            return None
        first = min(map(begins, entries))
        # Entries without a claim stand last: "~" sorts behind letters.
        subjects = {each.id: " ".join(each.claim.key) if each.claim else "~" for each in entries}
        ordered = sorted(entries, key=lambda each: (subjects[each.id], begins(each)))
        return cls(first, [_lane(entry, first, now) for entry in ordered])


def _lane(entry: Entry, first: datetime, now: datetime) -> Lane:
    """Place one entry on the axis from the first moment to now."""
    whole = max(now - first, timedelta(seconds=1))
    start, end = begins(entry), ends(entry)
    width = max(_LEAST_PERCENT, ((end or now) - start) / whole * 100)
    # A bar that was widened to be seen must still end within its track.
    left = min(max(0.0, (start - first) / whole * 100), 100 - min(width, 100))
    return Lane(entry, start, end, left, min(width, 100 - left))


@dataclass(frozen=True, slots=True)
class Node:
    """One box of a graph: its column, a line about it, its text, and the page it leads to."""

    column: int
    about: str
    said: str
    address: str | None = None

    @property
    def lines(self) -> list[str]:
        """The text as two lines, cut where they are full."""
        return wrap(self.said, _LETTERS, max_lines=2, placeholder=" …")


@dataclass
class Graph:
    """Boxes in columns from left to right, and arrows between them. `here` is set apart.

    `complete` says whether there was room for all of them.
    """

    here: UUID
    nodes: dict[UUID, Node] = field(default_factory=dict)
    edges: list[tuple[UUID, UUID]] = field(default_factory=list)
    complete: bool = True
    box = (_WIDE, _HIGH)

    @cached_property
    def places(self) -> dict[UUID, tuple[float, float]]:
        """Each column's boxes below each other, in the middle of the longest column."""
        columns: dict[int, list[UUID]] = {}
        for node_id, node in self.nodes.items():
            columns.setdefault(node.column, []).append(node_id)
        longest = max(map(len, columns.values()))
        places: dict[UUID, tuple[float, float]] = {}
        for number, (_, column) in enumerate(sorted(columns.items())):
            free = (longest - len(column)) * (_HIGH + _DOWN) / 2
            for row, node_id in enumerate(column):
                places[node_id] = (number * (_WIDE + _ACROSS), free + row * (_HIGH + _DOWN))
        return places

    @property
    def wide(self) -> float:
        """The width of the whole drawing."""
        return max(x for x, _ in self.places.values()) + _WIDE + 2

    @property
    def high(self) -> float:
        """The height of the whole drawing."""
        return max(y for _, y in self.places.values()) + _HIGH + 2

    @property
    def arrows(self) -> list[str]:
        """The path of each arrow, from the right of a box to the left of another."""
        paths = []
        for source, target in self.edges:
            (x1, y1), (x2, y2) = self.places[source], self.places[target]
            start, middle = x1 + _WIDE, (x1 + _WIDE + x2) / 2
            y1, y2 = y1 + _HIGH / 2, y2 + _HIGH / 2
            paths.append(f"M{start} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}")
        return paths
