"""A database that the application reaches through PgBouncer, and what stays on its connections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

import idetic
from idetic.store.database import APP_ROLE
from tests.conftest import TestDatabase
from tests.support.pgbouncer import Pooler, pgbouncer
from tests.support.servers import TestServer

# Every setting of ours that anything in the package reads; the catalog does not list them.
_OURS = sorted(
    {
        name
        for path in Path(idetic.__path__[0]).rglob("*")
        if path.suffix in (".py", ".sql")
        for name in re.findall(r"current_setting\('(idetic\.\w+)'", path.read_text("utf-8"))
    }
)
# What outlives a transaction: the role, settings, locks and temporary tables. A setting that was
# once set and taken back reads '' and not NULL. Those that are named here PgBouncer itself keeps
# apart for its clients. Prepared statements are not asked for: a name that is the hash of its text
# means the same to everybody.
_REMAINS = """
SELECT nullif(current_setting('role'), 'none') AS role,
    (SELECT string_agg(name, ', ') FROM unnest(%s::text[]) AS name
     WHERE current_setting(name, true) <> '') AS ours,
    (SELECT string_agg(name, ', ') FROM pg_settings
     WHERE source = 'session' AND setting IS DISTINCT FROM reset_val AND name NOT IN (
        'application_name', 'client_encoding', 'DateStyle', 'TimeZone',
        'standard_conforming_strings')) AS settings,
    (SELECT string_agg(objid::text, ', ') FROM pg_locks
     WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
    (SELECT string_agg(relname, ', ') FROM pg_class
     WHERE relnamespace = pg_my_temp_schema()) AS tables
"""


@dataclass(frozen=True)
class PooledDatabase:
    """A database, with the address that the application has of it, and the pooler there."""

    database: TestDatabase
    pooler: Pooler

    @property
    def name(self) -> str:
        return str(conninfo_to_dict(self.database.dsn)["dbname"])

    def remains(self) -> dict[str, Any]:
        """What others have left on the server connection that is lent next."""
        assert "idetic.scope" in _OURS
        with psycopg.connect(self.database.dsn, autocommit=True, row_factory=dict_row) as client:
            found = client.execute(_REMAINS, (_OURS,)).fetchone()
        assert found is not None
        return {what: left for what, left in found.items() if left is not None}


@contextmanager
def pooled(
    server: TestServer, database: TestDatabase, connections: int, login: str = APP_ROLE
) -> Iterator[PooledDatabase]:
    """Put a PgBouncer with so many server connections in front of a database."""
    name = str(conninfo_to_dict(database.admin_dsn)["dbname"])
    with pgbouncer(server, connections=connections, logins=[login]) as pooler:
        through = TestDatabase(pooler.dsn(user=login, dbname=name), database.admin_dsn)
        yield PooledDatabase(through, pooler)
