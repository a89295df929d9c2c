"""What is written once stays: for the application, and for the owner of the tables too.

These run where row-level security is off, because the owner could switch it off: the triggers
stand alone. Each has a control in which they do not stand, and the change goes through.
"""

from __future__ import annotations

import re
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from idetic.spec.loader import shipped
from tests.support.catalog import shipped_schemas, tables_of
from tests.support.rows import ensure_row
from tests.support.scoped import set_local
from tests.support.tenants import Populated, family_tables
from tests.support.triggers import without_triggers

CHANGES = {
    "UPDATE": "UPDATE {table} SET {column} = {column}",
    "DELETE": "DELETE FROM {table}",
    "TRUNCATE": "TRUNCATE {table} CASCADE",
}
OWNER = "SET LOCAL ROLE idetic_owner"
# What does change, and says so in the ledger: states, ends of chains, scopes that close, how a
# contradiction was resolved, a proposal decided, a corroboration that was withdrawn; how far
# background work has come; the registry's own bookkeeping; keys, which end; canonical rows, which
# have versions.
CHANGEABLE = re.compile(
    r"_memory$|_memory_anchors$|_memory_scopes$|_contradictions$|_corroborations$|_memory_marks$"
    r"|_memory_proposals$"
    r"|^compiled_objects$|^api_keys$|^migrations$|^queue_migrations$|^worlds$|^rules$|^runbooks$"
)
SCHEMAS = sorted(shipped_schemas() | {"idetic"})
in_each_schema = pytest.mark.parametrize("schema", SCHEMAS)
changing = pytest.mark.parametrize("change", list(CHANGES))


def append_only_tables(connection: psycopg.Connection, schema: str) -> dict[str, str]:
    """Every table that is written once, with a column of it to try an UPDATE on."""
    tables = tables_of(connection, schema)
    return {t.name: t.columns[0] for t in tables if not CHANGEABLE.search(t.name)}


def _change(change: str, schema: str, table: str, column: str) -> sql.Composed:
    return sql.SQL(CHANGES[change]).format(
        table=sql.Identifier(schema, table), column=sql.Identifier(column)
    )


@in_each_schema
def test_what_is_append_only_is_granted_insert_and_no_more(guarded: Populated, schema: str) -> None:
    with guarded.admin() as connection:
        tables = {t.name: t for t in tables_of(connection, schema)}
        wanted = set(append_only_tables(connection, schema))
    assert wanted
    assert {name for name, table in tables.items() if table.insert_only} <= wanted
    assert {name for name in wanted if tables[name].app_updates} == set()


@in_each_schema
@changing
def test_append_only_tables_refuse_the_application(
    unguarded: Populated, schema: str, change: str
) -> None:
    with unguarded.admin() as admin, unguarded.app() as connection:
        tables = append_only_tables(admin, schema)
        for table, column in tables.items():
            with pytest.raises(pg.InsufficientPrivilege), connection.transaction():
                connection.execute(_change(change, schema, table, column))
    assert tables


@in_each_schema
@changing
def test_append_only_tables_refuse_their_owner(
    unguarded: Populated, schema: str, change: str
) -> None:
    changed = []
    with unguarded.admin() as connection:
        for table, column in append_only_tables(connection, schema).items():
            ensure_row(connection, schema, table, {}, {})
            # On a cluster one transaction writes as one role.
            connection.commit()
            connection.execute(OWNER)
            try:
                connection.execute(_change(change, schema, table, column))
                changed.append(table)
            except psycopg.Error as error:
                assert str(error).startswith("idetic.append_only: "), table  # noqa: PT017
            connection.rollback()
    assert changed == [], f"the owner may {change} these"


@pytest.mark.parametrize("change", ["DELETE", "TRUNCATE"])
@pytest.mark.parametrize("name", sorted(shipped()))
def test_what_changes_cannot_be_removed_either(
    unguarded: Populated, name: str, change: str
) -> None:
    removed = []
    tenant = unguarded.tenants[name][0]
    with unguarded.admin() as connection:
        for table in family_tables(connection, tenant):
            connection.execute(OWNER)
            column = tenant.spec.anchor.tenant.name
            try:
                connection.execute(_change(change, tenant.family.schema, table, column))
                removed.append(table)
            except psycopg.Error as error:
                assert str(error).startswith("idetic.append_only: "), table  # noqa: PT017
            connection.rollback()
    assert removed == [], f"the owner may {change} these"


