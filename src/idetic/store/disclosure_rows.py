"""What an anchor holds, as its subject is shown it: turns, entries and actions, in pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

from idetic.store import templates
from idetic.store.anchor_transaction import AnchorTransaction

_FILE = "disclosure"
_PAGE = 200
_BEFORE_ALL = UUID(int=0)
Item = Mapping[str, Any]


async def disclosed_turns(tx: AnchorTransaction) -> AsyncIterator[Item]:
    """What was said, oldest first; nothing where the agent has no log."""
    after, rows = 0, []
    while tx.family.log_table and (rows := await tx.ask(_FILE, "turns", after=after, limit=_PAGE)):
        for at, kind, content, metadata, position in rows:
            yield {"at": at.isoformat(), "kind": kind, "text": content, "details": metadata}
            after = position


async def disclosed_entries(tx: AnchorTransaction) -> AsyncIterator[Item]:
    """What is remembered, in every tier and state, oldest first."""
    supported = templates.query(f"queries/{_FILE}.sql", "supported")
    parts = {"supported": supported if tx.spec.references.corroborations else ""}
    after = _BEFORE_ALL
    while rows := await tx.ask(_FILE, "entries", parts, after=after, limit=_PAGE):
        for entry_id, told in rows:
            yield told
            after = entry_id


async def disclosed_actions(tx: AnchorTransaction) -> AsyncIterator[Item]:
    """What was done that rested on it."""
    for action_id, kind, at, by, rested in await tx.ask(_FILE, "actions"):
        on = [str(one) for one in rested]
        yield {"id": str(action_id), "kind": kind, "at": at.isoformat(), "by": by, "rested_on": on}
