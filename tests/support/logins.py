"""Logins of a test's own, with the rights that it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.conftest import TestDatabase

# As the remedy for a login that is refused says it.
PROGRAM = "IN ROLE idetic_app"


@contextmanager
def login(database: TestDatabase, rights: LiteralString = PROGRAM) -> Iterator[tuple[str, str]]:
    """A login for as long as the block runs: its name, and its DSN."""
    name, password = f"login_{uuid4().hex[:12]}", uuid4().hex
    made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} ").format(sql.Identifier(name), password)
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute(made + sql.SQL(rights))
        try:
            yield name, make_conninfo(database.dsn, user=name, password=password)
        finally:
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))
