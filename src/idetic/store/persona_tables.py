"""Where a persona's memory lies, and how a statement on it comes to be.

Each persona has a schema of its own, and a role of the same name that may use it. Which of the two
a caller means is a text here: the nouns live in the room above.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Principal, Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import Database, Rows
from idetic.store.family import Names
from idetic.store.plan import extensions_of
from idetic.store.templates import raw

PERSONAS = ("actor", "subconscious")
TABLES = ("log", "heads", "ltm", "vectors", "stm")
_FUNCTIONS = ("append", "derive", "erase")
_ALIASES = ("l", "h", "m", "v", "s", "n")
_EVENT = "event_id ts loop_id kind::text visibility::text content metadata position hash".split()
_ENTRY = (
    "ltm_id event_id loop_id ts kind::text visibility::text summary importance status::text "
    "attempts last_error".split()
)

as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def role_of(persona: str) -> str:
    """The database role that works in a persona's memory; its schema has the same name."""
    return f"idetic_{persona}"


def scope_of(tenant: str, agent_id: str) -> Scope:
    """The scope of one agent's persona memory; the same for both personas."""
    anchor = {"tenant": tenant, "agent_id": agent_id}
    return Scope("persona", anchor, Principal.agent(agent_id))


async def vector_schema(database: Database) -> str:
    """The schema that pgvector lives in."""
    async with database.reading() as connection:
        return (await extensions_of(connection)).vector


class PersonaTables:
    """One persona's tables for one agent, seen through one pool and with its rights."""

    def __init__(self, database: Database, persona: str, scope: Scope):
        self.database = database
        self.persona = persona
        self.scope = scope

    @cached_property
    def _names(self) -> Names:
        schema, scope = role_of(self.persona), self.scope
        tables = {name: sql.Identifier(schema, name) for name in TABLES}
        tables["notes"] = sql.Identifier(role_of("actor"), "operational_notes")
        return {
            **tables,
            **{
                name: sql.Identifier(schema, f"{name}_v1") for name in ("append", "derive", "erase")
            },
            "erase_notes": sql.Identifier(role_of("actor"), "erase_notes_v1"),
            **{f"scope_{alias}": scoping.predicate(scope, alias) for alias in _ALIASES},
            **{key: sql.Literal(value) for key, value in scope.anchor.items()},
            "columns": raw(", ").join(raw(f"l.{column}") for column in _EVENT),
            "entry_columns": raw(", ").join(raw(f"m.{column}") for column in _ENTRY),
        }

    def compose(self, file: str, query: str, **values: Composable) -> sql.Composed:
        """A named query with its names and values."""
        text = templates.query(f"queries/{file}.sql", query)
        return raw(text).format(**(self._names | values))

    async def rows(self, file: str, query: str, **values: Any) -> Rows:
        """Run a named query; plain values become literals."""
        statement = self.compose(file, query, **{n: literal(v) for n, v in values.items()})
        return await self.run(statement)

    async def run(self, *statements: Composable) -> Rows:
        """Run statements as one message and one transaction."""
        texts = [statement.as_string(None) for statement in statements]
        return await self.database.run(self.scope, "; ".join(texts))


def literal(value: Any) -> Composable:
    """A value as SQL; what is SQL already stays."""
    return value if isinstance(value, Composable) else sql.Literal(value)
