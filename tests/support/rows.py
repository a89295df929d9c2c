"""Made-up rows, for tables of any shape.

A table without rows would make every probe of it idle, also one that was added today.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from tests.support.triggers import with_triggers, without_triggers


def ensure_row(
    connection: psycopg.Connection,
    schema: str,
    table: str,
    where: Mapping[str, Any],
    known: Mapping[str, Any],
) -> None:
    """See to it that a table has a row that fits `where`; `known` gives values by column."""
    named = sql.Identifier(schema, table)
    fits = [sql.SQL("{} = {}").format(sql.Identifier(c), sql.Literal(v)) for c, v in where.items()]
    held = sql.SQL("SELECT EXISTS (SELECT 1 FROM {} WHERE {})").format(
        named, sql.SQL(" AND ").join([*fits, sql.SQL("true")])
    )
    if connection.execute(held).fetchone() == (True,):
        return
    row = _made_up(connection, f"{schema}.{table}", {**known, **where})
    # Made-up rows point nowhere: without triggers there are no foreign keys either.
    without_triggers(connection)
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            named,
            sql.SQL(", ").join(map(sql.Identifier, row)),
            sql.SQL(", ").join(row.values()),
        )
    )
    with_triggers(connection)


def _made_up(
    connection: psycopg.Connection, table: str, known: Mapping[str, Any]
) -> dict[str, sql.Composable]:
    columns = connection.execute(
        """SELECT a.attname, format_type(a.atttypid, a.atttypmod),
                  coalesce(nullif(t.typbasetype, 0), t.oid)::regtype::text, t.typtype = 'e'
           FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
           WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
             AND a.attnotnull AND NOT a.atthasdef""",
        (table,),
    ).fetchall()
    return {
        name: sql.Literal(known[name]) if name in known else _value(full, base, is_enum)
        for name, full, base, is_enum in columns
    }


def _value(full: str, base: str, is_enum: bool) -> sql.Composable:
    """Some value of a type, as SQL."""
    if is_enum:
        return sql.SQL("(enum_range(NULL::{}))[1]").format(sql.SQL(full))
    if "vec" in base.rsplit(".", maxsplit=1)[-1] and "(" in full:
        size = int(full.split("(")[1].rstrip(")"))
        return sql.Literal(str([0.5] * size))
    return {
        "uuid": sql.SQL("gen_random_uuid()"),
        "timestamp with time zone": sql.SQL("now()"),
        "jsonb": sql.Literal("{}"),
        "uuid[]": sql.Literal("{}"),
        "bytea": sql.Literal("\\x00"),
        "boolean": sql.SQL("true"),
    }.get(base, sql.Literal("1"))
