"""The server's catalogs: what they say about our database's health, and whom they tell.

PostgreSQL tells everybody how large a table is, how many rows it has and how often it is written
to. For two personas of which one must not even infer that the other remembers something, that is
closed: to PUBLIC, in this database, so that monitoring needs the role `pg_monitor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from idetic.spec.memory_spec import MemorySpec
from idetic.store.database import Connection, Database, fetch
from idetic.store.driver import Rows, privilege_needed
from idetic.store.family import families
from idetic.store.templates import BoundStatement, named_query, raw

_FILE = "queries/catalog.sql"
ROLES = [
    *("idetic_owner", "idetic_app", "idetic_guard", "idetic_curator", "idetic_auditor"),
    *("idetic_keeper", "idetic_worker", "idetic_keys", "idetic_mover", "idetic_actor"),
    *("idetic_subconscious", "idetic_steward"),
]


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


async def server_facts(database: Database, specs: list[MemorySpec]) -> ServerFacts:
    """Ask the catalog; nothing of any tenant is read."""

    async def ask(query: str, **values: Any) -> Rows:
        """The rows of one query of the health file, as the application's role sees them."""
        bound = BoundStatement(named_query("queries/health.sql", query), values)
        return await database.run_all(None, [bound])

    made = [family for spec in specs for family in families(spec)]
    tables = [f"{family.schema}.{table}" for family in made for table in family.tables()]
    ((version, bypasses, role),) = await ask("server")
    return ServerFacts(
        version=version,
        role=role,
        bypasses=bypasses,
        extensions=dict(await ask("extensions")),
        bad_roles=[row[0] for row in await ask("roles", roles=ROLES)],
        unsecured=[row[0] for row in await ask("unsecured", tables=tables)],
        missing=[row[0] for row in await ask("missing", tables=tables)],
        core=(await ask("core"))[0][0],
        families=dict(await ask("families")),
    )


async def open_ways(connection: Connection) -> list[str]:
    """By which functions and columns any role can tell how large a table is."""
    functions, columns, _ = await _telling(connection)
    return [*functions, *(f"pg_class.{column}" for column in columns)]


async def close_catalog(connection: Connection) -> list[str]:
    """Close them all; what was open. Twice is once."""
    async with connection.transaction():
        functions, columns, others = await _telling(connection)
        changes = [
            f"{change} {function} {whom}"
            for function in functions
            for change, whom in (
                ("REVOKE EXECUTE ON FUNCTION", "FROM PUBLIC"),
                ("GRANT EXECUTE ON FUNCTION", "TO pg_monitor"),
            )
        ]
        if columns:
            changes += [
                "REVOKE SELECT ON pg_catalog.pg_class FROM PUBLIC",
                f"GRANT SELECT ({', '.join(others)}) ON pg_catalog.pg_class TO PUBLIC",
                "GRANT SELECT ON pg_catalog.pg_class TO pg_monitor",
            ]
        with privilege_needed(
            "This login may not close the catalogs.",
            "Only a superuser may: give its address as IDETIC_ADMIN_DSN. Nothing was changed.",
        ):
            for change in changes:
                await connection.execute(raw(change))
    return [*functions, *(f"pg_class.{column}" for column in columns)]


async def _telling(connection: Connection) -> tuple[list[str], list[str], list[str]]:
    """The functions that tell any role, the columns that do, and the columns that do not."""
    functions = [name for (name,) in await fetch(connection, _FILE, "telling")]
    ((columns, others),) = await fetch(connection, _FILE, "shown") or [([], [])]
    return functions, columns, others
