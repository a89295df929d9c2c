"""Databases for tests that need more, or fewer, than one each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg import sql

from idetic import Idetic
from idetic.embed.port import Embedder
from idetic.ids import Clock
from idetic.recall.embedding import Model
from idetic.store.database import APP_ROLE
from tests.conftest import TestDatabase
from tests.support.servers import TestServer


@contextmanager
def copy_of(server: TestServer, template: str) -> Iterator[TestDatabase]:
    """A copy of a prepared database, dropped at the end; for fixtures of any scope."""
    name = f"test_{uuid4().hex}"
    server.copy(template, name)
    try:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            # A copy does not take over what was granted on the database itself.
            grant = sql.SQL("GRANT CREATE ON DATABASE {} TO idetic_owner")
            connection.execute(grant.format(sql.Identifier(name)))
        yield TestDatabase(server.dsn(user=APP_ROLE, dbname=name), server.dsn(dbname=name))
    finally:
        server.drop(name)


def view_of(db: Idetic, clock: Clock | None = None, embedder: Embedder | None = None) -> Idetic:
    """An open database under another clock, or with another model; closing it does nothing."""
    view = db.under(clock or db.clock)
    view.model = Model(embedder)
    return view


def row_counts_on(connection: psycopg.Connection, schema: str) -> dict[str, int]:
    """How many rows of each table the connection's role can see."""
    found = connection.execute(
        """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname = %s AND c.relkind IN ('r', 'p') ORDER BY 1""",
        (schema,),
    )
    names = [name for (name,) in found.fetchall()]
    counts = sql.SQL(", ").join(
        sql.SQL("(SELECT count(*) FROM {})").format(sql.Identifier(schema, name)) for name in names
    )
    row = connection.execute(sql.SQL("SELECT {}").format(counts)).fetchone()
    assert row is not None
    return dict(zip(names, row, strict=True))


def row_counts(dsn: str, schema: str) -> dict[str, int]:
    """The same on a connection of its own."""
    with psycopg.connect(dsn) as connection:
        return row_counts_on(connection, schema)


def every_row_count(dsn: str) -> dict[str, int]:
    """How many rows each table of a database holds, whatever schema it is in."""
    with psycopg.connect(dsn) as connection:
        schemas = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"
        ).fetchall()
        return {
            f"{schema}.{table}": count
            for (schema,) in schemas
            for table, count in (
                row_counts_on(connection, schema) if _has_tables(connection, schema) else {}
            ).items()
        }


def _has_tables(connection: psycopg.Connection, schema: str) -> bool:
    found = connection.execute("SELECT FROM pg_tables WHERE schemaname = %s LIMIT 1", (schema,))
    return found.fetchone() is not None
