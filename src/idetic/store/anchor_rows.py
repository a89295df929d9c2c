"""The rows of a tenant's anchors, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from idetic.evidence import TRANSITIONS
from idetic.store import templates
from idetic.store.anchor_scans import due_part
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.driver import Rows
from idetic.store.family import canonical_names
from idetic.store.scope import quoted

_BEFORE_ALL = UUID(int=0)


async def anchor_rows(
    tx: AnchorTransaction, keys: Sequence[str], limit: int, after: UUID | None
) -> Rows:
    """Anchors within a scope: id, entries, first and last write, events, waiting, then each key."""
    parts = {
        "keys": ", ".join(f"a.{quoted(key)}" for key in keys),
        "events": "a.log_position" if tx.family.log_table else "NULL::bigint",
        "contradicted": _contradicted(tx),
        **due_part(tx),
    }
    status = [one.value for one, following in TRANSITIONS.items() if following]
    page = {"limit": limit, "after": after or _BEFORE_ALL}
    return await tx.ask("anchors", "anchors", parts, moment=tx.at, status=status, **page)


def _contradicted(tx: AnchorTransaction) -> str:
    """How many contradictions of an anchor called a wait, as terms to be added."""
    term = templates.query("queries/anchors.sql", "contradicted")
    nouns = [one for one in tx.spec.references.canonical if one.contradictions]
    names = [canonical_names(tx.family, one)["noun"] for one in nouns]
    return "".join(term.replace("{noun}", name) for name in names)