def test_what_a_corroboration_says_is_written_once(unguarded: Populated) -> None:
    with unguarded.admin() as connection:
        columns = next(
            t.columns
            for t in tables_of(connection, "worlds")
            if t.name == "world_agent_memory_corroborations"
        )
        for column in columns:
            change = _change("UPDATE", "worlds", "world_agent_memory_corroborations", column)
            connection.execute(OWNER)
            if column == "withdrawn_at":
                connection.execute(change)
            else:
                with pytest.raises(psycopg.Error, match=r"^idetic\.append_only: "):
                    connection.execute(change)
            connection.rollback()


@in_each_schema
@changing
def test_control_without_triggers_the_owner_could_change_them(
    unguarded: Populated, schema: str, change: str
) -> None:
    with unguarded.admin() as connection:
        for table, column in append_only_tables(connection, schema).items():
            count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))
            ensure_row(connection, schema, table, {}, {})
            without_triggers(connection)
            before = connection.execute(count).fetchone()
            changed = connection.execute(_change(change, schema, table, column))
            after = connection.execute(count).fetchone()
            connection.rollback()
            assert before != (0,), table
            assert after == (before if change == "UPDATE" else (0,)), table
            assert changed.rowcount != 0, table


def test_the_owner_cannot_delete_persistent_or_action_linked_entries(
    unguarded: Populated, name: str
) -> None:
    mine, _ = unguarded.tenants[name]
    memory = mine.family.qualified(mine.family.table_name("memory"))
    delete = sql.SQL("DELETE FROM {} WHERE memory_id = {}")
    wanted = {mine.transient: "an action rests on this entry"}
    if mine.persistent:
        wanted[mine.persistent] = "persistent memory is never deleted"
    for memory_id, why in wanted.items():
        with unguarded.admin() as connection:
            connection.execute(OWNER)
            set_local(connection, "idetic.closing", mine.session)
            with pytest.raises(psycopg.Error, match=why):
                connection.execute(delete.format(memory, sql.Literal(memory_id)))
            connection.rollback()
            without_triggers(connection)
            gone = connection.execute(delete.format(memory, sql.Literal(memory_id)))
            assert gone.rowcount == 1, "control: only the trigger kept it"
            connection.rollback()
        with unguarded.admin() as connection:
            connection.execute(OWNER)
            with pytest.raises(psycopg.Error, match=r"idetic\.append_only"):
                connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(memory))
            connection.rollback()


def test_other_transient_entries_go_only_with_their_scope(unguarded: Populated, name: str) -> None:
    mine, _ = unguarded.tenants[name]
    memory = mine.family.qualified(mine.family.table_name("memory"))
    fits = (sql.SQL("{} = {}").format(sql.Identifier(k), v) for k, v in mine.key.items())
    delete = sql.SQL("DELETE FROM {} t WHERE {} AND tier = 'interaction'").format(
        memory, sql.SQL(" AND ").join(fits)
    )
    with unguarded.admin() as connection:
        for session in (None, uuid4()):
            connection.execute(OWNER)
            if session:
                set_local(connection, "idetic.closing", session)
            with pytest.raises(psycopg.Error, match="only the close of its scope"):
                connection.execute(delete)
            connection.rollback()
        connection.execute(OWNER)
        set_local(connection, "idetic.closing", mine.session)
        assert connection.execute(delete).rowcount == 1, "control: the close itself may"
        connection.rollback()


def test_the_owner_cannot_rewrite_what_an_entry_says(unguarded: Populated, name: str) -> None:
    mine, _ = unguarded.tenants[name]
    memory = mine.family.qualified(mine.family.table_name("memory"))
    with unguarded.admin() as connection:
        state = {
            "valid_at",
            "meta_at",
            "core_at",
            "invalid_at",
            "archived_at",
            "superseded_at",
            "superseded_by",
            "invalidated_at",
        }
        state |= {"deleted_at", "exempt_at", "candidate", "embedding_id"}
        state |= {"embed_attempts", "embed_error"}
        cursor = connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(memory))
        columns = [c.name for c in cursor.description or () if c.name not in state]
        assert {"body_text", "envelope", "claim_value"} < set(columns)
        connection.commit()
        assert [c for c in columns if not _refused(connection, memory, c)] == []


def _refused(connection: psycopg.Connection, memory: sql.Identifier, column: str) -> bool:
    """Whether the trigger stops the owner from setting a column."""
    of = sql.Identifier(column)
    connection.execute(OWNER)
    try:
        connection.execute(sql.SQL("UPDATE {} SET {} = {}").format(memory, of, of))
    except psycopg.Error as error:
        return str(error).startswith("idetic.append_only: ")
    else:
        return False
    finally:
        connection.rollback()
