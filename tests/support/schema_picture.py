"""The picture of the World Agent's tables in `docs/reference/schema.md`, drawn from the catalog.

`make drawings` draws it anew; a test compares it with the catalog.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import psycopg

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "schema.svg"
SCHEMA = "worlds"
_WIDTH, _GAP_X, _GAP_Y, _LINE, _HEAD = 330, 70, 22, 15, 22
_STYLE = (
    "text{font:11px ui-monospace,monospace;fill:#222}.t{font-weight:bold;fill:#fff}"
    "rect.b{fill:#fff;stroke:#456}rect.h{fill:#456}path{fill:none;stroke:#89a;stroke-width:1.2}"
)
_TABLES = """
    SELECT c.relname, ARRAY(
        SELECT a.attname::text FROM pg_index i
        CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS k(number, nth)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
        WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY k.nth)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relkind = 'r' ORDER BY 1"""
_KEYS = """
    SELECT c.relname, o.relname, ARRAY(
        SELECT a.attname::text FROM unnest(f.conkey) WITH ORDINALITY AS k(number, nth)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number ORDER BY k.nth)
    FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
    JOIN pg_class o ON o.oid = f.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND f.contype = 'f' ORDER BY f.conname"""


@dataclass(frozen=True)
class Box:
    """A table: its primary key, its foreign keys, and where it is drawn."""

    name: str
    key: tuple[str, ...]
    refers: tuple[tuple[str, tuple[str, ...]], ...]
    x: int
    y: int

    @property
    def lines(self) -> list[str]:
        """The primary key, then what each foreign key is over and leads to."""
        told = [f"→ {other} ({', '.join(columns)})" for other, columns in self.refers]
        return [f"({', '.join(self.key)})", *told]

    @property
    def height(self) -> int:
        """With its head."""
        return _HEAD + _LINE * len(self.lines) + 8


def draw(connection: psycopg.Connection[Any]) -> str:
    """The tables of one schema as SVG; a table stands right of those it refers to."""
    keys = {name: tuple(key) for name, key in connection.execute(_TABLES, (SCHEMA,)).fetchall()}
    refers: dict[str, list[tuple[str, tuple[str, ...]]]] = {name: [] for name in keys}
    for name, other, columns in connection.execute(_KEYS, (SCHEMA,)).fetchall():
        refers[name].append((other, tuple(columns)))
    boxes = _placed(keys, refers)
    height = max(box.y + box.height for box in boxes.values()) + _GAP_Y
    width = max(box.x for box in boxes.values()) + _WIDTH + 20
    parts = [*_arrows(boxes), *(part for box in boxes.values() for part in _drawn(box))]
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
        f"<title>The tables of the World Agent and their foreign keys</title>\n"
        f'<style>{_STYLE}</style>\n<rect width="100%" height="100%" fill="#f7f8f9"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _placed(
    keys: Mapping[str, tuple[str, ...]],
    refers: Mapping[str, Sequence[tuple[str, tuple[str, ...]]]],
) -> dict[str, Box]:
    others = {name: {other for other, _ in refers[name] if other != name} for name in keys}
    column: dict[str, int] = {}
    for name in TopologicalSorter(others).static_order():
        column[name] = max((column[other] + 1 for other in others[name]), default=0)
    boxes: dict[str, Box] = {}
    below = dict.fromkeys(column.values(), _GAP_Y)
    for name in sorted(keys, key=lambda each: (column[each], each)):
        place = column[name]
        box = Box(
            name, keys[name], tuple(refers[name]), 20 + place * (_WIDTH + _GAP_X), below[place]
        )
        below[place] += box.height + _GAP_Y
        boxes[name] = box
    return boxes


def _drawn(box: Box) -> list[str]:
    found = [
        f'<rect class="b" x="{box.x}" y="{box.y}" width="{_WIDTH}" height="{box.height}"/>',
        f'<rect class="h" x="{box.x}" y="{box.y}" width="{_WIDTH}" height="{_HEAD}"/>',
        f'<text class="t" x="{box.x + 8}" y="{box.y + 15}">{box.name}</text>',
    ]
    for number, line in enumerate(box.lines, start=1):
        y = box.y + _HEAD + _LINE * number
        fitted = f' textLength="{_WIDTH - 16}" lengthAdjust="spacingAndGlyphs"'
        long = fitted if len(line) > 47 else ""
        found.append(f'<text x="{box.x + 8}" y="{y}"{long}>{line}</text>')
    return found


def _arrows(boxes: Mapping[str, Box]) -> list[str]:
    found = []
    for box in boxes.values():
        for other in dict.fromkeys(name for name, _ in box.refers if name != box.name):
            target = boxes[other]
            x1, y1, x2, y2 = box.x, box.y + 11, target.x + _WIDTH, target.y + 11
            bend = (x1 - x2) // 2
            found.append(f'<path d="M{x1} {y1}C{x1 - bend} {y1} {x2 + bend} {y2} {x2} {y2}"/>')
    return found


def main() -> None:
    """Draw it from a database of its own."""
    from idetic import open_sync  # noqa: PLC0415
    from idetic.store.embedded import EmbeddedServer  # noqa: PLC0415 - only when drawn

    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        home.chmod(0o755)
        with open_sync(home=home / "home") as db:
            db.agent("world_agent", apply=True)
            lease = EmbeddedServer.acquire(home / "home")
            with psycopg.connect(lease.dsn()) as connection:
                PICTURE.write_text(draw(connection), "utf-8")
            lease.release()
    print(f"{PICTURE.name} is drawn.", file=sys.stderr)


if __name__ == "__main__":
    main()
