"""The schema compiler: a spec in, a list of database objects out. No I/O.

The files in `sql/family` say what is built; this says with which names, for which cells,
canonical nouns and tables. Two compilations of one spec are equal to the letter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from psycopg import sql

from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ScopeEnd
from idetic.store import scope, templates
from idetic.store.access import belongings, table_names
from idetic.store.canonical import canonical_names, pointed_at, qualified, root_names
from idetic.store.family import Family, families
from idetic.store.import_tables import moved
from idetic.store.payload_stripping import note_columns, noted_names, noun
from idetic.store.scope import quoted
from idetic.store.templates import Lists, Names

# In an order that can be executed: what others name comes first.
_FILES = (
    *("context", "log", "tables", "readings", "noun", "guard", "triggers", "close", "erase"),
    *("admit", "settle", "record", "turn", "take", "views", "access"),
)


@dataclass(frozen=True, slots=True)
class Extensions:
    """The schemas pg_trgm and pgvector live in, not always `public`; and whether it is Citus."""

    trgm: str = "public"
    vector: str = "public"
    citus: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseObject:
    """One thing the compiler makes: a table, an index, a function, a policy."""

    kind: str
    name: str
    ddl: str
    runs_as: str
    schema: str

    @property
    def digest(self) -> str:
        """Changes when the definition does; a comment is not part of it."""
        return _digest(self.ddl)


# A server, a worker and a test open the same agents again and again: compiling is the most of it.
@lru_cache(maxsize=4_096)
def _digest(ddl: str) -> str:
    code = re.sub(r"--.*$", "", ddl, flags=re.MULTILINE)
    return hashlib.sha256(" ".join(code.split()).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A spec to compile: two with one digest are the same spec."""

    digest: str
    spec: MemorySpec = field(compare=False)


def compile_spec(spec: MemorySpec, extensions: Extensions | None = None) -> list[DatabaseObject]:
    """Every object of the agent's families, in an order that can be executed."""
    return list(_compiled(_Wanted(spec.digest, spec), extensions or Extensions()))


@lru_cache(maxsize=16)
def _compiled(wanted: _Wanted, extensions: Extensions) -> tuple[DatabaseObject, ...]:
    return tuple(
        item
        for family in families(wanted.spec)
        for item in _of_family(family, _names(family, extensions), _lists(family))
    )


def _of_family(family: Family, names: Names, lists: Lists) -> Iterator[DatabaseObject]:
    for file in _FILES:
        text = templates.render(templates.read(f"family/{file}.sql"), names, lists)
        for block in templates.split(text):
            kind, name = block.title.split(" ", 1)
            yield DatabaseObject(kind, name, block.text, block.runs_as, family.schema)


def _names(family: Family, extensions: Extensions) -> dict[str, str]:
    """What the files may name; a condition holds where its name is among them."""
    spec = family.spec
    cell = spec.promotion_of(Tier.SESSION, Typology.EPISODIC)
    names = {
        **family.names(),
        **root_names(spec),
        **_anchor_names(spec),
        "schema_text": family.schema,
        "role": family.role,
        "writers": ", ".join(family.writers),
        "readers": ", ".join(family.readers),
        "steward": family.steward,
        "tenant_text": spec.anchor.tenant.name,
        "vector": quoted(extensions.vector),
        "trgm": quoted(extensions.trgm),
        "body_text_max": str(spec.backend.body_text_max),
        "dedup_trigram": str(cell.dedup_trigram),
        "citus" if extensions.citus else "plain": "",
    }
    if family.log_table:
        names["log"] = ""
    if family.noted:
        check = scope.anchor_policy(spec.agent, spec.anchor.keys, None)
        names |= {"channel": "", "anchor_check": check}
    if spec.references.corroborations:
        names["corroborations"] = ""
    if any(canonical.body for canonical in spec.references.canonical):
        names["guarded"] = ""
    return names


