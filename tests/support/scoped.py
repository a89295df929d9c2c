"""A scope bound to a connection of a test's own, as the door binds it to a transaction."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from idetic import Scope
from idetic.store import scope as scoping


def bind(connection: psycopg.Connection[Any], scope: Scope) -> None:
    """Set what row-level security reads, to the end of the connection's transaction."""
    for name, value in scoping.settings(scope).items():
        set_local(connection, name, value)


def set_local(connection: psycopg.Connection[Any], name: str, value: object) -> None:
    """One setting, to the end of the transaction, on every node of a cluster.

    Citus hands on what SET LOCAL sets in a message of its own, and nothing of set_config.
    """
    connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
    setting = sql.SQL("SET LOCAL {} = {}").format(
        sql.Identifier(*name.split(".")), sql.Literal(str(value))
    )
    connection.execute(setting)
