"""Profiles and vectors: which model made what, what is pending, and who read what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.ids import uuid7
from idetic.model import Place, Scope, Tier, Typology
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import Database, Rows
from idetic.store.family import Family, Names
from idetic.store.templates import raw

_FILE = "queries/embeddings.sql"


@dataclass(frozen=True, slots=True)
class Pending:
    """An entry that has no vector in a profile yet."""

    anchor: Mapping[str, Any]
    memory_id: UUID
    tier: Tier
    typology: Typology
    body_text: str


async def register(database: Database, name: str, dimensions: int, fingerprint: str) -> UUID:
    """The profile of a model, made known to the database if it is not yet."""
    values: dict[str, Any] = {"name": name, "fingerprint": fingerprint}
    async with database.reading() as connection:
        found = await connection.execute(raw(templates.query(_FILE, "find")), values)
        row = await found.fetchone()
        if row is None:
            values |= {"profile_id": uuid7(), "dimensions": dimensions}
            await connection.execute(raw(templates.query(_FILE, "register")), values)
            found = await connection.execute(raw(templates.query(_FILE, "find")), values)
            row = await found.fetchone()
    profile_id: UUID = row[0] if row else uuid7()
    return profile_id


class Embeddings:
    """The retrievable table of one family, and the profiles its tenants use."""

    def __init__(self, database: Database, family: Family, vector_schema: str):
        self._database = database
        self._family = family
        self._vector_schema = sql.Identifier(vector_schema)

    async def register(self, name: str, dimensions: int, fingerprint: str) -> UUID:
        """The profile of a model, made known if it is not yet."""
        return await register(self._database, name, dimensions, fingerprint)

    async def active(self, scope: Scope) -> UUID | None:
        """The profile this tenant's recalls use, if any."""
        rows = await self._run(scope, "active")
        return rows[0][0] if rows else None

    async def activate(self, scope: Scope, profile_id: UUID, at: datetime) -> None:
        """Switch the tenant's recalls to a profile."""
        principal = scope.principal
        await self._run(
            scope,
            "activate",
            tenant_value=sql.Literal(scope.tenant),
            activation_id=sql.Literal(uuid7()),
            profile=sql.Literal(profile_id),
            at=sql.Literal(at),
            by=sql.Literal(f"{principal.kind}:{principal.name}"),
        )

    async def pending(
        self, scope: Scope, profile_id: UUID, limit: int, *, session_id: UUID | None = None
    ) -> list[Pending]:
        """The oldest entries of the scope, or of one session, without a vector in the profile."""
        profile, most = sql.Literal(profile_id), sql.Literal(limit)
        session = sql.Literal(session_id)
        rows = await self._run(scope, "pending", profile=profile, limit=most, session_id=session)
        keys = self._family.keys
        return [
            Pending(dict(zip(keys, row, strict=False)), *_typed(row[len(keys) :])) for row in rows
        ]

    async def count_pending(self, scope: Scope, profile_id: UUID) -> int:
        """How many entries of the scope have no vector in the profile."""
        rows = await self._run(scope, "count_pending", profile=sql.Literal(profile_id))
        count: int = rows[0][0]
        return count

    async def anchors(self, scope: Scope) -> list[dict[str, Any]]:
        """The anchors with memory that the scope can see."""
        rows = await self._run(scope, "anchors")
        return [dict(zip(self._family.keys, row, strict=True)) for row in rows]

    async def store(
        self,
        scope: Scope,
        profile_id: UUID,
        found: Sequence[Pending],
        vectors: Iterable[Sequence[float]],
        at: datetime,
        *,
        point: bool,
    ) -> None:
        """Keep vectors; storing twice is storing once. `point` makes the entries refer to them."""
        rows = [
            raw("({}, {}, {}, {}, {}, {}, {}::{}.halfvec, {})").format(
                raw(", ").join(map(sql.Literal, entry.anchor.values())),
                *map(sql.Literal, (uuid7(), entry.memory_id, profile_id)),
                *map(sql.Literal, (entry.tier.value, entry.typology.value)),
                sql.Literal("[" + ",".join(f"{x:.6g}" for x in vector) + "]"),
                self._vector_schema,
                sql.Literal(at),
            )
            for entry, vector in zip(found, vectors, strict=True)
        ]
        statements = [self._compose(scope, "store", rows=raw(", ").join(rows))]
        if point:
            ids = sql.Literal([entry.memory_id for entry in found])
            profile = sql.Literal(profile_id)
            statements.append(self._compose(scope, "point", profile=profile, ids=ids))
        await self._database.run(scope, "; ".join(statements))

    async def read(self, scope: Scope, place: Place, ids: Iterable[UUID], at: datetime) -> UUID:
        """Record that entries were put before the scope's principal."""
        read_id = uuid7()
        principal = scope.principal
        who = f"{principal.kind}:{principal.name}"
        rows = [
            raw("({}, {})").format(
                raw(", ").join(map(sql.Literal, scope.anchor.values())),
                raw(", ").join(
                    map(
                        sql.Literal,
                        (read_id, memory_id, place.session_id, place.interaction_id, at, who),
                    )
                ),
            )
            for memory_id in ids
        ]
        if rows:
            await self._run(scope, "read", rows=raw(", ").join(rows))
        return read_id

    def _compose(self, scope: Scope, query: str, **values: Composable) -> str:
        names: Names = {
            **self._family.names(),
            **{f"scope_{a}": scoping.predicate(scope, a) for a in ("a", "e", "m")},
            "scope_tenant_p": scoping.tenant_predicate(scope, "p"),
            **values,
        }
        return raw(templates.query(_FILE, query)).format(**names).as_string(None)

    async def _run(self, scope: Scope, query: str, **values: Composable) -> Rows:
        return await self._database.run(scope, self._compose(scope, query, **values))


def _typed(row: tuple[Any, ...]) -> tuple[UUID, Tier, Typology, str]:
    memory_id, tier, typology, body = row
    return memory_id, Tier(tier), Typology(typology), body
