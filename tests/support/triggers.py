"""Around the triggers, as only a superuser can; on a cluster they fire on the workers."""

from __future__ import annotations

from typing import Any

import psycopg


def without_triggers(connection: psycopg.Connection[Any]) -> None:
    """For the rest of the transaction no trigger and no foreign key is asked, on any node."""
    # Citus hands on only what is local to the transaction, and only if it is told to.
    connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
    connection.execute("SET LOCAL session_replication_role = replica")


def with_triggers(connection: psycopg.Connection[Any]) -> None:
    """They are asked again."""
    connection.execute("SET LOCAL session_replication_role = origin")


def change_triggers(connection: psycopg.Connection[Any], statement: str) -> None:
    """Disable or drop a trigger: Citus asks whether one knows what one does."""
    connection.execute("SET citus.enable_unsafe_triggers = on")
    connection.execute(statement.encode())
