"""A stand-in for Citus in a test's own database; see the SQL beside it for what it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.conftest import TestDatabase
from tests.support.servers import TestServer

_SQL = Path(__file__).with_name("citus_stand_in.sql")


def stand_in(database: TestDatabase, *workers: str) -> None:
    """Make the database look as if it had Citus, to whoever asks its catalog.

    `workers` are the names of databases that play them; `play` makes each, after distributing.
    """
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(_SQL.read_text("utf-8").encode())
        if workers:
            connection.execute("CREATE EXTENSION dblink SCHEMA public")
            node = "INSERT INTO pg_dist_node VALUES (%s, %s, %s, 5432, %s)"
            connection.execute(node, (1, 0, "coordinator", None))
            for n, name in enumerate(workers, start=1):
                path = "-csearch_path=stand_in,pg_catalog,public"
                where = make_conninfo(database.admin_dsn, dbname=name, options=path)
                connection.execute(node, (n + 1, n, f"worker-{n}", where))


def play(server: TestServer, database: TestDatabase, *workers: str) -> list[TestDatabase]:
    """Make the databases that play workers: copies, each with its own place in the cluster."""
    source = str(conninfo_to_dict(database.admin_dsn)["dbname"])
    made = []
    for n, name in enumerate(workers, start=1):
        server.copy(source, name)
        admin = make_conninfo(database.admin_dsn, dbname=name)
        with psycopg.connect(admin) as connection:
            connection.execute("UPDATE pg_dist_local_group SET groupid = %s", (n,))
        made.append(TestDatabase(make_conninfo(database.dsn, dbname=name), admin))
    return made


def on_every_node(database: TestDatabase, query: str) -> list[str]:
    """What each node of a cluster answers, in one value; a plain server answers alone."""
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        citus = connection.execute("SELECT FROM pg_extension WHERE extname = 'citus'").fetchone()
        if citus is None:
            return [str(row[0]) for row in connection.execute(query.encode())]
        everywhere = "SELECT success, result FROM run_command_on_all_nodes(%s)"
        answers = connection.execute(everywhere, (query,)).fetchall()
        assert all(success for success, _ in answers), answers
        return [result for _, result in answers]


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
