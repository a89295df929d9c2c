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
from idetic.store.database import Administration, Connection, Database
from idetic.store.statement import BoundStatement, named_query
from idetic.store.templates import raw

_FILE = "queries/keys.sql"


@dataclass(frozen=True, slots=True)
class Proven:
    """What a key that holds stands for, and the newest version of its agent's spec."""

    agent: str
    version: int
    anchor: dict[str, Any]
    principal: Principal
    capabilities: frozenset[Capability] | None


class KeyStore:
    """The table of keys. Only `proven` runs as the application role."""

    def __init__(self, database: Database, administration: Administration):
        self._database = database
        self._administration = administration

    async def proven(self, key_id: UUID, key_hash: bytes, at: datetime) -> Proven | None:
        """What a key stands for, or None, whatever the reason."""
        given = {"id": key_id, "hash": key_hash, "at": at}
        asked = BoundStatement(named_query(_FILE, "authenticate"), given)
        rows = await self._database.run_all(None, [asked])
        if not rows:
            return None
        agent, version, anchor, kind, name, capabilities = rows[0]
        principal = Principal(PrincipalKind(kind), name)
        return Proven(agent, version, anchor, principal, _capabilities(capabilities))

    async def create(
        self, made: CreatedKey, scope: Scope, *, at: datetime, by: str, expires_at: datetime | None
    ) -> None:
        """Store a new key by its hash."""
        only = scope.capabilities
        row = {
            "id": made.id,
            "agent": scope.agent,
            "anchor": Jsonb({key: _plain(value) for key, value in scope.anchor.items()}),
            "kind": scope.principal.kind.value,
            "name": scope.principal.name,
            "capabilities": None if only is None else sorted(each.value for each in only),
            "hash": hash_of(made.key),
            "at": at,
            "by": by,
            "expires_at": expires_at,
        }
        async with self._as_owner() as connection:
            await connection.execute(_query("create"), row)

    async def list(self, *, agent: str | None = None, key_id: UUID | None = None) -> list[ApiKey]:
        """What is known of keys, oldest first."""
        async with self._as_owner() as connection:
            cursor = await connection.execute(_query("list"), {"agent": agent, "id": key_id})
            return [_api_key(row) for row in await cursor.fetchall()]

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
            cursor = await connection.execute(_query("hold"), given)
            row = await cursor.fetchone()
            if row is None:
                raise _missing()
            if not row[0]:
                raise TransitionRefused(
                    "The key is revoked, has expired or was rotated already.",
                    remedy="Rotate its successor, or create a new key.",
                )
            await connection.execute(_query("succeed"), given)
            await connection.execute(_query("end"), given)

    async def revoke(self, key_id: UUID, at: datetime) -> None:
        """End a key now."""
        async with self._as_owner() as connection:
            cursor = await connection.execute(_query("revoke"), {"id": key_id, "at": at})
            if not cursor.rowcount:
                raise _missing()

    @asynccontextmanager
    async def _as_owner(self) -> AsyncIterator[Connection]:
        try:
            async with self._administration.connection() as connection, connection.transaction():
                await connection.execute(_query("become_owner"))
                yield connection
        except CapabilityRefused:
            raise CapabilityRefused(
                "This login may not manage keys.",
                remedy="Use an admin login that may become idetic_owner: "
                "`Idetic.open(dsn, admin_dsn=…)`, or IDETIC_ADMIN_DSN.",
            ) from None


def _query(title: str) -> Any:
    return raw(templates.query(_FILE, title))


def _missing() -> NotFound:
    return NotFound("There is no such key.", remedy="`idetic keys list` shows every key's id.")


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def _capabilities(stored: list[str] | None) -> frozenset[Capability] | None:
    """What is stored, without words that this release does not know: it can only be less."""
    known = set(Capability)
    return None if stored is None else frozenset(Capability(s) for s in stored if s in known)


def _api_key(row: tuple[Any, ...]) -> ApiKey:
    key_id, agent, anchor, kind, name, capabilities, *times = row
    principal = Principal(PrincipalKind(kind), name)
    return ApiKey(key_id, agent, anchor, principal, _capabilities(capabilities), *times)
