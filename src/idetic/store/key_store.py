"""API keys in the database: one question for the application, everything else for the admin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from idetic.errors import CapabilityRefused, NotFound, TransitionRefused
from idetic.keys import ApiKey, CreatedKey, hash_of
from idetic.model import Capability, Principal, PrincipalKind, Scope
from idetic.store import templates
from idetic.store.database import Administration, Connection, Database, fetch
from idetic.store.templates import BoundStatement, named_query, raw

_FILE = "queries/keys.sql"


@dataclass(frozen=True, slots=True)
class ProvenKey:
    """What a key that holds stands for, and the newest version of its agent's spec."""

    agent: str
    version: int
    anchor: dict[str, Any]
    principal: Principal
    capabilities: frozenset[Capability] | None


@dataclass(frozen=True, slots=True)
class KeyStore:
    """The table of keys. Only `proven` runs as the application role."""

    database: Database
    administration: Administration

    async def proven(self, key_id: UUID, key_hash: bytes, at: datetime) -> ProvenKey | None:
        """What a key stands for, or None, whatever the reason."""
        given = {"id": key_id, "hash": key_hash, "at": at}
        asked = BoundStatement(named_query(_FILE, "authenticate"), given)
        for agent, version, anchor, *held in await self.database.run_all(None, [asked]):
            return ProvenKey(agent, version, anchor, *_holder(*held))
        return None

    async def create(
        self, made: CreatedKey, scope: Scope, *, at: datetime, by: str, expires_at: datetime | None
    ) -> None:
        """Store a new key by its hash."""
        only = scope.capabilities
        anchor = {k: str(v) if isinstance(v, UUID) else v for k, v in scope.anchor.items()}
        row = {
            "id": made.id,
            "agent": scope.agent,
            "anchor": Jsonb(anchor),
            "kind": scope.principal.kind.value,
            "name": scope.principal.name,
            "capabilities": None if only is None else sorted(each.value for each in only),
            "hash": hash_of(made.key),
            "at": at,
            "by": by,
            "expires_at": expires_at,
        }
        async with self._as_owner() as connection:
            await fetch(connection, _FILE, "create", **row)

    async def list(self, *, agent: str | None = None, key_id: UUID | None = None) -> list[ApiKey]:
        """What is known of keys, oldest first."""
        async with self._as_owner() as connection:
            rows = await fetch(connection, _FILE, "list", agent=agent, id=key_id)
        return [
            ApiKey(found, whose, anchor, *_holder(kind, name, only), *times)
            for found, whose, anchor, kind, name, only, *times in rows
        ]

    async def rotate(
        self,
        key_id: UUID,
        made: CreatedKey,
        *,
        at: datetime,
        by: str,
        until: datetime,
        expires_at: datetime | None,
    ) -> None:
        """Store a successor and let the old key end, both or neither."""
        given = {"id": key_id, "new": made.id, "hash": hash_of(made.key), "at": at, "by": by}
        given |= {"until": until, "expires_at": expires_at}
        async with self._as_owner() as connection:
            rows = await fetch(connection, _FILE, "hold", **given)
            if not rows:
                raise _missing()
            if rows[0] != (True,):
                raise TransitionRefused(
                    "The key is revoked, has expired or was rotated already.",
                    remedy="Rotate its successor, or create a new key.",
                )
            await fetch(connection, _FILE, "succeed", **given)
            await fetch(connection, _FILE, "end", **given)

    async def revoke(self, key_id: UUID, at: datetime) -> None:
        """End a key now."""
        query = raw(templates.query(_FILE, "revoke"))
        async with self._as_owner() as connection:
            cursor = await connection.execute(query, {"id": key_id, "at": at})
            if not cursor.rowcount:
                raise _missing()

    @asynccontextmanager
    async def _as_owner(self) -> AsyncIterator[Connection]:
        """A transaction as the owner of the keys' table, for logins that may become it."""
        try:
            async with self.administration.connection() as connection, connection.transaction():
                await fetch(connection, _FILE, "become_owner")
                yield connection
        except CapabilityRefused:
            raise CapabilityRefused(
                "This login may not manage keys.",
                remedy="Use an admin login that may become idetic_owner: "
                "`Idetic.open(dsn, admin_dsn=…)`, or IDETIC_ADMIN_DSN.",
            ) from None


def _missing() -> NotFound:
    """The error for an id that no key has."""
    return NotFound("There is no such key.", remedy="`idetic keys list` shows every key's id.")


def _holder(
    kind: str, name: str, stored: list[str] | None
) -> tuple[Principal, frozenset[Capability] | None]:
    """Whom a key stands for, without capabilities that this release does not know."""
    principal, known = Principal(PrincipalKind(kind), name), set(Capability)
    if stored is None:
        return principal, None
    return principal, frozenset(Capability(each) for each in stored if each in known)
