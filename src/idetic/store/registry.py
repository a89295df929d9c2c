"""The registry of specs: what this database holds, version by version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idetic.spec.memory_spec import MemorySpec
from idetic.store.apply import apply_spec
from idetic.store.database import Administration, Database
from idetic.store.plan import Context, Plan, make_plan


@dataclass(frozen=True, slots=True)
class SpecVersion:
    """One stored version of an agent's spec."""

    agent: str
    version: int
    digest: str
    spec: dict[str, Any]
    applied_at: datetime
    applied_by: str


class Registry:
    """Stored specs, and the way a spec becomes a schema."""

    def __init__(
        self, database: Database, administration: Administration, contexts: Sequence[Context]
    ):
        self._database = database
        self._administration = administration
        self._contexts = contexts

    async def plan(self, spec: MemorySpec) -> Plan:
        """What applying would change. Reads only, as the application role."""
        async with self._database.reading() as connection:
            return await make_plan(connection, spec, self._contexts)

    async def apply(self, spec: MemorySpec, *, by: str, at: datetime, empty: bool = False) -> Plan:
        """Apply with the admin login's rights."""
        async with self._administration.connection() as connection:
            return await apply_spec(connection, spec, self._contexts, by=by, at=at, empty=empty)

    async def versions(self, agent: str | None = None) -> list[SpecVersion]:
        """Every stored version, oldest first, of one agent or of all."""
        async with self._database.reading() as connection:
            cursor = await connection.execute(
                """SELECT agent, version, digest, spec, applied_at, applied_by
                   FROM idetic.spec_versions WHERE %(agent)s::text IS NULL OR agent = %(agent)s
                   ORDER BY agent, version""",
                {"agent": agent},
            )
            return [SpecVersion(*row) for row in await cursor.fetchall()]
