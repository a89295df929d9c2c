"""Where a persona's memory lies, and how a statement on it comes to be.

Each persona has a schema of its own, and a role of the same name that may use it. Which of the two
a caller means is a text here: the nouns live in the room above.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from idetic.model import Principal, Scope
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.pipeline import Rows
from idetic.store.plan import extensions_of
from idetic.store.statement import Call, Names, Statement, filled, statement

PERSONAS = ("actor", "subconscious")
TABLES = ("log", "heads", "ltm", "vectors", "stm")
_FUNCTIONS = ("append", "derive", "erase")
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


def predicate(alias: str) -> str:
    """The application's own predicate on a table of persona memory: this tenant, this agent."""
    return f"{alias}.tenant = %(tenant)s AND {alias}.agent_id = %(agent_id)s"


class PersonaTables:
    """One persona's tables for one agent, seen through one pool and with its rights."""

    def __init__(self, database: Database, persona: str, scope: Scope):
        self.database = database
        self.persona = persona
        self.scope = scope

    def call(self, file: str, query: str, parts: dict[str, str], **values: Any) -> Call:
        """A named query with its values; tenant and agent come with it."""
        made = _statement(predicate, self.persona, file, query, tuple(parts.items()))
        return Call(made, {**self.scope.anchor, **values})

    async def rows(self, file: str, query: str, **values: Any) -> Rows:
        """Run a named query."""
        return await self.run(self.call(file, query, {}, **values))

    async def run(self, *calls: Call) -> Rows:
        """Run calls as one message and one transaction."""
        return await self.database.run_all(self.scope, calls)


def names(persona: str, bound: Callable[[str], str]) -> Names:
    """What the SQL files may name of one persona's memory; `{scope l}` is who `bound` says."""
    schema, actors = role_of(persona), role_of("actor")
    return {
        **{name: f"{schema}.{name}" for name in TABLES},
        **{name: f"{schema}.{name}_v1" for name in _FUNCTIONS},
        "notes": f"{actors}.operational_notes",
        "erase_notes": f"{actors}.erase_notes_v1",
        "scope": bound,
        "columns": ", ".join(f"l.{column}" for column in _EVENT),
        "entry_columns": ", ".join(f"m.{column}" for column in _ENTRY),
    }


@lru_cache(maxsize=256)
def _statement(
    bound: Callable[[str], str],
    persona: str,
    file: str,
    query: str,
    parts: tuple[tuple[str, str], ...],
) -> Statement:
    # The predicate belongs to the key: a statement must not outlive a test's sabotage.
    text = templates.query(f"queries/{file}.sql", query)
    return statement(filled(text, {**names(persona, bound), **dict(parts)}))
