"""Scans of one anchor: what is near a statement, what fell due, what canon left behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Scope, Tier, Typology
from idetic.spec.primitives import Canonical
from idetic.store import decay, templates
from idetic.store import scope as scoping
from idetic.store.canonical import canonical_names
from idetic.store.compiler import Extensions
from idetic.store.database import Rows, Run
from idetic.store.family import Family, Names
from idetic.store.recall_statement import EXACT_BELOW
from idetic.store.templates import raw

FILE = "queries/lifecycle.sql"
# An entry itself and candidates take places too.
NEAREST = 8


class Scans:
    """One anchor of one family within one transaction: its named queries, and the longer reads."""

    def __init__(
        self, family: Family, extensions: Extensions, scope: Scope, run: Run, now: datetime
    ):
        self.family = family
        self.scope = scope
        self.at = now
        self._run = run
        self._names = statement_names(family, scope) | {
            "vector_schema": sql.Identifier(extensions.vector),
            "trgm_schema": sql.Identifier(extensions.trgm),
        }

    async def rows(self, query: str, **values: Composable) -> Rows:
        """Run a query of the lifecycle."""
        return await self._run(self.compose(query, **values).as_string(None))

    def compose(self, query: str, **values: Composable) -> Composable:
        """A query of the lifecycle with its names filled in."""
        return raw(templates.query(FILE, query)).format(**(self._names | values))

    async def near(
        self, vectors: Sequence[tuple[int, Any]], profile_id: UUID, typology: Typology
    ) -> dict[int, list[tuple[UUID, float]]]:
        """The nearest live persistent entries of a typology to each vector."""
        if not vectors:
            return {}
        profile, most = sql.Literal(profile_id), sql.Literal(EXACT_BELOW)
        ((count,),) = await self.rows("persistent_vectors", profile=profile, most=most)
        exact = count < EXACT_BELOW
        values = [
            raw("({}, {}::{}.halfvec)").format(
                sql.Literal(n),
                sql.Literal("[" + ",".join(f"{x:.6g}" for x in vector) + "]"),
                self._names["vector_schema"],
            )
            for n, vector in vectors
        ]
        if not exact:
            await self.rows("near_settings")
        rows = await self.rows(
            "near_exact" if exact else "near_indexed",
            vectors=raw(", ").join(values),
            profile=profile,
            tier=sql.Literal(Tier.PERSISTENT.value),
            typology=sql.Literal(typology.value),
            live=self.compose("live"),
            most=sql.Literal(NEAREST),
        )
        if not exact:
            await self.rows("after_near")
        return _by_number(rows)

    async def alike(self, texts: Sequence[tuple[int, str]]) -> dict[int, list[tuple[UUID, float]]]:
        """Persistent entries whose words are nearly those of each text."""
        if not texts:
            return {}
        values = [raw("({}, {})").format(sql.Literal(n), sql.Literal(text)) for n, text in texts]
        return _by_number(await self.rows("alike", texts=raw(", ").join(values)))

    async def candidates(self, after: UUID | None, limit: int) -> list[UUID]:
        """Entries that wait for support, in batches by id."""
        values = {"after": sql.Literal(after), "limit": sql.Literal(limit)}
        rows = await self.rows("candidates", live=self.compose("live"), **values)
        return [row[0] for row in rows]

    async def changed_facts(self, kind: str, limit: int) -> tuple[int, list[UUID]]:
        """Where the chain ends, and the facts that changed since a kind of run last finished."""
        values = {"kind": sql.Literal(kind), "limit": sql.Literal(limit)}
        rows = await self.rows("changed_facts", live=self.compose("live"), **values)
        return rows[0][0] if rows else 0, [row[1] for row in rows if row[1] is not None]

    async def judged(self, ids: Sequence[UUID]) -> set[frozenset[UUID]]:
        """Pairs of facts that were looked at together before, and left as they are."""
        rows = await self.rows("judged", ids=sql.Literal(list(ids)))
        return {frozenset((row[0], UUID(other))) for row in rows for other in row[1]}

    async def due_unmarked(self, limit: int) -> list[UUID]:
        """Entries that fell due and whose history does not say so yet."""
        rows = await self.rows(
            "due_unmarked",
            due=decay.due(self.family, self.scope),
            live=self.compose("live"),
            moment=sql.Literal(self.at),
            limit=sql.Literal(limit),
        )
        return [row[0] for row in rows]

    async def outdated(
        self, canonical: Canonical, ref_id: UUID | None, typologies: list[Typology], limit: int
    ) -> list[UUID]:
        """Entries whose pinned version of a canonical row is no longer the one that holds."""
        names = canonical_names(self.family, canonical)
        rows = await self.rows(
            "outdated",
            **names,
            version=sql.Identifier(canonical.version or canonical.key),
            pinned=sql.Identifier(f"{canonical.noun}_version"),
            ref_id=sql.Literal(ref_id),
            typologies=sql.Literal([typology.value for typology in typologies]),
            live=self.compose("live"),
            limit=sql.Literal(limit),
        )
        return [row[0] for row in rows]

    async def shadows(
        self, canonical: Canonical, ref_id: UUID | None, limit: int
    ) -> dict[UUID, tuple[UUID, float]]:
        """Entries that restate a canonical row, with that row's id and the similarity."""
        root = self.family.spec.anchor.root
        names = canonical_names(self.family, canonical)
        narrowed: Composable = raw("")
        if canonical.scope and root is not None:
            narrowed = raw("AND c.{} = m.{}").format(
                sql.Identifier(canonical.scope), sql.Identifier(root.key)
            )
        rows = await self.rows(
            "shadows",
            **names,
            shadow_scope_m=narrowed,
            ref_id=sql.Literal(ref_id),
            live=self.compose("live"),
            limit=sql.Literal(limit),
        )
        return {row[0]: (row[1], row[2]) for row in rows}


def statement_names(family: Family, scope: Scope) -> Names:
    """The names that lifecycle queries may use."""
    aliases = ("a", "c", "e", "g", "k", "l", "m", "r", "s", "v")
    return {
        **family.names(),
        **{f"scope_{alias}": scoping.predicate(scope, alias) for alias in aliases},
        "scope_tenant_p": scoping.tenant_predicate(scope, "p"),
        "arguments": raw(scoping.arguments(scope)),
    }


def _by_number(rows: Rows) -> dict[int, list[tuple[UUID, float]]]:
    found: dict[int, list[tuple[UUID, float]]] = {}
    for number, memory_id, similarity in rows:
        found.setdefault(number, []).append((memory_id, similarity))
    return found
