"""Who may do what in the database: the application, the auditor, and anybody else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql
from psycopg.types.json import Jsonb

from idetic.spec.loader import load
from idetic.store.family import Family
from tests.support.catalog import functions_of, relations_of, shipped_schemas
from tests.support.scoped import bind, set_local
from tests.support.tenants import Populated, family_tables, under

# --- the application role ---------------------------------------------------------------------


def test_the_application_role_owns_nothing_and_bypasses_nothing(guarded: Populated) -> None:
    with guarded.app() as connection:
        role = connection.execute(
            """SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication
               FROM pg_roles WHERE rolname = current_user"""
        ).fetchone()
        owned = connection.execute(
            """SELECT (SELECT count(*) FROM pg_class WHERE relowner = 'idetic_app'::regrole)
                    + (SELECT count(*) FROM pg_proc WHERE proowner = 'idetic_app'::regrole)
                    + (SELECT count(*) FROM pg_namespace WHERE nspowner = 'idetic_app'::regrole)
                    + (SELECT count(*) FROM pg_type WHERE typowner = 'idetic_app'::regrole)"""
        ).fetchone()
        powers = connection.execute(
            """SELECT count(*) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
               WHERE m.member = 'idetic_app'::regrole
                 AND (r.rolsuper OR r.rolbypassrls
                      OR r.rolname IN ('idetic_owner', 'idetic_guard', 'idetic_keys'))"""
        ).fetchone()
    assert role == ("idetic_app", False, False, False, False, False)
    assert owned == (0,)
    assert powers == (0,), "no membership leads to the owner or past row-level security"


def test_the_application_role_can_neither_delete_nor_truncate(
    guarded: Populated, name: str
) -> None:
    mine, _ = guarded.tenants[name]
    schema = mine.family.schema
    with guarded.admin() as admin, guarded.app(name) as connection:
        bind(connection, mine.scope)
        for table in family_tables(admin, mine):
            for statement in ("DELETE FROM {}", "TRUNCATE {}", "TRUNCATE {} CASCADE"):
                with pytest.raises(pg.InsufficientPrivilege), connection.transaction():
                    connection.execute(sql.SQL(statement).format(sql.Identifier(schema, table)))


@pytest.mark.parametrize("column", ["body_text", "envelope", "trust", "origin", "spec_version"])
def test_the_application_role_cannot_rewrite_what_an_entry_says(
    guarded: Populated, name: str, column: str
) -> None:
    mine, _ = guarded.tenants[name]
    memory = mine.family.qualified(mine.family.table_name("memory"))
    statement = sql.SQL("UPDATE {} SET {} = {}")
    with guarded.app(name) as connection:
        bind(connection, mine.scope)
        of = sql.Identifier(column)
        with pytest.raises(pg.InsufficientPrivilege), connection.transaction():
            connection.execute(statement.format(memory, of, of))
        exempted = connection.execute(
            statement.format(memory, sql.Identifier("exempt_at"), sql.SQL("now()"))
        )
        assert exempted.rowcount > 0, "control: a state column can be set"
        connection.rollback()


def test_the_application_role_cannot_copy_rows_in(guarded: Populated, name: str) -> None:
    mine, _ = guarded.tenants[name]
    with guarded.admin() as admin, guarded.app(name) as connection:
        bind(connection, mine.scope)
        for table in family_tables(admin, mine):
            copy = sql.SQL("COPY {} FROM STDIN").format(mine.family.qualified(table))
            with (
                pytest.raises((pg.FeatureNotSupported, pg.InsufficientPrivilege)),
                connection.transaction(),
                connection.cursor().copy(copy),
            ):
                pass


def test_a_row_of_another_tenant_cannot_be_inserted(guarded: Populated, name: str) -> None:
    """The same row, offered under one's own scope and, as a control, under its own."""
    mine, theirs = guarded.tenants[name]
    with guarded.admin() as admin, guarded.app(name) as connection:
        for table in family_tables(admin, mine):
            named = mine.family.qualified(table)
            where = sql.SQL("t.{} = {}").format(
                sql.Identifier(theirs.spec.anchor.tenant.name), sql.Literal(theirs.scope.tenant)
            )
            row = admin.execute(
                sql.SQL("SELECT to_jsonb(t)::text FROM {} t WHERE {} LIMIT 1").format(named, where)
            ).fetchone()
            assert row, table
            insert = sql.SQL(
                "INSERT INTO {} SELECT * FROM jsonb_populate_record(NULL::{}, {})"
            ).format(named, named, sql.Literal(row[0]))
            # The guard's prints are written by the guard alone, notes by the other persona, the
            # word index by the keeper's functions.
            hints = table.endswith(("_prints", "_notes", "_segments", "_words"))
            why = "permission denied" if hints else "row-level security"
            with pytest.raises(pg.InsufficientPrivilege, match=why):
                under(connection, mine.scope, insert)
            with pytest.raises(pg.InsufficientPrivilege if hints else pg.UniqueViolation):
                under(connection, theirs.scope, insert)


