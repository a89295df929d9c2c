"""A stand-in for Citus in a test's own database; see the SQL beside it for what it is not."""

from __future__ import annotations

from pathlib import Path

import psycopg

from tests.conftest import TestDatabase

_SQL = Path(__file__).with_name("citus_stand_in.sql")


def stand_in(database: TestDatabase) -> None:
    """Make the database look as if it had Citus, to whoever asks its catalog."""
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(_SQL.read_text("utf-8").encode())


def placed(database: TestDatabase) -> list[tuple[str, str | None, int]]:
    """What was placed, in order: the table, by which column, in which group."""
    with psycopg.connect(database.admin_dsn) as connection:
        return connection.execute(
            "SELECT logicalrelid::text, partkey, colocationid FROM pg_dist_partition ORDER BY nth"
        ).fetchall()
