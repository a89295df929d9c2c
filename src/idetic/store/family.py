"""The names of one agent's table family, and its named queries as statements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import sql

from idetic.spec.primitives import Persona
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import APP_ROLE
from idetic.store.scope import quoted
from idetic.store.statement import BoundStatement, Names, Statement, filled, statement

if TYPE_CHECKING:
    from idetic.model import Scope
    from idetic.spec.memory_spec import MemorySpec
    from idetic.spec.primitives import Canonical

STEWARD_ROLE = "idetic_steward"
_TABLES = (
    "memory",
    "actions",
    "embeddings",
    "ledger",
    "anchors",
    "receipts",
    "scopes",
    "profiles",
    "reads",
    "lineage",
    "marks",
)
# Statements by all that their text depends on. Every pass over an anchor asks for several, and
# composing one takes longer than a query.
_STATEMENTS: dict[tuple[Any, ...], Statement] = {}
_NO_PARTS: Mapping[str, str] = {}


class Family:
    """Where one agent's memory lives: every table, function and view by name.

    Nothing here knows any particular agent; a new spec is a new family by the same rules. With two
    personas each has a family, in a schema of its own: `persona`, by default the Actor, says whose.
    """

    def __init__(self, spec: MemorySpec, persona: Persona | None = None):
        personas = spec.backend.personas
        self.spec = spec
        self.persona = persona if persona in personas else personas[0]
        own = f"_{self.persona}" if self.persona else ""
        self.schema = spec.backend.schema_ + own
        self.name = spec.backend.family + own
        self.keys = tuple(key.name for key in spec.anchor.keys)

    @property
    def role(self) -> str:
        """The role that works in this family."""
        return f"idetic_{self.persona}" if self.persona else APP_ROLE

    @property
    def steward(self) -> str:
        """The role that governs it: the only one that may erase here and take an export in."""
        return STEWARD_ROLE if self.persona else APP_ROLE

    @property
    def writers(self) -> tuple[str, ...]:
        """The roles that read and write here."""
        return tuple(dict.fromkeys((self.role, self.steward)))

    @property
    def readers(self) -> tuple[str, ...]:
        """The roles that only read: the Subconscious may read the Actor's memory."""
        seen = self.persona is Persona.ACTOR
        return ("idetic_auditor", "idetic_subconscious") if seen else ("idetic_auditor",)

    @property
    def noted(self) -> bool:
        """Whether the other persona may leave notes here."""
        return self.persona is Persona.ACTOR

    def __repr__(self) -> str:
        return f"Family({self.schema}.{self.name})"

    def table_name(self, noun: str) -> str:
        """The bare name of a family table: `world_agent_memory_ledger` for `ledger`."""
        return f"{self.name}_memory" if noun == "memory" else f"{self.name}_memory_{noun}"

    def refs_table(self, canonical: Canonical) -> str:
        """The junction of one canonical noun."""
        return f"{self.name}_memory_{canonical.noun}_refs"

    def prints_table(self, canonical: Canonical) -> str:
        """The runs of words that occur in one canonical noun's texts."""
        return f"{self.name}_{canonical.noun}_prints"

    def prints_tables(self) -> list[str]:
        """One for each canonical noun that has texts."""
        return [self.prints_table(c) for c in self.spec.references.canonical if c.body]

    def contradictions_table(self, canonical: Canonical) -> str:
        """The contradictions with one canonical noun."""
        return f"{self.name}_{canonical.noun}_contradictions"

    @property
    def log_table(self) -> str | None:
        """The log that memory here is derived from, if there is one."""
        return f"{self.name}_log" if self.spec.backend.log is not None else None

    @property
    def notes_table(self) -> str | None:
        """The notes of the other persona."""
        return f"{self.name}_notes" if self.noted else None

    def tables(self) -> tuple[str, ...]:
        """Every table of the family, in creation order."""
        names = [name for name in (self.log_table, self.notes_table) if name is not None]
        names += [self.table_name(noun) for noun in _TABLES]
        if self.spec.references.corroborations:
            names.append(self.table_name("corroborations"))
        for canonical in self.spec.references.canonical:
            names.append(self.refs_table(canonical))
            if canonical.contradictions:
                names.append(self.contradictions_table(canonical))
            if canonical.body:
                names.append(self.prints_table(canonical))
        return tuple(names)

    def qualified(self, name: str) -> sql.Identifier:
        """A name in the family's schema."""
        return sql.Identifier(self.schema, name)

    @property
    def prefix(self) -> str:
        """What every name of the family begins with: `"worlds".world_agent`."""
        return f"{quoted(self.schema)}.{self.name}"

    def names(self) -> dict[str, str]:
        """What the SQL files may name that depends only on the family."""
        tenant = self.spec.anchor.tenant
        return {
            "schema": quoted(self.schema),
            "family": self.prefix,
            "name": self.name,
            "family_text": f"{self.schema}.{self.name}",
            "tenant": quoted(tenant.name),
            "tenant_type": tenant.type.value,
            # A loop's summary is found by its words alone: it gets no vector.
            "embeddable": "AND m.loop_id IS NULL" if self.log_table else "",
        }

    def statement(
        self,
        file: str,
        query: str,
        scope: Scope,
        parts: Mapping[str, str] = _NO_PARTS,
        *,
        prepared: bool = False,
    ) -> Statement:
        """A named query of `sql/queries`, for scopes that leave the same keys open.

        `parts` are further names: texts of ours, which may leave values open themselves.
        """
        left = tuple((name, value is None) for name, value in scope.anchor.items())
        # The functions belong to the key: a statement must not outlive a test's sabotage.
        made = (scoping.predicate, scoping.tenant_predicate)
        key = (self.prefix, self.spec.digest, file, query, left, made, tuple(parts.items()))
        found = _STATEMENTS.get(key)
        if found is None:
            names: Names = {**self.names(), **self.scope_names(scope), **parts}
            text = templates.query(f"queries/{file}.sql", query)
            # Twice: a part may name tables itself.
            found = statement(filled(filled(text, names), names), prepared=prepared)
            _STATEMENTS[key] = found
        return found

    def scope_names(self, scope: Scope) -> Names:
        """`{scope m}`, `{of_tenant p}` and `{live m}`: conditions on a table by its alias."""
        anchors = f"{self.prefix}_memory_anchors"
        return {
            "scope": partial(scoping.predicate, scope, anchors=anchors),
            "of_tenant": partial(scoping.tenant_predicate, scope),
            "live": live,
        }

    def call(
        self, file: str, query: str, scope: Scope, parts: Mapping[str, str], **values: Any
    ) -> BoundStatement:
        """A named query with its values; the scope brings its own."""
        made = self.statement(file, query, scope, parts)
        return BoundStatement(made, scoping.bound(scope) | values)


def families(spec: MemorySpec) -> list[Family]:
    """Every family of an agent: one, or one for each of two personas."""
    return [Family(spec, persona) for persona in spec.backend.personas]


def live(alias: str) -> str:
    """The entries that hold now: the condition of the index that the current view is read by."""
    states = ("archived_at", "superseded_at", "invalidated_at", "deleted_at")
    return " AND ".join(f"{alias}.{state} IS NULL" for state in states)
