"""The names of one agent's table family, composed once from its spec."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from psycopg import sql

from idetic.store.scope import anchor_equals, scope_key
from idetic.store.templates import raw

if TYPE_CHECKING:
    from psycopg.sql import Composable

    from idetic.spec.memory_spec import MemorySpec
    from idetic.spec.primitives import Canonical

Names = dict[str, "Composable"]

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
_FUNCTIONS = {
    "protect": "protect_v1",
    "immutable": "immutable_v1",
    "head": "head_v1",
    "append": "append_v1",
    "replay": "replay_v1",
    "check_scope": "check_scope_v1",
    "admit": "admit_v1",
    "answer": "answer_v2",
    "refer": "refer_v1",
    "turn": "turn_v1",
    "link_action": "link_v1",
    "scope_turn": "scope_v1",
    "settle": "settle_v1",
    "drop": "drop_v1",
    "release": "release_v1",
    "alike": "alike_v1",
    "strip": "strip_v1",
    "emptied": "emptied_v1",
    "erase": "erase_v1",
    "erasable": "erasable_v1",
    "forgotten": "forgotten_v1",
    "vector_kept": "vector_kept_v1",
    "spelled": "spelled_v1",
    "readings": "readings_v1",
    "prints": "prints_v1",
    "compared": "compared_v1",
    "repeated": "repeated_v1",
    "together": "together_v1",
    "spent": "spent_v1",
    "take_supersessions": "take_supersessions_v1",
    "taken": "taken_v1",
}


class Family:
    """Where one agent's memory lives: every table, function and view by name.

    Nothing here knows any particular agent; a new spec is a new family by the same rules.
    """

    def __init__(self, spec: MemorySpec):
        self.spec = spec
        self.schema = spec.backend.schema_
        self.name = spec.backend.family
        self.keys = tuple(key.name for key in spec.anchor.keys)
        # The names of each canonical noun, composed once: see store/canonical.py.
        self.nouns: dict[str, Names] = {}

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

    def tables(self) -> tuple[str, ...]:
        """Every table of the family, in creation order."""
        names = [self.table_name(noun) for noun in _TABLES]
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

    def names(self) -> Names:
        """Everything the SQL templates may name that depends only on the family."""
        return dict(self._names)

    @cached_property
    def _names(self) -> Names:
        # Every pass over an anchor asks for them, and composing them takes longer than a query.
        tables = {t: self.qualified(self.table_name(t)) for t in (*_TABLES, "corroborations")}
        functions = {k: self.qualified(f"{self.name}_{v}") for k, v in _FUNCTIONS.items()}
        views = {
            "v_current": self.qualified(f"{self.name}_memory_current"),
            "v_retention": self.qualified(f"{self.name}_memory_retention"),
        }
        return {
            "schema": sql.Identifier(self.schema),
            "family": raw(self.name),
            "family_text": sql.Literal(f"{self.schema}.{self.name}"),
            "tenant": sql.Identifier(self.keys[0]),
            "tenant_def": raw("{} {} NOT NULL").format(
                sql.Identifier(self.keys[0]), raw(self.spec.anchor.tenant.type.value)
            ),
            "tenant_p": sql.Identifier(f"p_{self.keys[0]}"),
            "bound_tenant": scope_key(1, self.spec.anchor.tenant.type),
            "tenant_type": raw(self.spec.anchor.tenant.type.value),
            **tables,
            **functions,
            **views,
            **self._anchor_names(),
        }

    def _anchor_names(self) -> Names:
        comma = raw(", ")
        keys = self.spec.anchor.keys
        names: Names = {
            "anchor": comma.join(map(sql.Identifier, self.keys)),
            "anchor_p": comma.join(sql.Identifier(f"p_{k}") for k in self.keys),
            "anchor_defs": comma.join(
                raw("{} {} NOT NULL").format(sql.Identifier(k.name), raw(k.type.value))
                for k in keys
            ),
            "anchor_params": comma.join(
                raw("{} {}").format(sql.Identifier(f"p_{k.name}"), raw(k.type.value)) for k in keys
            ),
            "anchor_is_old_a": anchor_equals(self.keys, "a", "OLD"),
            "anchor_is_old_m": anchor_equals(self.keys, "m", "OLD"),
            "anchor_is_new_m": anchor_equals(self.keys, "m", "NEW"),
            "anchor_a_is_s": anchor_equals(self.keys, "a", "s"),
            "anchor_m_is_e": anchor_equals(self.keys, "m", "e"),
            "anchor_is_bound": raw(" AND ").join(
                raw("{} = {}").format(sql.Identifier(f"p_{k.name}"), scope_key(number, k.type))
                for number, k in enumerate(keys, start=1)
            ),
            "anchor_m_is_a": anchor_equals(self.keys, "m", "a"),
            "anchor_m_is_s": anchor_equals(self.keys, "m", "s"),
            "link_anchor_assign": _lines(
                raw("link.{0} := head.{0};").format(sql.Identifier(k)) for k in self.keys
            ),
            "anchor_is_head_a": anchor_equals(self.keys, "a", "head"),
            "lock_key": raw("hashtextextended(concat_ws(chr(31), {}, {}), 0)").format(
                sql.Literal(f"{self.schema}.{self.name}"),
                comma.join(sql.Identifier(f"p_{k}") for k in self.keys),
            ),
        }
        for alias in ("a", "e", "l", "m", "r", "s"):
            names[f"anchor_is_p_{alias}"] = anchor_equals(self.keys, alias, None)
            names[f"anchor_of_{alias}"] = comma.join(sql.Identifier(alias, k) for k in self.keys)
        return names


def _lines(parts: Iterable[Composable]) -> Composable:
    return raw("\n    ").join(parts)