def test_nor_can_one_of_another_anchor_of_the_same_tenant(guarded: Populated, name: str) -> None:
    """One's own row under another anchor's id; as a control, with that id bound."""
    mine, _ = guarded.tenants[name]
    tried, other = 0, str(uuid4())
    own = sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE t.anchor_id = {} LIMIT 1")
    made = sql.SQL("INSERT INTO {} SELECT * FROM jsonb_populate_record(NULL::{}, {})")
    with guarded.admin() as admin, guarded.app(name) as connection:
        for table in family_tables(admin, mine):
            named = mine.family.qualified(table)
            if table.endswith(("_prints", "_profiles", "_notes", "_segments", "_words")):
                continue  # They are the tenant's, or another role's to write.
            tried += 1
            row = admin.execute(own.format(named, mine.key["anchor_id"])).fetchone()
            assert row, table
            insert = made.format(named, named, Jsonb(row[0] | {"anchor_id": other}))
            with pytest.raises(pg.InsufficientPrivilege, match="row-level security"):
                under(connection, mine.scope, insert)
            bind(connection, mine.scope)
            set_local(connection, "idetic.anchor", other)
            # The policy lets it by; what it points at is not there, or its keys are taken.
            with suppress(pg.ForeignKeyViolation, pg.UniqueViolation):
                assert connection.execute(insert).rowcount == 1
            connection.rollback()
    assert tried > 8


# --- other roles -----------------------------------------------------------------------------


@pytest.fixture
def outsider(guarded: Populated) -> Iterator[str]:
    """A role of another context: it exists in the cluster and was granted nothing."""
    role = f"outsider_{uuid4().hex[:12]}"
    with guarded.admin() as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
    yield role
    with guarded.admin() as connection:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.mark.parametrize("schema", sorted(shipped_schemas() | {"idetic"}))
def test_a_role_outside_the_agents_context_reaches_nothing(
    guarded: Populated, outsider: str, schema: str
) -> None:
    with guarded.admin() as connection:
        attempts: list[sql.SQL | sql.Composed] = [
            sql.SQL("SELECT FROM {} LIMIT 1").format(sql.Identifier(schema, relation))
            for relation in relations_of(connection, schema)
        ]
        relations = len(attempts)
        attempts += [sql.SQL(f.call) for f in functions_of(connection, schema)]
        assert 0 < relations < len(attempts), "tables and functions"
        connection.commit()
        for statement in attempts:
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(outsider)))
            with pytest.raises(pg.InsufficientPrivilege):
                connection.execute(statement)
            connection.rollback()


