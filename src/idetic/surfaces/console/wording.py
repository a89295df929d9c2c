"""How values of memory appear in a page: short, in plain words, the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

from idetic.model import Entry, EntryState
from idetic.recall.hits import NotUsed
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at

_SHORT = 90
# The kind of badge that shows a state.
KIND_OF_STATE = {
    EntryState.CURRENT: "good",
    EntryState.ARCHIVED: "",
    EntryState.SUPERSEDED: "warn",
    EntryState.INVALIDATED: "warn",
    EntryState.DELETED: "bad",
}


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


def tail(id: UUID | None) -> str:  # noqa: A002 - reads as a noun
    """Return the end of an id, which tells those of one day apart."""
    return "-" if id is None else f"…{str(id)[-8:]}"


def titled(entry: Entry) -> str:
    """Return an entry's subject in one line: its claim, or how its text begins."""
    claim = entry.claim
    if claim is None:
        return shortened(entry.body_text)
    return shortened(f"{claim.subject} · {claim.attribute}: {claim.value}")


def one_line(value: object) -> str:
    """Write a value of data on one line: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def as_text(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Write a mapping of data, each value on one line; those without a value are left out."""
    return {
        f"{prefix}{name}": one_line(value) for name, value in values.items() if value is not None
    }


def summary(entry: Entry) -> None:
    """Show an entry in a list: its text, its kind and its source; the time leads to its page."""
    el.note(entry.body_text)
    with el.row("small"):
        marks(entry)
        el.text("span", f"{words(entry.origin)}, trust {entry.trust}", "quiet")
        with el.link("", at(f"/entries/{entry.id}")):
            el.text("span", "Entry of ")
            el.moment(entry.created_at)


def marks(entry: Entry) -> None:
    """Show badges for an entry's tier, its typology, and whatever is special about it."""
    el.badge(f"{words(entry.tier)} · {words(entry.typology)}")
    if entry.state is not EntryState.CURRENT:
        el.badge(words(entry.state), KIND_OF_STATE[entry.state])
    if entry.candidate:
        el.badge("candidate", "warn")
    if entry.exempt_at is not None:
        el.badge("exempt from decay")


def not_used(title: str, missing: Sequence[NotUsed]) -> None:
    """Show which signals a recall went without, folded away with their reasons and remedies."""
    if missing:
        with el.aside(f"{title}: {', '.join(words(each.what) for each in missing)}"):
            for each in missing:
                said = f"{words(each.what).capitalize()}: {each.why}. {each.remedy}"
                el.text("p", said, "small")
