"""A scope bound to a connection of a test's own, as the door binds it to a transaction."""

from __future__ import annotations

from typing import Any

import psycopg

from idetic import Scope
from idetic.store import scope as scoping


def bind(connection: psycopg.Connection[Any], scope: Scope) -> None:
    """Set what row-level security reads, to the end of the connection's transaction."""
    for name, value in scoping.settings(scope).items():
        connection.execute("SELECT set_config(%s, %s, true)", (name, value))
