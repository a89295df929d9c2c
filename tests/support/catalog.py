"""What the database itself says about its tables, so that no list of them can go stale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row

from idetic.spec.loader import load, shipped
from idetic.store.family import families


@dataclass(frozen=True)
class Table:
    """One table and what guards it."""

    name: str
    columns: list[str]
    primary_key: list[str] | None
    unique_keys: list[list[str]]
    foreign_keys: list[list[str]]
    fk_on_delete: list[str]
    fk_on_update: list[str]
    fk_deferrable: bool
    rls: bool
    rls_forced: bool
    app_policies: int
    app_updates: bool
    insert_only: bool


_TABLES = """
WITH columns AS (
    SELECT a.attrelid, a.attnum, a.attname::text AS name FROM pg_attribute a
    WHERE a.attnum > 0 AND NOT a.attisdropped)
SELECT c.relname AS name,
    ARRAY(SELECT k.name FROM columns k WHERE k.attrelid = c.oid ORDER BY k.attnum) AS columns,
    (SELECT ARRAY(SELECT k.name FROM unnest(i.indkey::int[]) WITH ORDINALITY u(n, o)
                  JOIN columns k ON k.attrelid = c.oid AND k.attnum = u.n ORDER BY o)
     FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS primary_key,
    ARRAY(SELECT to_json(ARRAY(
              SELECT k.name FROM unnest(i.indkey::int[]) WITH ORDINALITY u(n, o)
              JOIN columns k ON k.attrelid = c.oid AND k.attnum = u.n ORDER BY o))
          FROM pg_index i WHERE i.indrelid = c.oid AND (i.indisunique OR i.indisexclusion)
    ) AS unique_keys,
    ARRAY(SELECT to_json(ARRAY(
              SELECT k.name FROM unnest(f.conkey) WITH ORDINALITY u(n, o)
              JOIN columns k ON k.attrelid = c.oid AND k.attnum = u.n ORDER BY o))
          FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f') AS foreign_keys,
    ARRAY(SELECT f.confdeltype::text FROM pg_constraint f
          WHERE f.conrelid = c.oid AND f.contype = 'f') AS fk_on_delete,
    ARRAY(SELECT f.confupdtype::text FROM pg_constraint f
          WHERE f.conrelid = c.oid AND f.contype = 'f') AS fk_on_update,
    EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.condeferrable)
        AS fk_deferrable,
    c.relrowsecurity AS rls,
    c.relforcerowsecurity AS rls_forced,
    (SELECT count(*) FROM pg_policy p
     WHERE p.polrelid = c.oid AND w.role::regrole = ANY (p.polroles))::int AS app_policies,
    has_any_column_privilege(w.role, c.oid, 'UPDATE') AS app_updates,
    has_table_privilege(w.role, c.oid, 'INSERT')
        AND NOT has_any_column_privilege(w.role, c.oid, 'UPDATE') AS insert_only
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
-- The role that works there: a persona's schema is called after it.
CROSS JOIN LATERAL (SELECT CASE WHEN n.nspname ~ '^persona_'
    THEN 'idetic_' || substr(n.nspname, 9) ELSE 'idetic_app' END AS role) w
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') ORDER BY 1
"""


def tables_of(connection: psycopg.Connection[Any], schema: str) -> list[Table]:
    """Every table of a schema."""
    with connection.cursor(row_factory=class_row(Table)) as cursor:
        return cursor.execute(_TABLES, (schema,)).fetchall()


@dataclass(frozen=True)
class Function:
    """One function, with the arguments a call of it would need, all NULL."""

    name: str
    call: str
    security_definer: bool
    public_may_execute: bool
    settings: list[str]
    owner: str


_FUNCTIONS = """
SELECT p.proname AS name,
    format('SELECT %%I.%%I(%%s)', n.nspname, p.proname,
        (SELECT string_agg('NULL::' || format_type(t, NULL), ', ' ORDER BY o)
         FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY u(t, o))) AS call,
    p.prosecdef AS security_definer,
    EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE') AS public_may_execute,
    coalesce(p.proconfig, '{}') AS settings,
    pg_get_userbyid(p.proowner) AS owner
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = %s ORDER BY 1
"""


def functions_of(connection: psycopg.Connection[Any], schema: str) -> list[Function]:
    """Every function of a schema."""
    with connection.cursor(row_factory=class_row(Function)) as cursor:
        return cursor.execute(_FUNCTIONS, (schema,)).fetchall()


def relations_of(connection: psycopg.Connection[Any], schema: str) -> Iterator[str]:
    """Every table and view of a schema, by name."""
    cursor = connection.execute(
        """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
-- The role that works there: a persona's schema is called after it.
CROSS JOIN LATERAL (SELECT CASE WHEN n.nspname ~ '^persona_'
    THEN 'idetic_' || substr(n.nspname, 9) ELSE 'idetic_app' END AS role) w
           WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY 1""",
        (schema,),
    )
    yield from (name for (name,) in cursor.fetchall())


def shipped_schemas() -> set[str]:
    """The schemas of the families of all shipped agents."""
    return {family.schema for name in shipped() for family in families(load(name))}
