"""Records that are not memory: a note that is a row written out, rather than words about one.

The spec's non-mirror list names what lives elsewhere as a single source of truth. The shadow guard
knows the texts of declared canonical tables; this knows the shape that any record takes when it is
copied as a whole: fields with their values, one of which says which record it is. A structured
note without such an identity (`{"tone": "brief"}`) passes.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

# What a record needs at least: an id and two more fields.
LEAST = 3
# The share of a note that a record written into it must take up to make it one.
SHARE = 0.5
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_DIGEST = re.compile(r"(?:\\x)?[0-9a-f]{40,128}", re.IGNORECASE)
_LEAST_ID = 36
# `id`, `rule_id`, `ruleId`, `uuid`, `receipt_id`, `prev_hash`.
_ID_NAME = re.compile(r"(?:.*[_-])?(?:u?u?id|hash|digest)|.*[a-z]Id", re.DOTALL)
_FIELD = re.compile(r"^[\s>|*-]*[\"'`]?([A-Za-z_][\w.-]{0,62})[\"'`]?\s*(?::|=|\|)\s*(.*?)[\s,|]*$")
_INSERT = re.compile(r"\binsert\s+into\s+[\w.\"]+\s*(?:\([^()]*\)\s*)?values\s*\(", re.IGNORECASE)
_DELIMITERS = (",", "\t", "|", ";")

Fields = Mapping[str, Any]


def record_form(text: str) -> str | None:
    """How a record is written out in this text (`json`, `fields`, `row`, `sql`), or None."""
    if _INSERT.search(text):
        return "sql"
    for form, recognised in _FORMS:
        if recognised(text):
            return form
    return None


def _json(text: str) -> bool:
    """An object, or a list of them, that makes up the note or most of it."""
    starts = [place for place in map(text.find, "{[") if place >= 0]
    if not starts:
        return False
    start = min(starts)
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        end = max(text.rfind("}"), text.rfind("]")) + 1
        value = _literal(text[start:end])
    if end - start < SHARE * len(text.strip()):
        return False
    return any(_is_record(fields) for fields in _objects(value))


def _literal(text: str) -> Any:
    """A row as Python prints it; nothing is evaluated."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _objects(value: Any) -> Iterator[Fields]:
    """Every object of a parsed value: those in a list, and those that are fields of others."""
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, Mapping):
            yield {str(name): held for name, held in one.items()}
            yield from _objects([held for held in one.values() if isinstance(held, Mapping)])


def _fields(text: str) -> bool:
    """Lines of `name: value`, `name = value` or `name | value`, an id among them."""
    if ":" not in text and "=" not in text and "|" not in text:
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    found = [(match[1], match[2]) for line in lines if (match := _FIELD.match(line))]
    return len(found) >= SHARE * len(lines) and _is_record(dict(found))


def _row(text: str) -> bool:
    """A line of values as a database or a spreadsheet prints it, a UUID or a digest among them."""
    # Either is one long word; to look for that first takes a tenth of the time.
    longest = max(map(len, text.split()), default=0)
    if longest < _LEAST_ID or not (_UUID.search(text) or _DIGEST.search(text)):
        return False
    for line in text.splitlines():
        inner = line.strip().removeprefix("(").removesuffix(")").strip("|")
        for delimiter in _DELIMITERS:
            if inner.count(delimiter) < LEAST - 1:
                continue
            cells = [cell.strip(" \"'") for cell in next(csv.reader([inner], delimiter=delimiter))]
            if sum(map(_identifies, cells)) >= 1 and len(cells) >= LEAST and _mostly_values(cells):
                return True
    return False


def _mostly_values(cells: Iterable[str]) -> bool:
    """Prose has commas too; its parts are rarely ids, numbers, dates and single words."""
    known = list(cells)
    short = sum(1 for cell in known if len(cell.split()) <= 2)
    return short >= max(LEAST - 1, len(known) - 2)


def _is_record(fields: Fields) -> bool:
    """Whether the fields are those of a row: enough of them, and something that identifies one."""
    if len(fields) < LEAST:
        return False
    return any(
        _ID_NAME.fullmatch(name) is not None or _identifies(value) for name, value in fields.items()
    )


def _identifies(value: Any) -> bool:
    """Whether a value is a UUID or a digest and nothing else, as a row's id is."""
    text = str(value).strip(" \"'")
    return bool(_UUID.fullmatch(text) or _DIGEST.fullmatch(text))


_FORMS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("json", _json),
    ("fields", _fields),
    ("row", _row),
)
