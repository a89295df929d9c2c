"""A chart of days: a column for each, made of plain elements, each a link to what it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from idetic.surfaces.console import parts

COLOURS = ("c1", "c2", "c3", "c4", "c5", "c6")


@dataclass
class Day:
    """One column: how much of each series, and where it leads: as a whole, and each part of it."""

    day: date
    counts: dict[str, int] = field(default_factory=dict)
    address: str | None = None
    leads: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How much of everything."""
        return sum(self.counts.values())

    def said(self) -> str:
        """The column in words."""
        listed = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"{self.day:%Y-%m-%d}: {listed or 'nothing'}"


def days(columns: Sequence[Day], series: Mapping[str, str], *, label: str) -> None:
    """Columns from left to right, and what the colours mean. Their words say all of it too.

    `series` says where the sum of each leads: the list of all that its colour stands for.
    """
    highest = max((day.total for day in columns), default=0) or 1
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(series)}
    with parts.text("ol", cls="chart", aria_label=label):
        for day in columns:
            with parts.text("li", title=day.said()):
                _column(day, colours, highest)
    with parts.text("div", cls="chart-axis small quiet"):
        parts.text("span", f"{columns[0].day:%Y-%m-%d}")
        parts.text("span", f"at most {highest:,} a day")
        parts.text("span", f"{columns[-1].day:%Y-%m-%d}")
    with parts.text("ul", cls="legend small"):
        for name in series:
            with parts.text("li"):
                parts.text("span", cls=f"swatch {colours[name]}", aria_hidden="true")
                total = sum(day.counts.get(name, 0) for day in columns)
                parts.link(f"{name}: {total:,}", series[name])


def _column(day: Day, colours: Mapping[str, str], highest: int) -> None:
    """The day as one link; upon it its parts, for those who point. Whoever goes by the keyboard has
    one stop a day, and the filters of the page it leads to.
    """
    linked = day.total > 0 and day.address is not None
    around = parts.text("a", href=day.address) if linked else parts.text("span")
    with around.classes("chart-column"):
        parts.text("span", day.said(), "unseen")
    with parts.text("span", cls="chart-parts", aria_hidden="true"):
        for name, colour in colours.items():
            if count := day.counts.get(name, 0):
                _part(f"{day.day}: {count:,} {name}", day.leads[name], colour, count / highest)


def _part(said: str, address: str, colour: str, share: float) -> None:
    style = f"height: {share * 100:.2f}%"
    look = {"cls": f"chart-part {colour}", "style": style}
    parts.link("", address, title=said, tabindex="-1", **look)
