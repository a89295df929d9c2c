"""The rows of a tenant's anchors, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.driver import Rows
from idetic.store.scope import quoted

_BEFORE_ALL = UUID(int=0)


async def anchor_rows(
    tx: AnchorTransaction, keys: Sequence[str], limit: int, after: UUID | None
) -> Rows:
    """Anchors within a scope: id, entries, first and last write, events, then each key."""
    parts = {
        "keys": ", ".join(f"a.{quoted(key)}" for key in keys),
        "events": "a.log_position" if tx.family.log_table else "NULL::bigint",
    }
    return await tx.ask("anchors", "anchors", parts, limit=limit, after=after or _BEFORE_ALL)
