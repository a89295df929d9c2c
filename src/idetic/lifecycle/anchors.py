"""The anchors of a tenant: whose memory there is, how much, since when. No content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.model import Capability
from idetic.store.anchor_rows import anchor_rows
from idetic.verbs.arguments import Cursor, Limit
from idetic.verbs.declaration import Paging, get, verb


@dataclass(frozen=True, slots=True)
class AnchorSummary:
    """One anchor: its keys, how many entries are not deleted, its first and its last write.

    `events` is how many its log has; None where there is no log. `waiting` is how many candidates,
    due entries and contradictions wait for a decision.
    """

    id: UUID
    keys: Mapping[str, Any] = field(default_factory=dict)
    entries: int = 0
    first_write: datetime | None = None
    last_write: datetime | None = None
    events: int | None = None
    waiting: int = 0


@verb(
    capability=Capability.READ_ACROSS,
    http=get("/anchors", "overseeing", page=Paging("anchors", lambda one: one.id)),
)
async def anchors(
    binding: Binding, *, limit: Limit = 100, after: Cursor = None
) -> list[AnchorSummary]:
    """List the anchors of this scope; a scope with only the tenant lists all of its anchors."""
    async with binding.look() as tx:
        names = list(binding.scope.anchor)
        found = await anchor_rows(tx, names, limit, after)
    return [
        AnchorSummary(row[0], dict(zip(names, row[6:], strict=True)), *row[1:6]) for row in found
    ]
