"""What a link of the ledger changed, turned round; and whether it still stands as it left it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.errors import TransitionRefused
from idetic.gateway.steps import state_of
from idetic.model import Entry, LedgerRecord

# What a turn without its own memory of before was: the verbs of the write path say no more.
_BEFORE: Mapping[str, Mapping[str, None]] = {
    "archived": {"archived_at": None},
    "exempted": {"exempt_at": None},
    "superseded": {"superseded_at": None, "superseded_by": None},
}


def was(link: LedgerRecord) -> dict[str, Any]:
    """The state columns that a link turned, as they were before it."""
    if "was" in link.detail:
        return {column: _moment(column, value) for column, value in link.detail["was"].items()}
    if link.transition in _BEFORE:
        return dict(_BEFORE[link.transition])
    raise TransitionRefused(
        f"A decision of the kind `{link.transition}` cannot be undone.",
        remedy="See docs/reference/python.md for what undo takes back.",
    )


def check(entry: Entry, link: LedgerRecord, put: Mapping[str, Any]) -> None:
    """Nothing may have built on it: the entry stands as the decision left it."""
    if not _same(entry, link, put):
        raise TransitionRefused(
            f"The entry is {state_of(entry)} by now; it was {link.state_to} after that decision.",
            remedy="Undo what happened to it since first; its history says what.",
        )


def stands(entry: Entry, link: LedgerRecord) -> bool:
    """Whether an entry is still as a link left it, replaced by what that link says."""
    put = link.detail.get("set", {})
    if not put and link.transition == "superseded":
        put = {"superseded_by": link.detail["superseded_by"]}
    return _same(entry, link, put)


def _same(entry: Entry, link: LedgerRecord, put: Mapping[str, Any]) -> bool:
    same = all(_moment(c, v) == getattr(entry, c) for c, v in put.items())
    return link.state_to is None or (state_of(entry) == link.state_to and same)


def _moment(column: str, value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if column.endswith("_at"):
        return datetime.fromisoformat(value)
    return UUID(value)