_GRANTS = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY (%(schemas)s) AND c.relkind IN ('r', 'p', 'v', 'm')
  AND (has_table_privilege(%(role)s, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
       OR has_any_column_privilege(%(role)s, c.oid, 'SELECT, INSERT, UPDATE'))
UNION SELECT n.nspname FROM pg_namespace n
WHERE n.nspname = ANY (%(schemas)s) AND has_schema_privilege(%(role)s, n.oid, 'USAGE, CREATE')
UNION SELECT r.rolname FROM pg_roles r
WHERE r.rolname LIKE 'idetic%%' AND pg_has_role(%(role)s, r.oid, 'MEMBER')
"""


def test_a_role_outside_the_agents_context_has_no_grant_at_all(
    guarded: Populated, outsider: str
) -> None:
    schemas = sorted(shipped_schemas() | {"idetic", "idetic_jobs"})
    asked = {"schemas": schemas, "role": outsider}
    with guarded.admin() as connection:
        assert connection.execute(_GRANTS, asked).fetchall() == []
        connection.execute(
            sql.SQL("GRANT SELECT (key_id) ON idetic.api_keys TO {}").format(
                sql.Identifier(outsider)
            )
        )
        found = connection.execute(_GRANTS, asked).fetchall()
        assert found == [("idetic.api_keys",)], "control: a single column's grant is seen"
        connection.rollback()


def test_definer_functions_are_not_for_everyone_and_fix_their_search_path(
    guarded: Populated,
) -> None:
    found = []
    with guarded.admin() as connection:
        for schema in shipped_schemas() | {"idetic"}:
            found += [f for f in functions_of(connection, schema) if f.security_definer]
    assert found, "the shadow guard is one"
    for function in found:
        assert not function.public_may_execute, function.name
        assert any(s.startswith("search_path=pg_catalog") for s in function.settings), function.name
        assert function.owner not in ("postgres", "idetic_app"), function.name


def test_public_may_execute_nothing_of_ours(guarded: Populated) -> None:
    """Definer or not: whoever may call a function is named."""
    schemas = shipped_schemas()
    ours = ["idetic", "idetic_jobs", "idetic_actor", "idetic_subconscious", *schemas]
    with psycopg.connect(guarded.database.admin_dsn) as connection:
        assert open_to_all(connection, ours) == []
        # The control: a function as PostgreSQL makes it.
        connection.execute("CREATE FUNCTION worlds.anybody() RETURNS int RETURN 1")
        assert open_to_all(connection, ours) == ["worlds.anybody()"]
        connection.rollback()


def open_to_all(connection: psycopg.Connection[Any], schemas: Sequence[str]) -> list[str]:
    found = connection.execute(
        """SELECT p.oid::regprocedure::text FROM pg_proc p
           JOIN pg_namespace n ON n.oid = p.pronamespace
           WHERE n.nspname = ANY (%s) AND EXISTS (
               SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
               WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE') ORDER BY 1""",
        (list(schemas),),
    )
    return [name for (name,) in found.fetchall()]


def test_views_run_with_the_readers_rights(guarded: Populated, name: str) -> None:
    with guarded.admin() as connection:
        views = connection.execute(
            """SELECT c.relname, coalesce(c.reloptions, '{}') FROM pg_class c
               JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = %s AND c.relkind = 'v'""",
            (Family(load(name)).schema,),
        ).fetchall()
    assert views
    for view, options in views:
        assert "security_invoker=true" in options, view


def test_the_auditor_reads_one_tenant_and_writes_nothing(guarded: Populated, name: str) -> None:
    mine, _ = guarded.tenants[name]
    schema = mine.family.schema
    with guarded.admin() as admin:
        tables = family_tables(admin, mine)
        admin.commit()
        for table in tables:
            admin.execute("SET LOCAL ROLE idetic_auditor")
            bind(admin, mine.scope)
            seen = sql.SQL("SELECT DISTINCT {} FROM {}").format(
                sql.Identifier(mine.spec.anchor.tenant.name), sql.Identifier(schema, table)
            )
            assert admin.execute(seen).fetchall() == [(mine.scope.tenant,)], table
            with pytest.raises(pg.InsufficientPrivilege):
                admin.execute(sql.SQL("INSERT INTO {} DEFAULT VALUES").format(
                    sql.Identifier(schema, table)
                ))  # fmt: skip
            admin.rollback()
