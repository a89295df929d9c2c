"""What is written once stays: for the application, and for the owner of the tables too.

These run where row-level security is off, because the owner could switch it off: the triggers
stand alone. Each has a control in which they do not stand, and the change goes through.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from idetic.spec.loader import load, shipped
from idetic.store import scope as scoping
from tests.support.catalog import tables_of
from tests.support.tenants import Populated

CHANGES = {
    "UPDATE": "UPDATE {table} SET {tenant} = {tenant}",
    "DELETE": "DELETE FROM {table}",
    "TRUNCATE": "TRUNCATE {table} CASCADE",
}
OWNER = "SET LOCAL ROLE idetic_owner"


def append_only_tables() -> Iterator[tuple[str, str, str]]:
    """(schema, table, tenant) of what is written once: it may be inserted and no more.

    Which tables these are is not read from the grants here, so that a grant too many shows up;
    `test_what_may_only_be_inserted_is_append_only` compares the two.
    """
    yield "idetic", "spec_versions", "agent"
    for name in shipped():
        spec = load(name)
        schema, tenant, family = spec.backend.schema_, spec.anchor.tenant.name, spec.backend.family
        for noun in ("ledger", "receipts", "actions", "embeddings"):
            yield schema, f"{family}_memory_{noun}", tenant
        if spec.references.corroborations:
            yield schema, f"{family}_memory_corroborations", tenant
        for canonical in spec.references.canonical:
            yield schema, f"{family}_memory_{canonical.noun}_refs", tenant
            if canonical.versions:
                yield (*canonical.versions.split("."), tenant)  # type: ignore[misc]


APPEND_ONLY = sorted(set(append_only_tables()))
append_only = pytest.mark.parametrize(
    ("schema", "table", "tenant"), APPEND_ONLY, ids=[f"{s}.{t}" for s, t, _ in APPEND_ONLY]
)
changing = pytest.mark.parametrize("change", list(CHANGES))


def _change(change: str, schema: str, table: str, tenant: str) -> sql.Composed:
    return sql.SQL(CHANGES[change]).format(
        table=sql.Identifier(schema, table), tenant=sql.Identifier(tenant)
    )


def test_what_may_only_be_inserted_is_append_only(guarded: Populated, name: str) -> None:
    spec = load(name)
    with guarded.admin() as connection:
        tables = tables_of(connection, spec.backend.schema_)
    granted = {(spec.backend.schema_, t.name) for t in tables if t.insert_only}
    assert granted
    assert granted <= {(schema, table) for schema, table, _ in APPEND_ONLY}


@append_only
@changing
def test_append_only_tables_refuse_the_application(
    unguarded: Populated, schema: str, table: str, tenant: str, change: str
) -> None:
    with unguarded.app() as connection, pytest.raises(pg.InsufficientPrivilege):
        connection.execute(_change(change, schema, table, tenant))


@append_only
@changing
def test_append_only_tables_refuse_their_owner(
    unguarded: Populated, schema: str, table: str, tenant: str, change: str
) -> None:
    """Without row-level security, which the owner could switch off: the trigger stands alone."""
    with unguarded.admin() as connection:
        connection.execute(OWNER)
        with pytest.raises(psycopg.Error, match=r"^idetic\.append_only: "):
            connection.execute(_change(change, schema, table, tenant))
        connection.rollback()


@append_only
@changing
def test_control_without_triggers_the_owner_could_change_them(
    unguarded: Populated, schema: str, table: str, tenant: str, change: str
) -> None:
    count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))
    with unguarded.admin() as connection:
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(OWNER)
        before = connection.execute(count).fetchone()
        changed = connection.execute(_change(change, schema, table, tenant))
        after = connection.execute(count).fetchone()
        connection.rollback()
    assert before != (0,)
    assert after == (before if change == "UPDATE" else (0,))
    assert changed.rowcount != 0


def test_the_owner_cannot_delete_persistent_or_action_linked_entries(
    unguarded: Populated, name: str
) -> None:
    mine, _ = unguarded.tenants[name]
    memory = mine.family.qualified(mine.family.table_name("memory"))
    delete = sql.SQL("DELETE FROM {} WHERE memory_id = {}")
    closing = sql.SQL("SET LOCAL idetic.closing = {}").format(sql.Literal(str(mine.session)))
    wanted = {mine.transient: "an action rests on this entry"}
    if mine.persistent:
        wanted[mine.persistent] = "persistent memory is never deleted"
    for memory_id, why in wanted.items():
        with unguarded.admin() as connection:
            connection.execute(OWNER)
            connection.execute(closing)
            with pytest.raises(psycopg.Error, match=why):
                connection.execute(delete.format(memory, sql.Literal(memory_id)))
            connection.rollback()
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute(OWNER)
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
    delete = sql.SQL("DELETE FROM {} t WHERE {} AND tier = 'interaction'").format(
        memory, scoping.predicate(mine.scope, "t")
    )
    closing = sql.SQL("SET LOCAL idetic.closing = {}")
    with unguarded.admin() as connection:
        for session in (None, uuid4()):
            connection.execute(OWNER)
            if session:
                connection.execute(closing.format(sql.Literal(str(session))))
            with pytest.raises(psycopg.Error, match="only the close of its scope"):
                connection.execute(delete)
            connection.rollback()
        connection.execute(OWNER)
        connection.execute(closing.format(sql.Literal(str(mine.session))))
        assert connection.execute(delete).rowcount == 1, "control: the close itself may"
        connection.rollback()


def test_the_owner_cannot_rewrite_what_an_entry_says(unguarded: Populated, name: str) -> None:
    mine, _ = unguarded.tenants[name]
    memory = mine.family.qualified(mine.family.table_name("memory"))
    with unguarded.admin() as connection:
        state = {"invalid_at", "archived_at", "superseded_at", "superseded_by", "invalidated_at"}
        state |= {"deleted_at", "exempt_at", "embedding_id"}
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
