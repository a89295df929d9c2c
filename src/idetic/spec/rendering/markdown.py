"""The few Markdown shapes that a rendered spec needs.

Text given to `table` and `bullets` is Markdown already; what an author wrote freely goes
through `prose` first, so that no answer breaks out of its column or becomes a link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

NOTHING = "-"


def prose(text: str) -> str:
    """Free text on one line, harmless in a table and in a paragraph."""
    text = " ".join(text.split())
    for character in ("\\", "|", "<", "[", "*", "`"):
        text = text.replace(character, "\\" + character)
    return text


def shown(value: Any) -> str:
    """A value as a reader sees it; text is Markdown already."""
    if value is None or value in ((), {}, ""):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return code(str(value.value))
    if isinstance(value, Mapping):
        pairs = sorted((shown(key), shown(inner)) for key, inner in value.items())
        return ", ".join(f"{key} {inner}" for key, inner in pairs)
    if isinstance(value, tuple | list):
        return ", ".join(shown(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def code(text: str) -> str:
    """A name or a value as the spec's file has it."""
    return f"`{text}`"


def codes(names: Iterable[str]) -> str:
    """Several names."""
    return ", ".join(code(name) for name in names)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of values."""
    lines = [_row(head), _row(["---"] * len(head))]
    lines.extend(_row([shown(value) for value in row]) for row in rows)
    return "\n".join(lines)


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {item}" for item in items)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
