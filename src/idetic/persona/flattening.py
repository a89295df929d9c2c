"""JSON as words: what a tool took and gave, without the brackets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

# Beyond this a content is no message; it is compacted by its beginning and its end.
_MAX_READ = 200_000
_MAX_VALUES = 200


def flattened(content: str) -> str:
    """Content as it is read: `key: value; …` for a JSON object or list, else as it stands."""
    text = content.strip()
    if len(text) > _MAX_READ:
        half = _MAX_READ // 2
        return f"{text[:half]} … {text[-half:]}"
    if text[:1] not in ("{", "["):
        return text
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    parts = []
    for part in _parts(data, "", 0):
        parts.append(part)
        if len(parts) == _MAX_VALUES:
            break
    return "; ".join(parts) or text


def _parts(value: Any, name: str, depth: int) -> Iterator[str]:
    if isinstance(value, dict | list) and depth < 8:
        items = value.items() if isinstance(value, dict) else (("", one) for one in value)
        for key, below in items:
            yield from _parts(below, f"{name}.{key}".strip(".") if key else name, depth + 1)
    elif value not in (None, "", [], {}):
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{name}: {said}" if name else said
