"""The picture of the rooms in `docs/architecture.md`, drawn from the contract and the imports.

The rows are the layers that `pyproject.toml` declares; an arrow is an import between two rooms,
left out where longer ways lead there too. `make drawings` draws it anew; a test compares it.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "idetic"
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _PAGE = 124, 34, 30, 34, 900
_STYLE = (
    "text{font:13px ui-monospace,monospace;fill:#fff;text-anchor:middle}"
    "rect.r{fill:#456;rx:4}rect.n{fill:#798;rx:4}"
    "path.a{fill:none;stroke:#89a;stroke-width:1.3;marker-end:url(#end)}marker path{fill:#89a}"
)
_HEAD = (
    '<marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z"/></marker>'
)

# The files below all rooms: what everybody speaks of.
NOUNS = "nouns"

Edges = Mapping[str, frozenset[str]]


def layers(project: Path = ROOT / "pyproject.toml") -> list[list[str]]:
    """The rooms by layer, from the top, as the import contract has them."""
    contracts = tomllib.loads(project.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layered,) = (contract for contract in contracts if contract["type"] == "layers")
    named = [
        [name.strip().removeprefix("idetic.") for name in layer.split("|")]
        for layer in layered["layers"]
    ]
    # What lies below the last folder are the nouns; a file above it is a room as well.
    last = max(n for n, row in enumerate(named) if any((PACKAGE / r).is_dir() for r in row))
    return [*named[: last + 1], [NOUNS]]


def imports(package: Path, rooms: Iterable[str]) -> dict[str, frozenset[str]]:
    """Which rooms each room imports, by the statements in its files."""
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        # The package's own names come from everywhere.
        if parts[0] not in ("__init__.py", "__main__.py"):
            own = parts[0].removesuffix(".py")
            room = own if own in found else NOUNS
            found[room] |= {n if n in found else NOUNS for n in _imported(path, package.name)}
    return {room: frozenset(others - {room}) for room, others in found.items()}


def _imported(path: Path, package: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (n.split(".")[1] for n in names if n.startswith(f"{package}."))


def reduced(edges: Edges) -> dict[str, frozenset[str]]:
    """The same without what longer ways lead to."""

    def reached(room: str) -> set[str]:
        return set(edges[room]).union(*(reached(other) for other in edges[room]))

    return {
        room: others - frozenset().union(*(reached(other) for other in others))
        for room, others in edges.items()
    }


def draw(rows: list[list[str]], edges: Edges) -> str:
    """The picture as SVG: one row for each layer, arrows from those who import."""
    places = dict(_placed(rows))
    size = f'width="{_PAGE}" height="{20 + len(rows) * (_HEIGHT + _GAP_Y)}"'
    arrows = [
        _arrow(places[room], places[other])
        for room in places
        for other in sorted(reduced(edges)[room])
    ]
    boxes = [part for room, place in places.items() for part in _box(room, place)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
        "<title>The rooms of the package and which imports which</title>\n"
        f"<defs>{_HEAD}</defs>\n<style>{_STYLE}</style>\n"
        '<rect width="100%" height="100%" fill="#f7f8f9"/>\n'
        + "\n".join([*arrows, *boxes, "</svg>\n"])
    )


def _placed(rows: list[list[str]]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Where each room stands. Rows with one room take turns, so that arrows pass beside them."""
    turn = 0
    for number, row in enumerate(rows):
        width = len(row) * _WIDTH + (len(row) - 1) * _GAP_X
        left = (_PAGE - width) // 2
        if len(row) == 1:
            left += (-90, 0, 90, 0)[turn % 4]
            turn += 1
        for place, room in enumerate(row):
            yield room, (left + place * (_WIDTH + _GAP_X), 20 + number * (_HEIGHT + _GAP_Y))


def _box(room: str, place: tuple[int, int]) -> Iterator[str]:
    x, y = place
    kind = "n" if room == NOUNS else "r"
    yield f'<rect class="{kind}" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}"/>'
    yield f'<text x="{x + _WIDTH // 2}" y="{y + 21}">{room}</text>'


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + _WIDTH // 2, start[1] + _HEIGHT
    x2, y2 = end[0] + _WIDTH // 2, end[1]
    rows = (y2 - y1) // (_HEIGHT + _GAP_Y)
    # The further it goes, the further out: it would run behind the rooms between.
    side = 0 if rows < 1 else (1 if x1 + x2 > _PAGE else -1) * min(60 + 50 * rows, 300)
    return f'<path class="a" d="M{x1} {y1}C{x1 + side} {y1 + 24} {x2 + side} {y2 - 24} {x2} {y2}"/>'


def drawn() -> str:
    """The picture of the tree as it is."""
    rows = layers()
    return draw(rows, imports(PACKAGE, [room for row in rows for room in row]))


def main() -> None:
    """Draw it anew."""
    PICTURE.write_text(drawn(), "utf-8")
    print(f"{PICTURE.name} is drawn.", file=sys.stderr)


if __name__ == "__main__":
    main()
