"""How values of memory read in a page: short, in plain words, the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

from idetic.model import Entry, EntryState, standing

_SHORT = 90
# The kind of badge that shows a state.
KIND_OF_STATE = {
    EntryState.CURRENT: "good",
    EntryState.ARCHIVED: "",
    EntryState.SUPERSEDED: "warn",
    EntryState.INVALIDATED: "warn",
    EntryState.DELETED: "bad",
}


# What recall calls its signals, in the glossary's words.
_SIGNALS = {"semantic": "meaning", "lexical": "words"}
# Why the guard refused a note, for whoever reads a list of refusals.
_REASONS = {
    "shadow": "copies canonical content",
    "record": "copies a record",
    "retries": "tried too often to copy the same content",
}
# What an erasure removes, for whoever reads what was forgotten.
_REMOVED = {"memory": "entries", "reads": "readings", "embeddings": "vectors"}
# What the evidence behind a proposal is counted in: many, and one.
_EVIDENCE = {"entries": "entry", "sources": "source", "voices": "voice", "sessions": "session"}
_MEASURES = {
    "trust": "trust {} of 100",
    "removed": "{} removed by the gate",
    "similarity_percent": "{}% alike",
}
# What a word of the glossary means, shown where a pointer rests on it; a test compares them.
MEANINGS: dict[str, str] = json.loads(
    (Path(__file__).parent / "templates" / "meanings.json").read_text("utf-8")
)


def meaning(said: object) -> str | None:
    """Return what a word of the glossary means; None for every other text."""
    word = str(said).lower()
    return MEANINGS.get(word) or MEANINGS.get(word.removesuffix("s"))


def signal_of(name: object) -> str:
    """Name a signal of recall as the glossary does."""
    said, comma, rest = words(name).partition(",")
    return _SIGNALS.get(said, said) + comma + rest


def refusal_of(reason: object) -> str:
    """Say why the guard refused a note."""
    return _REASONS.get(words(reason), words(reason))


def removed_of(name: object) -> str:
    """Name what an erasure removed, by the name of its table."""
    return _REMOVED.get(words(name), words(name))


def words(value: object) -> str:
    """Write one of our names as words: `surfaced_to_operator` is "surfaced to operator"."""
    return str(value.value if isinstance(value, Enum) else value).replace("_", " ")


def options(kind: type[StrEnum], all_of_them: str = "all") -> dict[str, str]:
    """List the values of an enum for a field to choose from, after one for no choice."""
    return {"": all_of_them} | {each.value: words(each) for each in kind}


def shortened(said: str, most: int = _SHORT) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(said.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def tail(id: object) -> str:  # noqa: A002 - reads as a noun
    """Return the end of an id, which tells those of one day apart."""
    return "-" if id is None else f"…{str(id)[-8:]}"


def day(on: date) -> str:
    """Write a day: "19 Nov 2026"."""
    return f"{on.day} {on:%b %Y}"


def minute(at: datetime) -> str:
    """Write a moment to the minute, in UTC as the ledger keeps it: "19 Nov 2026, 21:40"."""
    moment = at.astimezone(UTC)
    return f"{day(moment)}, {moment:%H:%M}"


def age(seconds: float | None) -> str:
    """Return an age in the largest unit that fits; a dash for none."""
    if seconds is None:
        return "-"
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"


def chance(share: float) -> str:
    """Write a probability in percent; one that is not quite 0 says so."""
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def support_of(support: Mapping[str, int]) -> str:
    """Count the evidence behind a proposal: "2 entries · 3 sources · trust 60 of 100"."""
    told = []
    for name in [*_EVIDENCE, *_MEASURES]:
        count = support.get(name, 0)
        if name in _MEASURES and count:
            told.append(_MEASURES[name].format(count))
        elif name in support and name in _EVIDENCE:
            told.append(f"{count:,} {_EVIDENCE[name] if count == 1 else name}")
    return " · ".join(told)


def standing_of(entry: Entry) -> str:
    """Return what an entry is to its reader: a fact, a preference, something that was said."""
    return words(standing(entry))


def titled(entry: Entry) -> str:
    """Return an entry's subject in one line: its claim, or how its text begins."""
    claim = entry.claim
    if claim is None:
        return shortened(entry.body_text)
    return shortened(f"{claim.subject} · {claim.attribute}: {claim.value}")


def one_line(value: object) -> str:
    """Write a value of data on one line: a text as it is, a list of texts too, all else as JSON."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def as_text(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Write a mapping of data, each value on one line; those without a value are left out."""
    return {
        f"{prefix}{name}": one_line(value) for name, value in values.items() if value is not None
    }
