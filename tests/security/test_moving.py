"""The mover: it fills an empty anchor of the bound scope, and can do nothing else; each protection
with a control in which it is off."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from idetic.store.family import moved, noun
from tests.support.scoped import bind, set_local
from tests.support.tenants import Populated, Tenant

TAKE = sql.SQL("SELECT {}({}, {}::jsonb, '{{}}')")


def take(tenant: Tenant, table: str, rows: str = "[]") -> sql.Composed:
    family = tenant.family
    function = family.qualified(f"{family.name}_take_{noun(family, table)}_v1")
    anchor = sql.SQL(", ").join(map(sql.Literal, tenant.key.values()))
    return TAKE.format(function, anchor, sql.Literal(rows))


def bound(connection: psycopg.Connection, tenant: Tenant) -> None:
    bind(connection, tenant.scope)


def under(connection: psycopg.Connection, tenant: Tenant, statement: sql.Composed) -> None:
    with connection.transaction():
        bound(connection, tenant)
        set_local(connection, "idetic.moving", "on")
        connection.execute(statement)


def test_an_anchor_with_memory_takes_nothing_in(guarded: Populated, name: str) -> None:
    mine, _ = guarded.tenants[name]
    with guarded.steward(name) as connection:
        for table in moved(mine.family):
            with pytest.raises(psycopg.Error, match="anchor_taken"):
                under(connection, mine, take(mine, table))


def test_control_the_same_call_is_let_by_while_the_anchor_is_empty(
    guarded: Populated, name: str
) -> None:
    mine, _ = guarded.tenants[name]
    anchors = mine.family.qualified(mine.family.table_name("anchors"))
    with guarded.steward(name) as connection:
        bound(connection, mine)
        ends = "position = 0, log_position = 0" if mine.family.log_table else "position = 0"
        connection.execute(sql.SQL("UPDATE {} SET {}").format(anchors, sql.SQL(ends)))
        for table in moved(mine.family):
            assert connection.execute(take(mine, table)).fetchone() == (0,)
        connection.rollback()


def test_another_tenants_anchor_cannot_be_filled(guarded: Populated, name: str) -> None:
    mine, theirs = guarded.tenants[name]
    with guarded.steward(name) as connection:
        for table in moved(mine.family):
            with pytest.raises(psycopg.Error, match="not bound"):
                under(connection, mine, take(theirs, table))
            with pytest.raises(psycopg.Error, match="not bound"), connection.transaction():
                connection.execute(take(theirs, table))


def test_nobody_becomes_the_mover(guarded: Populated) -> None:
    with guarded.app() as connection:
        for role in ("idetic_mover", "idetic_keeper", "idetic_owner"):
            with pytest.raises(pg.InsufficientPrivilege), connection.transaction():
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        row = connection.execute(
            "SELECT rolcanlogin OR rolsuper OR rolbypassrls OR rolinherit FROM pg_roles"
            " WHERE rolname = 'idetic_mover'"
        ).fetchone()
    assert row == (False,)


def test_the_mover_can_neither_delete_nor_rewrite(guarded: Populated, name: str) -> None:
    mine, _ = guarded.tenants[name]
    with guarded.admin() as connection:
        connection.execute("SET ROLE idetic_mover")
        for table in mine.family.tables():
            named = mine.family.qualified(table)
            for statement in ("DELETE FROM {}", "TRUNCATE {}"):
                with pytest.raises(pg.InsufficientPrivilege), connection.transaction():
                    connection.execute(sql.SQL(statement).format(named))
        memory = mine.family.qualified(mine.family.table_name("memory"))
        for column in ("body_text", "trust", "origin", "archived_at", "created_by"):
            of = sql.Identifier(column)
            with pytest.raises(pg.InsufficientPrivilege), connection.transaction():
                connection.execute(sql.SQL("UPDATE {} SET {} = {}").format(memory, of, of))


def test_the_guard_is_only_off_for_the_mover(guarded: Populated) -> None:
    """The application cannot restate a rule by saying that it is moving."""
    mine, _ = guarded.tenants["world_agent"]
    schema, family = mine.family.schema, mine.family.name
    memory = mine.family.qualified(mine.family.table_name("memory"))
    with guarded.admin() as admin:
        rule = admin.execute(
            sql.SQL("SELECT body_text FROM {} WHERE org_id = {}").format(
                sql.Identifier(schema, "rules"), sql.Literal(mine.scope.tenant)
            )
        ).fetchone()
        row = admin.execute(
            sql.SQL("SELECT to_jsonb(m) FROM {} m WHERE m.memory_id = {}").format(
                memory, sql.Literal(mine.transient)
            )
        ).fetchone()
    assert rule
    assert row
    made = {**row[0], "memory_id": str(uuid4()), "body_text": rule[0]}
    insert = sql.SQL("INSERT INTO {} SELECT * FROM jsonb_populate_record(NULL::{}, {})").format(
        memory, memory, sql.Literal(psycopg.types.json.Jsonb(made))
    )
    with guarded.app() as connection, pytest.raises(pg.CheckViolation, match=r"idetic\.shadow"):
        under(connection, mine, insert)
    with guarded.admin() as connection:
        connection.execute("SET ROLE idetic_mover")
        bound(connection, mine)
        assert connection.execute(insert).rowcount == 1, f"control: {family}'s trigger lets it by"
        connection.rollback()
