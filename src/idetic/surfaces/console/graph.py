"""A small graph drawn from left to right: what something was made of, and what was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from idetic.surfaces.console import parts
from idetic.surfaces.console.wording import shortened

_WIDE, _HIGH = 230, 58
_ACROSS, _DOWN = 70, 16


@dataclass(frozen=True)
class Node:
    """One box: a line about it, what it says, and where it leads if anywhere."""

    id: str
    column: int
    about: str
    said: str
    address: str | None = None
    here: bool = False


@dataclass(frozen=True)
class Edge:
    """From one box to another."""

    source: str
    target: str


def graph(nodes: Sequence[Node], edges: Sequence[Edge], label: str) -> None:
    """Draw it. Wider than the page, it scrolls by itself, with the keyboard too."""
    places = _places(nodes)
    wide = max(x for x, _ in places.values()) + _WIDE + 2
    high = max(y for _, y in places.values()) + _HIGH + 2
    with (
        parts.text("div", cls="graph", tabindex="0", role="group", aria_label=label),
        parts.text("svg", viewBox=f"-1 -1 {wide} {high}", width=str(wide), height=str(high)),
    ):
        for edge in edges:
            (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
            start, end, middle = x1 + _WIDE, x2, (x1 + _WIDE + x2) / 2
            y1, y2 = y1 + _HIGH / 2, y2 + _HIGH / 2
            path = f"M{start} {y1} C{middle} {y1} {middle} {y2} {end} {y2}"
            parts.text("path", cls="graph-edge", d=path)
        for node in nodes:
            _box(node, *places[node.id])


def _places(nodes: Sequence[Node]) -> dict[str, tuple[float, float]]:
    """Each column's boxes below each other, in the middle of the longest column."""
    columns = {node.column: [n for n in nodes if n.column == node.column] for node in nodes}
    longest = max(len(column) for column in columns.values())
    found: dict[str, tuple[float, float]] = {}
    for number, (_, column) in enumerate(sorted(columns.items())):
        free = (longest - len(column)) * (_HIGH + _DOWN) / 2
        for row, node in enumerate(column):
            found[node.id] = (number * (_WIDE + _ACROSS), free + row * (_HIGH + _DOWN))
    return found


def _box(node: Node, x: float, y: float) -> None:
    linked = node.address is not None and not node.here
    around = parts.text("a", href=node.address) if linked else parts.text("g")
    with around:
        here = "here" if node.here else ""
        parts.text("rect", cls=f"graph-box {here}", x=x, y=y, width=_WIDE, height=_HIGH, rx=9, ry=9)
        parts.text("text", shortened(node.about, 34), "graph-about", x=x + 12, y=y + 23)
        parts.text("text", shortened(node.said, 30), "graph-said", x=x + 12, y=y + 43)
