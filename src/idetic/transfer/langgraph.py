"""What a LangGraph store holds: items with a namespace, a key and a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from idetic.transfer.foreign import Foreign, NotTaken, listed, moment

SOURCE = "langgraph"
# Where values keep their text, by custom: the store itself asks for no key.
TEXTS = ("text", "content", "memory", "data", "value")


def read(data: Any) -> Iterator[Foreign | NotTaken]:
    """Every item, and what holds no text."""
    for number, item in enumerate(listed(data, ("items", "results")), start=1):
        yield _item(item, f"#{number}")


def _item(item: Any, place: str) -> Foreign | NotTaken:
    if not isinstance(item, Mapping):
        return NotTaken(place, "no_item", "not an object")
    namespace, key = item.get("namespace", item.get("prefix")), item.get("key")
    if isinstance(namespace, str):
        namespace = namespace.split(".")
    parts = [*namespace, key] if isinstance(namespace, list) else []
    words = [part for part in parts if isinstance(part, str)]
    if not parts or words != parts:
        return NotTaken(place, "no_item", "no namespace and key")
    name = "/".join(words)[:200]
    value = item.get("value")
    text, rest = _text(value)
    if text is None:
        return NotTaken(name, "no_text", f"no text under any of {', '.join(TEXTS)}")
    times = (moment(item.get(key)) for key in ("created_at", "updated_at"))
    return Foreign(SOURCE, name, text, rest, *times)


def _text(value: Any) -> tuple[str | None, dict[str, Any]]:
    """The text of a value, and what else the value says."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, Mapping):
        return None, {}
    for key in TEXTS:
        found = value.get(key)
        if isinstance(found, str):
            return found, {k: v for k, v in value.items() if k != key}
        if isinstance(found, Mapping):
            inner, rest = _text(found)
            if inner is not None:
                return inner, rest
    return None, {}