def _anchor_names(spec: MemorySpec) -> dict[str, str]:
    """The anchor's keys, and their values as the scope of the transaction binds them."""
    keys, root = spec.anchor.keys, spec.anchor.root
    first, *rest = (scope.scope_key(number, key.type) for number, key in enumerate(keys, start=1))
    # The tenant as the function has it: Citus must see to which shard a statement goes.
    bound = ["p_tenant", *rest]
    column = quoted(root.key) if root else None
    return {
        "keys": ", ".join(quoted(key.name) for key in keys),
        "keys_of_c": ", ".join(f"c.{quoted(key.name)}" for key in keys),
        "bound_tenant": first,
        "bound_keys": ", ".join(bound),
        "bound_texts": ", ".join(f"({value})::text" for value in bound),
        "root_of_a": f"a.{column}" if column else "NULL::uuid",
        "root_of_new": f"NEW.{column}" if column else "NULL::uuid",
        "root_of_stands": f"stands.{column}" if column else "NULL::uuid",
    }


def _lists(family: Family) -> dict[str, list[Names]]:
    """What the files may unfold."""
    spec = family.spec
    nouns: list[Names] = [_noun(family, n) for n in range(len(spec.references.canonical))]
    tables: list[Names] = [table_names(family, table) for table in family.tables()]
    return {
        "noun": nouns,
        "guarded noun": [names for names in nouns if "canonical_body" in names],
        "contradicted noun": [names for names in nouns if "contradictions" in names],
        "table": tables,
        "belonging": [n for n in tables if n["table_name"] in belongings(family)],
        "noted": [noted_names(family, table) for table in note_columns(family)],
        "moved": [_moved(family, table) for table in moved(family)],
        "pointed at": [_pointed_at(table) for table in pointed_at(spec)],
        "key": [
            {"key": quoted(key.name), "key_type": key.type.value} for key in spec.anchor.keys[1:]
        ],
        "provenance": [
            {"provenance": quoted(name), "provenance_text": name} for name in spec.anchor.provenance
        ],
        "cell": [_cell(*cell) for cell in spec.typology.cells()],
        "dropped cell": [_cell(*cell) for cell in spec.typology.cells() if _dropped(spec, *cell)],
    }


def _noun(family: Family, number: int) -> dict[str, str]:
    canonical = family.spec.references.canonical[number]
    names = canonical_names(family, canonical)
    version, narrowed = names.get("canonical_version"), names.get("canonical_scope")
    names |= {
        "version_of_c": f"c.{version}" if version else "NULL::integer",
        "scope_of_new": f"NEW.{narrowed}::text" if narrowed else "''",
        "scope_of_c": f"c.{narrowed}::text" if narrowed else "''",
        "scope_of_p": "p_root::text" if narrowed else "''",
    }
    return names | {"contradictions": ""} if canonical.contradictions else names


def _moved(family: Family, table: str) -> dict[str, str]:
    names = {"moved": noun(family, table), "table": family.qualified(table).as_string(None)}
    if table == family.table_name("memory"):
        names["entries"] = ""
        if family.spec.anchor.root:
            names["rooted"] = ""
    if table == family.table_name("embeddings"):
        names["vectors"] = ""
    return names


def _pointed_at(table: str) -> dict[str, str]:
    schema = sql.Identifier(table.split(".", 1)[0]).as_string(None)
    return {"table": qualified(table), "table_name": table, "table_schema": schema}


def _cell(tier: Tier, typology: Typology) -> dict[str, str]:
    cell = f"{tier.value}_{typology.value}"
    return {"cell": cell, "tier": tier.value, "typology": typology.value}


def _dropped(spec: MemorySpec, tier: Tier, typology: Typology) -> bool:
    """Whether entries of a cell go with their scope."""
    ends = spec.lifecycle_of(tier, typology).at_scope_end
    return tier is not Tier.PERSISTENT and ends is ScopeEnd.DROP


def rendered(spec: MemorySpec, extensions: Extensions, text: str) -> str:
    """A text in the templates' language with the names of each of the spec's families."""
    return "\n".join(
        templates.render(text, _names(family, extensions), _lists(family))
        for family in families(spec)
    )
