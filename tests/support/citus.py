"""A stand-in for Citus in a test's own database; see the SQL beside it for what it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from tests.conftest import TestDatabase

_SQL = Path(__file__).with_name("citus_stand_in.sql")


def stand_in(database: TestDatabase) -> None:
    """Make the database look as if it had Citus, to whoever asks its catalog."""
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(_SQL.read_text("utf-8").encode())


@contextmanager
def roles_kept(admin_dsn: str) -> Iterator[None]:
    """Distributing lets our roles log in, and they are the server's: afterwards they are as before.

    The owner would be above row-level security for every test that comes later.
    """
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        before = admin.execute(
            """SELECT rolname, concat_ws(' ',
                   CASE WHEN rolcanlogin THEN 'LOGIN' ELSE 'NOLOGIN' END,
                   CASE WHEN rolbypassrls THEN 'BYPASSRLS' ELSE 'NOBYPASSRLS' END)
               FROM pg_roles WHERE rolname LIKE 'idetic\\_%'"""
        ).fetchall()
        try:
            yield
        finally:
            for role, rights in before:
                named = sql.SQL("ALTER ROLE {} ").format(sql.Identifier(role))
                admin.execute(named + sql.SQL(rights))


def placed(database: TestDatabase) -> list[tuple[str, str | None, int]]:
    """What was placed, in order: the table, by which column, in which group."""
    with psycopg.connect(database.admin_dsn) as connection:
        return connection.execute(
            "SELECT logicalrelid::text, partkey, colocationid FROM pg_dist_partition ORDER BY nth"
        ).fetchall()
