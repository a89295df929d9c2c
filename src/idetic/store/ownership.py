"""Who owns what was made.

All DDL runs as the login, and the owners are set afterwards. Citus has a connection to each node
for each role, and what one role has not committed another does not see: with a role for each step,
the workers would not find what the step before has made.
"""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from idetic.store import templates
from idetic.store.database import Connection
from idetic.store.templates import raw

OWNER = "idetic_owner"
# What has an owner of its own; an index, a trigger, a policy is its table's.
_OWNED = {"table": "TABLE", "view": "VIEW", "domain": "DOMAIN", "function": "FUNCTION"}


async def hand_over(connection: Connection, schemas: Sequence[str]) -> None:
    """Give our owner every object of schemas of ours that the login has made.

    A new function is open to PUBLIC; those of ours are closed, and name their callers.
    """
    query = raw(templates.query("queries/ownership.sql", "made_here"))
    cursor = await connection.execute(query, {"schemas": list(schemas)})
    for kind, name in await cursor.fetchall():
        await connection.execute(raw(f"ALTER {kind} {name} OWNER TO {OWNER}"))
    query = raw(templates.query("queries/ownership.sql", "open_to_all"))
    cursor = await connection.execute(query, {"schemas": list(schemas)})
    for (name,) in await cursor.fetchall():
        await connection.execute(raw(f"REVOKE EXECUTE ON ROUTINE {name} FROM PUBLIC"))


async def hand_over_one(
    connection: Connection, kind: str, schema: str, name: str, owner: str
) -> None:
    """Give one object of a family to a role of ours, which may create there only for that long."""
    if kind not in _OWNED:
        return
    role, place = sql.Identifier(owner), sql.Identifier(schema)
    owned = raw(_OWNED[kind] + " {}").format(sql.Identifier(schema, name))
    lent = owner != OWNER
    if lent:
        await connection.execute(raw("GRANT CREATE ON SCHEMA {} TO {}").format(place, role))
    if kind == "function":
        await connection.execute(raw("REVOKE EXECUTE ON {} FROM PUBLIC").format(owned))
    await connection.execute(raw("ALTER {} OWNER TO {}").format(owned, role))
    if lent:
        await connection.execute(raw("REVOKE CREATE ON SCHEMA {} FROM {}").format(place, role))
