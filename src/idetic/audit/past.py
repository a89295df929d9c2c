"""An entry as it stood at a link of its chain: what came after is taken back.

Positions decide, not times: two decisions can share a moment. State columns say what is, and hold
one time each; the links say what each of them was before (ADR 0009).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Corroboration
from idetic.model import Decision, Entry, LedgerRecord

# What supersession on the write path changes; every other turn says itself what it changed.
_SUPERSEDED = {"superseded_at": None, "superseded_by": None}


def upto(history: Sequence[LedgerRecord], position: int) -> tuple[LedgerRecord, ...]:
    """The links up to a position."""
    return tuple(link for link in history if link.position <= position)


def state_of(history: Iterable[LedgerRecord]) -> str | None:
    """The last state that a history says."""
    states = [link.state_to for link in history if link.state_to is not None]
    return states[-1] if states else None


def entry_at(entry: Entry, history: Sequence[LedgerRecord], position: int) -> Entry:
    """The entry as it stood after the link at a position."""
    for link in reversed(history):
        if link.position > position and link.decision not in (Decision.NOOP, Decision.REJECT):
            entry = replace(entry, **_before(link))
    return entry


def _before(link: LedgerRecord) -> dict[str, Any]:
    was = link.detail.get("was")
    if was is not None:
        return {column: _value(column, value) for column, value in was.items()}
    return dict(_SUPERSEDED) if link.transition == "superseded" else {}


def _value(column: str, value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    return datetime.fromisoformat(value) if column.endswith("_at") else UUID(value)


def sources_at(
    history: Sequence[LedgerRecord], went: Iterable[tuple[UUID, int]], position: int
) -> list[UUID]:
    """What an entry was made of by a position, by the links that say so; each source once.

    `went` is what left with its scope for this entry, and where the chain says so.
    """
    named = [UUID(one) for link in history for one in link.detail.get("sources", ())]
    return list(dict.fromkeys([*named, *(one for one, at in went if at <= position)]))


def corroborations_at(
    found: Iterable[Corroboration], history: Sequence[LedgerRecord]
) -> tuple[Corroboration, ...]:
    """What supported an entry by then, each withdrawn only if it was by then."""
    given = {
        link.detail.get("corroboration"): link for link in history if _gives(link)
    }  # fmt: skip
    taken = {
        link.detail.get("corroboration"): link for link in history if link.transition == "undone"
    }
    known = (one for one in found if str(one.id) in given)
    return tuple(
        replace(one, withdrawn_at=taken[str(one.id)].at if str(one.id) in taken else None)
        for one in known
    )


def _gives(link: LedgerRecord) -> bool:
    return link.transition == "corroborated" and link.decision is not Decision.NOOP
