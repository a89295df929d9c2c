"""Drawings made of plain elements: a chart of days, a timeline of entries, a graph of boxes.

Their words say all of it too, for readers who do not see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from idetic.model import Entry, EntryState
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.wording import KIND_OF_STATE, shortened, titled, words

_COLOURS = ("c1", "c2", "c3", "c4", "c5", "c6")
# Below this an entry of a moment ago would have no width to be seen by.
_LEAST_PERCENT = 1.5
# A box of a graph, and the gaps between boxes, in pixels.
_WIDE, _HIGH = 230, 58
_ACROSS, _DOWN = 70, 16


@dataclass(frozen=True, slots=True)
class DayTally:
    """What one day has of one series; `query` narrows a list to that series."""

    day: date
    name: str
    count: int
    query: Mapping[str, str]


def daily_chart(
    label: str, tallies: Sequence[DayTally], since: date, until: date, path: str
) -> None:
    """Draw a column for each day; days, their parts and the legend lead to lists at `path`."""
    length = (until - since).days + 1
    columns: dict[date, dict[str, DayTally]] = {
        since + timedelta(days=number): {} for number in range(length)
    }
    for tally in tallies:
        columns[tally.day][tally.name] = tally
    series = {tally.name: tally.query for tally in tallies}
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(series)}
    highest = max(sum(t.count for t in column.values()) for column in columns.values()) or 1
    with el.text("ol", cls="chart", aria_label=label):
        for day, column in columns.items():
            _column(day, column, colours, highest, path)
    with el.text("div", cls="chart-axis small quiet"):
        el.text("span", f"{since:%Y-%m-%d}")
        el.text("span", f"at most {highest:,} a day")
        el.text("span", f"{until:%Y-%m-%d}")
    with el.text("ul", cls="legend small"):
        for name, query in series.items():
            with el.text("li"):
                el.text("span", cls=f"swatch {colours[name]}", aria_hidden="true")
                total = sum(tally.count for tally in tallies if tally.name == name)
                el.link(f"{name}: {total:,}", at(path, since=since, until=until, **query))


def _column(
    day: date, column: Mapping[str, DayTally], colours: Mapping[str, str], highest: int, path: str
) -> None:
    """Draw a day as one link, and upon it its parts, for those who point.

    Whoever goes by the keyboard has one stop a day, and the filters of the page it leads to.
    """
    listed = ", ".join(f"{tally.count} {name}" for name, tally in column.items())
    said, here = f"{day:%Y-%m-%d}: {listed or 'nothing'}", {"since": day, "until": day}
    with el.text("li", title=said):
        around = el.link("", at(path, **here)) if column else el.text("span")
        with around.classes("chart-column"):
            el.text("span", said, "unseen")
        with el.text("span", cls="chart-parts", aria_hidden="true"):
            for name, colour in colours.items():
                if tally := column.get(name):
                    el.link(
                        "",
                        at(path, **here, **tally.query),
                        f"chart-part {colour}",
                        title=f"{day}: {tally.count:,} {name}",
                        tabindex="-1",
                        style=f"height: {tally.count / highest * 100:.2f}%",
                    )


def timeline(entries: Sequence[Entry], now: datetime) -> None:
    """Draw when each entry held, those about the same beside each other, oldest first."""
    if not entries:
        return
    first = min(begins(entry) for entry in entries)
    whole = max(now - first, timedelta(seconds=1))
    with el.text("ol", cls="timeline"):
        # Entries without a claim stand last: "~" sorts behind letters.
        subjects = {each.id: " ".join(each.claim.key) if each.claim else "~" for each in entries}
        for entry in sorted(entries, key=lambda each: (subjects[each.id], begins(each))):
            _lane(entry, first, whole, now)
    with el.text("div", cls="timeline-axis", aria_hidden="true"):
        el.text("span", f"{first.astimezone(UTC):%Y-%m-%d %H:%M}")
        el.text("span", "now")


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


def _lane(entry: Entry, first: datetime, whole: timedelta, now: datetime) -> None:
    """Draw one entry: what it says, from when until when, and its bar on the axis."""
    start, end = begins(entry), ends(entry)
    width = max(_LEAST_PERCENT, ((end or now) - start) / whole * 100)
    # A bar that was widened to be seen must still end within its track.
    left = min(max(0.0, (start - first) / whole * 100), 100 - min(width, 100))
    said = f"from {start.astimezone(UTC):%Y-%m-%d %H:%M}"
    if end is not None:
        said += f" until {end.astimezone(UTC):%Y-%m-%d %H:%M}"
    with el.text("li"):
        with el.text("div", cls="timeline-said"):
            el.link(titled(entry), at(f"/entries/{entry.id}"))
            el.text("span", said, "quiet small")
            el.badge(words(entry.state), KIND_OF_STATE[entry.state])
            if entry.superseded_by is not None:
                el.link("what came in its place", at(f"/entries/{entry.superseded_by}"), "small")
        with el.text("div", cls="timeline-track", aria_hidden="true"):
            past = "" if entry.state is EntryState.CURRENT else "past"
            style = f"left: {left:.2f}%; width: {min(width, 100 - left):.2f}%"
            el.text("div", cls=f"timeline-bar {past}", style=style)


@dataclass(frozen=True, slots=True)
class Node:
    """One box of a graph: its column, a line about it, its text, and the page it leads to."""

    column: int
    about: str
    said: str
    address: str | None = None


@dataclass(slots=True)
class Graph:
    """Boxes in columns from left to right, and arrows between them. `here` is set apart."""

    here: UUID
    nodes: dict[UUID, Node] = field(default_factory=dict)
    edges: list[tuple[UUID, UUID]] = field(default_factory=list)

    def draw(self, label: str) -> None:
        """Draw the graph. Wider than the page, it scrolls by itself, with the keyboard too."""
        places = self._places()
        wide = max(x for x, _ in places.values()) + _WIDE + 2
        high = max(y for _, y in places.values()) + _HIGH + 2
        with (
            el.text("div", cls="graph", tabindex="0", role="group", aria_label=label),
            el.text("svg", viewBox=f"-1 -1 {wide} {high}", width=str(wide), height=str(high)),
        ):
            for source, target in self.edges:
                (x1, y1), (x2, y2) = places[source], places[target]
                start, end, middle = x1 + _WIDE, x2, (x1 + _WIDE + x2) / 2
                y1, y2 = y1 + _HIGH / 2, y2 + _HIGH / 2
                path = f"M{start} {y1} C{middle} {y1} {middle} {y2} {end} {y2}"
                el.text("path", cls="graph-edge", d=path)
            for node_id in self.nodes:
                self._box(node_id, *places[node_id])

    def _places(self) -> dict[UUID, tuple[float, float]]:
        """Place each column's boxes below each other, in the middle of the longest column."""
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

    def _box(self, node_id: UUID, x: float, y: float) -> None:
        """Draw one box, as a link if it has a page that is not this one."""
        node, here = self.nodes[node_id], "here" if node_id == self.here else ""
        with el.text("a", href=node.address) if node.address and not here else el.text("g"):
            cls = f"graph-box {here}"
            el.text("rect", cls=cls, x=x, y=y, width=_WIDE, height=_HIGH, rx=9, ry=9)
            el.text("text", shortened(node.about, 34), "graph-about", x=x + 12, y=y + 23)
            el.text("text", shortened(node.said, 30), "graph-said", x=x + 12, y=y + 43)
