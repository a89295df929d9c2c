"""What Mem0 exports: the answer of `get_all`, or the list in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from idetic.transfer.foreign import Foreign, NotTaken, listed, moment

SOURCE = "mem0"


def read(data: Any) -> Iterator[Foreign | NotTaken]:
    """Every memory, and what is none."""
    for number, item in enumerate(listed(data, ("results", "memories")), start=1):
        yield _memory(item, f"#{number}")
    relations = data.get("relations") if isinstance(data, Mapping) else None
    for number, _ in enumerate(relations or (), start=1):
        why = "a relation of Mem0's graph; what it says is in the memories it was drawn from"
        yield NotTaken(f"relation #{number}", "relation", why)


def _memory(item: Any, place: str) -> Foreign | NotTaken:
    if not isinstance(item, Mapping):
        return NotTaken(place, "no_memory", "not an object")
    called = item.get("id")
    name = called if isinstance(called, str) and 0 < len(called) <= 200 else place
    text = item.get("memory", item.get("text"))
    if not isinstance(text, str):
        return NotTaken(name, "no_text", "no text under `memory`")
    metadata = item.get("metadata")
    found = dict(metadata) if isinstance(metadata, Mapping) else {}
    if isinstance(item.get("categories"), list):
        found.setdefault("categories", item["categories"])
    times = (moment(item.get(key)) for key in ("created_at", "updated_at"))
    return Foreign(SOURCE, name, text, found, *times)
