"""A database's schema as sorted lines: two are equal if and only if their schemas are.

Everything of ours that a migration could leave behind, miss or make differently: columns in their
order, types, defaults, constraints, indexes, views, functions with their bodies, triggers,
policies, owners and grants. What belongs to an extension is the extension's.
"""

from __future__ import annotations

from pathlib import Path

import psycopg

from idetic.store import templates

_QUERIES = Path(__file__).with_suffix(".sql")


def schema_lines(dsn: str) -> list[str]:
    """Every part of the schema, one line each."""
    helpers, *parts = templates.split(_QUERIES.read_text("utf-8"))
    with psycopg.connect(dsn) as connection:
        connection.execute("SET search_path = ''")
        connection.execute(helpers.text.encode())
        return sorted(
            f"{part.title} {' | '.join(map(str, row))}"
            for part in parts
            for row in connection.execute(part.text.encode()).fetchall()
        )
