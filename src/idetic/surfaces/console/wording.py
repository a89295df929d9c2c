"""How values of memory are said in a page: short, in plain words, the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any
from uuid import UUID

from idetic.model import Entry, EntryState

SHORT = 90
KIND_OF_STATE = {
    EntryState.CURRENT: "good",
    EntryState.ARCHIVED: "",
    EntryState.SUPERSEDED: "warn",
    EntryState.INVALIDATED: "warn",
    EntryState.DELETED: "bad",
}


def words(value: object) -> str:
    """A name of ours as words: `surfaced_to_operator` is "surfaced to operator"."""
    return str(value.value if isinstance(value, Enum) else value).replace("_", " ")


def shortened(said: str, most: int = SHORT) -> str:
    """The beginning of a text on one line."""
    line = " ".join(said.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def tail(id: UUID | None) -> str:  # noqa: A002 - reads as a noun
    """The end of an id, which tells those of one day apart."""
    return "-" if id is None else f"…{str(id)[-8:]}"


def titled(entry: Entry) -> str:
    """What an entry is about, in one line: its claim, or how it begins."""
    claim = entry.claim
    if claim is None:
        return shortened(entry.body_text)
    return shortened(f"{claim.subject} · {claim.attribute}: {claim.value}")


def as_text(values: Mapping[str, Any]) -> dict[str, str]:
    """A mapping of data, each value on one line; what has no value is left out."""
    return {
        name: value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=str)
        for name, value in values.items()
        if value is not None
    }
