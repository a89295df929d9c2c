"""What a database says about itself when somebody asks how it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from idetic.spec.memory_spec import MemorySpec
from idetic.store.database import Database
from idetic.store.family import families
from idetic.store.pipeline import Rows
from idetic.store.statement import BoundStatement, named_query

_PATH = "queries/health.sql"
ROLES = ("idetic_owner", "idetic_app", "idetic_guard", "idetic_curator", "idetic_auditor",
         "idetic_keeper", "idetic_worker", "idetic_keys", "idetic_mover", "idetic_actor",
         "idetic_subconscious", "idetic_steward")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server, the extensions, and what is wrong with roles and tables."""

    version: str
    role: str
    bypasses: bool
    extensions: dict[str, str]
    bad_roles: list[str]
    unsecured: list[str]
    missing: list[str]
    core: int
    families: dict[str, int]


async def facts(database: Database, specs: list[MemorySpec]) -> ServerFacts:
    """Ask the catalog; nothing of any tenant is read."""
    made = [family for spec in specs for family in families(spec)]
    tables = [f"{family.schema}.{table}" for family in made for table in family.tables()]
    ((version, bypasses, role),) = await _rows(database, "server")
    return ServerFacts(
        version=version,
        role=role,
        bypasses=bypasses,
        extensions=dict(await _rows(database, "extensions")),
        bad_roles=[row[0] for row in await _rows(database, "roles", roles=list(ROLES))],
        unsecured=[row[0] for row in await _rows(database, "unsecured", tables=tables)],
        missing=[row[0] for row in await _rows(database, "missing", tables=tables)],
        core=(await _rows(database, "core"))[0][0],
        families=dict(await _rows(database, "families")),
    )


async def _rows(database: Database, query: str, **values: Any) -> Rows:
    return await database.run_all(None, [BoundStatement(named_query(_PATH, query), values)])
