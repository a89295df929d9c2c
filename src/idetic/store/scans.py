"""Scans of one anchor: what is near a statement, what fell due, what canon left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import Scope, Tier, Typology
from idetic.spec.primitives import Canonical
from idetic.store import entry_sql, templates
from idetic.store.compiler import Extensions
from idetic.store.database import Transaction
from idetic.store.family import Family, canonical_names
from idetic.store.pipeline import Rows
from idetic.store.recall_statement import EXACT_BELOW
from idetic.store.scope import quoted
from idetic.store.statement import BoundStatement

FILE = "lifecycle"
# An entry itself and candidates take places too.
NEAREST = 8
# They leave the planner no other plan than the vector index.
_INDEXED = {
    "enable_sort": "off",
    "enable_seqscan": "off",
    "jit": "off",
    "hnsw.iterative_scan": "strict_order",
}
_AFTER = {"enable_sort": "on", "enable_seqscan": "on"}
_NO_PARTS: Mapping[str, str] = {}


def text_of(query: str) -> str:
    """A part of a query of the lifecycle."""
    return templates.query(f"queries/{FILE}.sql", query)


class Scans:
    """One anchor of one family within one transaction: its named queries, and the longer reads."""

    def __init__(
        self, family: Family, extensions: Extensions, scope: Scope, run: Transaction, now: datetime
    ):
        self.family = family
        self.scope = scope
        self.at = now
        self._run = run
        self._parts = {"vector": quoted(extensions.vector), "trgm": quoted(extensions.trgm)}

    async def rows(self, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any) -> Rows:
        """Run a query of the lifecycle."""
        return await self.ask(FILE, query, {**self._parts, **parts}, **values)

    async def ask(
        self, file: str, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> Rows:
        """Run a named query of a file within this transaction and scope."""
        call = self.family.call(file, query, self.scope, parts, **values)
        return await self._run(call.statement, call.values)

    def _call(self, query: str, parts: Mapping[str, str], **values: Any) -> BoundStatement:
        return self.family.call(FILE, query, self.scope, {**self._parts, **parts}, **values)

    async def near(
        self, vectors: Sequence[tuple[int, Any]], profile_id: UUID, typology: Typology
    ) -> dict[int, list[tuple[UUID, float]]]:
        """The nearest live persistent entries of a typology to each vector."""
        if not vectors:
            return {}
        ((count,),) = await self.rows("persistent_vectors", profile=profile_id, most=EXACT_BELOW)
        exact = count < EXACT_BELOW
        if not exact:
            await self._run.set(_INDEXED)
        rows = await self.rows(
            "near_exact" if exact else "near_indexed",
            # In the text, so that the planner sees which partial index serves.
            {"tier": f"'{Tier.PERSISTENT}'", "typology": f"'{typology}'"},
            numbers=[number for number, _ in vectors],
            vectors=["[" + ",".join(f"{x:.6g}" for x in vector) + "]" for _, vector in vectors],
            profile=profile_id,
            most=NEAREST,
        )
        if not exact:
            await self._run.set(_AFTER)
        found: dict[int, list[tuple[UUID, float]]] = {}
        for number, memory_id, similarity in rows:
            found.setdefault(number, []).append((memory_id, similarity))
        return found

    async def alike(self, texts: Sequence[tuple[int, str]]) -> dict[int, list[tuple[UUID, float]]]:
        """Persistent entries whose words are nearly those of each text."""
        calls = [self._call("alike", {}, text=text) for _, text in texts]
        found = await self._run.each(calls) if calls else []
        pairs = zip(texts, found, strict=True)
        return {number: [(row[0], row[1]) for row in rows] for (number, _), rows in pairs if rows}

    async def candidates(self, after: UUID | None, limit: int) -> list[UUID]:
        """Entries that wait for support, in batches by id."""
        rows = await self.rows("candidates", after=after, limit=limit)
        return [row[0] for row in rows]

    async def changed_facts(self, kind: str, limit: int) -> tuple[int, list[UUID]]:
        """Where the chain ends, and the facts that changed since a kind of run last finished."""
        rows = await self.rows("changed_facts", kind=kind, limit=limit)
        return rows[0][0] if rows else 0, [row[1] for row in rows if row[1] is not None]

    async def judged(self, ids: Sequence[UUID]) -> set[frozenset[UUID]]:
        """Pairs of facts that were looked at together before, and left as they are."""
        rows = await self.rows("judged", ids=list(ids))
        return {frozenset((row[0], UUID(other))) for row in rows for other in row[1]}

    async def due_unmarked(self, limit: int) -> list[UUID]:
        """Entries that fell due and whose history does not say so yet."""
        parts = {"due": entry_sql.due(self.family, self.scope)}
        rows = await self.rows("due_unmarked", parts, moment=self.at, limit=limit)
        return [row[0] for row in rows]

    async def outdated(
        self, canonical: Canonical, ref_id: UUID | None, typologies: list[Typology], limit: int
    ) -> list[UUID]:
        """Entries whose pinned version of a canonical row is no longer the one that holds."""
        rows = await self.rows(
            "outdated",
            canonical_names(self.family, canonical),
            ref_id=ref_id,
            typologies=[typology.value for typology in typologies],
            limit=limit,
        )
        return [row[0] for row in rows]

    async def shadows(
        self, canonical: Canonical, ref_id: UUID | None, limit: int
    ) -> dict[UUID, tuple[UUID, float]]:
        """Entries that restate a canonical row, with that row's id and the similarity."""
        root, names = self.family.spec.anchor.root, canonical_names(self.family, canonical)
        narrowed = ""
        if root is not None and "canonical_scope" in names:
            narrowed = f"AND c.{names['canonical_scope']} = m.{quoted(root.key)}"
        parts = {**names, "narrowed": narrowed}
        rows = await self.rows("shadows", parts, ref_id=ref_id, limit=limit)
        return {row[0]: (row[1], row[2]) for row in rows}
