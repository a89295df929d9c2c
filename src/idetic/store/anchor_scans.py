"""Scans of one anchor: what is near a statement, what fell due, what canonical content outdated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from idetic.evidence import Disposition, DispositionCause
from idetic.model import Tier, Typology
from idetic.spec.primitives import Canonical
from idetic.store import entry_sql
from idetic.store.anchor_transaction import LIFECYCLE, AnchorTransaction, lifecycle_part
from idetic.store.family import canonical_names
from idetic.store.scope import quoted

# Up to so many vectors of an anchor are compared one by one. Their index is 1.5 to 2 times faster
# from 20,000 on, but misses some, at 80,000 one of thirty of the nearest (bench/threshold.py).
EXACT_BELOW = 80_000
# An entry itself and candidates take places too.
_NEAREST = 8
# They leave the planner no other plan than the vector index.
_INDEXED = {
    "enable_sort": "off",
    "enable_seqscan": "off",
    "jit": "off",
    "hnsw.iterative_scan": "strict_order",
}
_AFTER = {"enable_sort": "on", "enable_seqscan": "on"}
Near = dict[int, list[tuple[UUID, float]]]


async def nearest(
    tx: AnchorTransaction,
    vectors: Sequence[tuple[int, Any]],
    profile_id: UUID,
    typology: Typology,
) -> Near:
    """The nearest live persistent entries of a typology to each vector, by its number."""
    if not vectors:
        return {}
    ((count,),) = await tx.rows("persistent_vectors", profile=profile_id, most=EXACT_BELOW)
    exact = count < EXACT_BELOW
    if not exact:
        tx.run.set(_INDEXED)
    rows = await tx.rows(
        "near_exact" if exact else "near_indexed",
        # In the text, so that the planner sees which partial index serves.
        {"tier": f"'{Tier.PERSISTENT}'", "typology": f"'{typology}'"},
        numbers=[number for number, _ in vectors],
        vectors=["[" + ",".join(f"{x:.6g}" for x in vector) + "]" for _, vector in vectors],
        profile=profile_id,
        most=_NEAREST,
    )
    if not exact:
        tx.run.set(_AFTER)
    found: Near = {}
    for number, memory_id, similarity in rows:
        found.setdefault(number, []).append((memory_id, similarity))
    return found


async def alike(tx: AnchorTransaction, texts: Sequence[tuple[int, str]]) -> Near:
    """Persistent entries whose words are nearly those of each text, by its number."""
    calls = [tx.call(LIFECYCLE, "alike", text=text) for _, text in texts]
    found = await tx.run.each(calls) if calls else []
    pairs = zip(texts, found, strict=True)
    return {number: [(row[0], row[1]) for row in rows] for (number, _), rows in pairs if rows}


async def same_words(tx: AnchorTransaction, texts: Sequence[tuple[int, str]]) -> Near:
    """Persistent entries with the very words of each text, in any order, by its number."""
    if not texts:
        return {}
    found: Near = {}
    for place, memory_id in await tx.rows("same_words", texts=[text for _, text in texts]):
        found.setdefault(texts[place - 1][0], []).append((memory_id, 1.0))
    return found


async def changed_facts(
    tx: AnchorTransaction, kind: str, limit: int, *, candidates: bool = False
) -> tuple[int, list[UUID]]:
    """Where the chain ends, and the facts that changed since a kind of run last finished."""
    rows = await tx.rows("changed_facts", kind=kind, limit=limit, candidates=candidates)
    return rows[0][0] if rows else 0, [row[1] for row in rows if row[1] is not None]


async def judged_pairs(tx: AnchorTransaction, ids: Sequence[UUID]) -> set[frozenset[UUID]]:
    """Pairs of facts that were looked at together before, and left as they are."""
    rows = await tx.rows("judged", ids=list(ids))
    return {frozenset((row[0], UUID(other))) for row in rows for other in row[1]}


async def due_entries(tx: AnchorTransaction, limit: int) -> list[Disposition]:
    """The disposition queue of the scope, the hardest pressed first."""
    parts = {
        "columns": tx.entry_columns.columns(tx.scope),
        "cause": entry_sql.cause(tx.family, tx.scope),
        "pressure": entry_sql.pressure(tx.family, tx.scope, "%(moment)s"),
        **due_part(tx),
    }
    rows = await tx.rows("due", parts, moment=tx.at, limit=limit)
    made = tx.entry_columns.entry
    return [
        Disposition(made(tx.scope, row[3:]), DispositionCause(row[0]), row[1], row[2])
        for row in rows
    ]


def due_part(tx: AnchorTransaction) -> dict[str, str]:
    """The condition that an entry is due for a disposition."""
    return {"due": entry_sql.due(tx.family, tx.scope)}


class OutdatedReference(NamedTuple):
    """An entry's reference to a canonical row that has another version by now, and both texts.

    A text is None where the row has none, or the versions' table may not be read.
    """

    entry_id: UUID
    ref_id: UUID
    version: int
    before: str | None
    now: str | None


async def outdated_references(
    tx: AnchorTransaction,
    canonical: Canonical,
    ref_id: UUID | None,
    typologies: Sequence[Typology],
    limit: int,
) -> list[OutdatedReference]:
    """References to a version that no longer holds, and that nobody has looked at since."""
    names, then = canonical_names(tx.family, canonical), "NULL::text"
    if canonical.body is not None:
        table, column = canonical.versions, canonical.body
        ((readable,),) = await tx.rows("versions_readable", table=table, column=column)
        then = lifecycle_part("text_then") if readable else then
    now = f"c.{names['canonical_body']}::text" if "canonical_body" in names else "NULL::text"
    parts = {**names, "text_then": then, "text_now": now}
    kept = [typology.value for typology in typologies]
    rows = await tx.rows("outdated", parts, ref_id=ref_id, typologies=kept, limit=limit)
    return [OutdatedReference(*row) for row in rows]


async def shadow_entries(
    tx: AnchorTransaction, canonical: Canonical, ref_id: UUID | None, limit: int
) -> dict[UUID, tuple[UUID, float]]:
    """Entries that restate a canonical row, with that row's id and the similarity."""
    root, names = tx.spec.anchor.root, canonical_names(tx.family, canonical)
    narrowed = ""
    if root is not None and "canonical_scope" in names:
        narrowed = f"AND c.{names['canonical_scope']} = m.{quoted(root.key)}"
    rows = await tx.rows("shadows", {**names, "narrowed": narrowed}, ref_id=ref_id, limit=limit)
    return {row[0]: (row[1], row[2]) for row in rows}
