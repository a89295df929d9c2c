"""The names of an anchor's deployment: read at one place, within the anchor, with a bound."""

from __future__ import annotations

from collections.abc import Iterable

from idetic.spec.identifiers import IdentifierLookup
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.family import canonical_names
from idetic.store.scope import quoted

LIFECYCLE_NAMES = 1_000


async def looked_up_names(
    tx: AnchorTransaction, lookups: Iterable[IdentifierLookup]
) -> list[str] | None:
    """The values that the lookups lead to; None if they are more than can be looked for."""
    found: set[str] = set()
    for lookup in lookups:
        rows = await _values(tx, lookup)
        found.update(row[0] for row in rows if row[0])
        if len(found) > LIFECYCLE_NAMES or len(rows) > LIFECYCLE_NAMES:
            return None
    return sorted(found)


async def _values(tx: AnchorTransaction, lookup: IdentifierLookup) -> list[tuple[str]]:
    """The distinct values at one place, one more than the most, so that too many are seen."""
    limit = LIFECYCLE_NAMES + 1
    if lookup.noun is None:
        column, key = (
            ("envelope", lookup.envelope) if lookup.envelope else ("provenance", lookup.provenance)
        )
        return await tx.rows("named_by_key", {"column": column}, key=key, limit=limit)
    (canonical,) = (one for one in tx.spec.references.canonical if one.noun == lookup.noun)
    root, names = tx.spec.anchor.root, canonical_names(tx.family, canonical)
    narrowed = ""
    if root is not None and "canonical_scope" in names:
        narrowed = f"AND c.{names['canonical_scope']} = a.{quoted(root.key)}"
    parts = {**names, "narrowed": narrowed, "column": quoted(lookup.column or "")}
    return await tx.rows("named_by_canonical", parts, limit=limit)
