"""What the Explorer shows, as a file: CSV for a table, JSON for a program."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from idetic.model import Entry, plain, standing
from idetic.recall.hits import Hit

_COLUMNS = "id text kind state relevance trust written_at written_by".split()
# A spreadsheet runs a cell that begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows(entries: Sequence[Entry], hits: Sequence[Hit]) -> list[dict[str, object]]:
    """Return a row of plain data for each entry, and for each hit with its relevance."""
    found: list[tuple[Entry, float | None]] = [(hit.entry, hit.relevance) for hit in hits]
    found += [(entry, None) for entry in entries]
    return [
        {
            "id": str(entry.id),
            "text": entry.body_text,
            "kind": standing(entry).value,
            "state": entry.state.value,
            "relevance": relevance,
            "trust": entry.trust,
            "written_at": plain(entry.created_at),
            "written_by": entry.created_by,
        }
        for entry, relevance in found
    ]


def as_csv(found: Sequence[dict[str, object]]) -> str:
    """Write rows as CSV; a text that a spreadsheet would run as a formula is quoted."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS)
    writer.writeheader()
    for row in found:
        writer.writerow({name: _inert(value) for name, value in row.items()})
    return out.getvalue()


def _inert(value: object) -> object:
    """Return a value that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
