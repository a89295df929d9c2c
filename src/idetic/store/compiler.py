"""The schema compiler: a spec in, a list of database objects out. No I/O.

The files in `sql/family` say what is built; this says with which names, for which cells, canonical
nouns and tables, and who may do what with each table: grants, policies, what may ever change. Two
compilations of one spec are equal to the letter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from idetic import folding
from idetic.look_alikes import LOOK_ALIKES
from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Canonical
from idetic.spec.typology import ScopeEnd
from idetic.store import entry_sql, scope, templates
from idetic.store.family import (
    PAYLOAD,
    Family,
    canonical_names,
    families,
    moved,
    note_columns,
    noted_names,
    noun,
    place,
    qualified,
    salt_columns,
    tables_outside,
)
from idetic.store.scope import quoted
from idetic.store.templates import Lists, Names

# In an order that can be executed: what others name comes first.
_FILES = (
    *("context", "log", "tables", "words", "readings", "noun", "guard", "triggers", "close"),
    *("erase", "admit", "convoy", "settle", "record", "turn", "reads", "take", "views", "access"),
)
# What may change of an entry; everything else about it is written once.
STATE = (
    *("valid_at", "invalid_at", "archived_at", "superseded_at", "invalidated_at", "deleted_at"),
    *("exempt_at", "meta_at", "core_at", "superseded_by", "candidate"),
)
# How texts are folded: the same expressions and the same table as in Python.
_FOLDING = {
    "hidden": folding.HIDDEN,
    "points": folding.POINTS,
    "letters": folding.LETTERS,
    "tag": folding.TAG,
    "emphasis": folding.EMPHASIS,
    "alike": "".join(LOOK_ALIKES),
    "latin": "".join(LOOK_ALIKES.values()),
}
# What becomes of giving it a vector.
_EMBEDDED = ("embedding_id", "embed_attempts", "embed_error")


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
    """The hash of a definition without its comments and its layout, which may change freely."""
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
    """The objects of every family of a spec, in the order of the files; kept for the next call."""
    made = []
    for family in families(wanted.spec):
        names, lists = _names(family, extensions), _lists(family)
        for file in _FILES:
            text = templates.render(templates.read(f"family/{file}.sql"), names, lists)
            for block in templates.split(text):
                kind, name = block.title.split(" ", 1)
                made.append(DatabaseObject(kind, name, block.text, block.runs_as, family.schema))
    return tuple(made)


def rendered(spec: MemorySpec, extensions: Extensions, text: str) -> str:
    """A text in the templates' language with the names of each of the spec's families."""
    return "\n".join(
        templates.render(text, _names(family, extensions), _lists(family))
        for family in families(spec)
    )


def _names(family: Family, extensions: Extensions) -> dict[str, str]:
    """What the files may name; a condition holds where its name is among them."""
    spec = family.spec
    cell = spec.promotion_of(Tier.SESSION, Typology.EPISODIC)
    names = {
        **family.names(),
        **_root_names(spec),
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
        "together_hours": str(spec.leak_defence.together_hours),
        "recalled": family.recalled,
        "packed": entry_sql.packed(),
        "times": entry_sql.times(family, {"scope": _of_anchor(spec)}),
        "speaker": entry_sql.speaker(),
        "place": place(),
        "place_of_m": place("m"),
        **_FOLDING,
        "citus" if extensions.citus else "plain": "",
    }
    if family.notes_table:
        names["anchor_check"] = scope.anchor_policy(spec.agent, spec.anchor.keys, None)
    conditions = {
        "log": family.log_table,
        "channel": family.notes_table,
        "corroborations": spec.references.corroborations,
        "proposals": spec.proposes,
        "guarded": any(canonical.body for canonical in spec.references.canonical),
    }
    return names | {name: "" for name, holds in conditions.items() if holds}


def _of_anchor(spec: MemorySpec) -> Callable[[str], str]:
    """The predicate of a function's own anchor, by an alias."""
    tenant = quoted(spec.anchor.tenant.name)
    return lambda alias: f"{alias}.{tenant} = p_tenant AND {alias}.anchor_id = p_anchor"


def _root_names(spec: MemorySpec) -> dict[str, str]:
    """The anchor's root: a column on every entry, looked up once per anchor."""
    root = spec.anchor.root
    if root is None:
        return dict.fromkeys(("root_of_a", "root_of_stands"), "NULL::uuid")
    column = quoted(root.key)
    return {
        "root": qualified(root.table),
        "root_text": root.table,
        "root_id": column,
        "root_noun": root.noun,
        "root_of_a": f"a.{column}",
        "root_of_stands": f"stands.{column}",
    }


def _anchor_names(spec: MemorySpec) -> dict[str, str]:
    """The anchor's keys, and their values as the scope of the transaction binds them."""
    keys = spec.anchor.keys
    first, *rest = (scope.scope_key(number, key.type) for number, key in enumerate(keys, start=1))
    # The tenant as the function has it: Citus must see to which shard a statement goes.
    bound = ["p_tenant", *rest]
    return {
        "keys": ", ".join(quoted(key.name) for key in keys),
        "keys_of_c": ", ".join(f"c.{quoted(key.name)}" for key in keys),
        "bound_tenant": first,
        "bound_keys": ", ".join(bound),
        "bound_texts": ", ".join(f"({value})::text" for value in bound),
    }


def _lists(family: Family) -> Lists:
    """What the files may unfold."""
    spec = family.spec
    nouns = [_noun_names(family, canonical) for canonical in spec.references.canonical]
    tables = [_table_names(family, table) for table in family.tables()]
    own = _belongings(family)
    cells = {cell: _cell_names(*cell) for cell in spec.typology.cells()}
    return {
        "noun": nouns,
        "guarded noun": [names for names in nouns if "canonical_body" in names],
        "contradicted noun": [names for names in nouns if "contradictions" in names],
        "table": tables,
        "belonging": [names for names in tables if names["table_name"] in own],
        "noted": [noted_names(family, table) for table in note_columns(family)],
        "moved": [_moved_names(family, table) for table in moved(family)],
        "pointed at": [
            {
                "table": qualified(table),
                "table_name": table,
                "table_schema": quoted(table.split(".", 1)[0]),
            }
            for table in tables_outside(spec)
        ],
        "key": [
            {"key": quoted(key.name), "key_type": key.type.value} for key in spec.anchor.keys[1:]
        ],
        "provenance": [
            {"provenance": quoted(name), "provenance_text": name} for name in spec.anchor.provenance
        ],
        "cell": list(cells.values()),
        "dropped cell": [names for cell, names in cells.items() if _is_dropped(spec, *cell)],
    }


def _noun_names(family: Family, canonical: Canonical) -> Names:
    """What the files may name of one noun, with what stands in where it has no version or scope."""
    names = canonical_names(family, canonical)
    version, narrowed = names.get("canonical_version"), names.get("canonical_scope")
    names |= {
        "version_of_c": f"c.{version}" if version else "NULL::integer",
        "scope_of_new": f"NEW.{narrowed}::text" if narrowed else "''",
        "scope_of_c": f"c.{narrowed}::text" if narrowed else "''",
        "scope_of_p": "p_root::text" if narrowed else "''",
        "scope_of_item": "p_roots[least(x.n, cardinality(p_roots))]::text" if narrowed else "''",
    }
    # A name without a text is a condition that the files ask for.
    return names | {"contradictions": ""} if canonical.contradictions else names


def _moved_names(family: Family, table: str) -> Names:
    """What the files may name of one table that an export moves, and what is special about it."""
    names = {"moved": noun(family, table), "table": family.qualified(table).as_string(None)}
    if table == family.table_name("memory"):
        # Names without a text are conditions that the files ask for.
        names["entries"] = ""
        if family.spec.anchor.root:
            names["rooted"] = ""
    if table == family.table_name("embeddings"):
        names["vectors"] = ""
    return names


def _cell_names(tier: Tier, typology: Typology) -> Names:
    """What the files may name of one cell of tier and typology."""
    cell = f"{tier.value}_{typology.value}"
    return {"cell": cell, "tier": tier.value, "typology": typology.value}


def _is_dropped(spec: MemorySpec, tier: Tier, typology: Typology) -> bool:
    """Whether entries of a cell go with their scope."""
    ends = spec.lifecycle_of(tier, typology).at_scope_end
    return tier is not Tier.PERSISTENT and ends is ScopeEnd.DROP


def _table_names(family: Family, table: str) -> Names:
    """What the SQL files may say of one table; what does not apply to it has no name."""
    memory, anchors, scopes, marks = map(
        family.table_name, ("memory", "anchors", "scopes", "marks")
    )
    grants = _write_grants(family, table)
    names = {
        "table": family.qualified(table).as_string(None),
        "table_name": table,
        **_refusals(family, table),
        "write_grants": grants,
        **_policies(family, table),
        "guard" if table == memory else "kept": "",
        **_definer_grants(family, table),
    }
    if "UPDATE" not in grants:
        names["written_once"] = ""
    if table in (anchors, scopes, marks):
        names["worker"] = ""
    return names


def _policies(family: Family, table: str) -> Names:
    """What row-level security shows and takes of a table."""
    agent, keys = family.spec.agent, family.spec.anchor.keys
    if _is_tenants(family, table):
        using = check = scope.tenant_policy(agent, keys[0])
    elif table == family.table_name("anchors"):
        using = scope.keys_policy(agent, keys, reading=True)
        check = scope.keys_policy(agent, keys, reading=False)
    else:
        using = scope.anchor_policy(agent, keys, f"{family.prefix}_visible_v1")
        check = scope.anchor_policy(agent, keys, None)
    return {"policy_using": using, "policy_check": check}


def _is_tenants(family: Family, table: str) -> bool:
    """A profile is a tenant's, whatever the rest of the anchor; canonical rows are too."""
    return table in (family.table_name("profiles"), *family.prints_tables())


def _definer_grants(family: Family, table: str) -> Names:
    """What the definer functions may do with a table, for those that touch it."""
    found = {}
    if table == family.table_name("anchors"):
        found["mover_grants"] = "SELECT"
    elif not _is_tenants(family, table) and table not in family.index_tables():
        # The mover fills a table, and says which entry replaced which.
        memory = table == family.table_name("memory")
        replaced = ", UPDATE (superseded_at, superseded_by)" if memory else ""
        found["mover_grants"] = f"SELECT, INSERT{replaced}"
    touched = map(family.table_name, ("memory", "actions", "reads", "receipts", "ledger"))
    emptied = (family.log_table, family.notes_table, *family.index_tables())
    if table in (*touched, *emptied, *_belongings(family), *note_columns(family)):
        found["keeper_grants"] = _keeper_grants(family, table)
    return found


def _keeper_grants(family: Family, table: str) -> str:
    """What the keeper's functions may do with a table: drop with a scope, empty, never rewrite."""
    emptied = {
        table: f"UPDATE ({', '.join((*columns, *salt_columns(family, table)))})"
        for table, columns in note_columns(family).items()
    }
    grants: dict[str | None, str] = {
        **{table: f"SELECT, {updates}" for table, updates in emptied.items()},
        family.table_name("memory"): f"SELECT, DELETE, UPDATE ({', '.join(PAYLOAD)})",
        family.table_name("actions"): "SELECT",
        family.table_name("receipts"): "SELECT, UPDATE (request_digest, idempotency_key, salt)",
        family.table_name("reads"): "SELECT, DELETE, UPDATE (witness)",
        family.table_name("ledger"): "SELECT, UPDATE (reason)",
        family.log_table: "SELECT, UPDATE (content, metadata, salt)",
        family.notes_table: "SELECT, UPDATE (body)",
    }
    grants |= dict.fromkeys(family.index_tables(), "SELECT, INSERT, DELETE")
    corroborations = family.table_name("corroborations")
    if corroborations in emptied:
        grants[corroborations] = f"SELECT, DELETE, {emptied[corroborations]}"
    return grants.get(table, "SELECT, DELETE")


def _refusals(family: Family, table: str) -> Names:
    """Which trigger functions refuse changes to a table; some let an erasure by."""
    refuse = "idetic.refuse_change_v1"
    deletes = dict.fromkeys(_belongings(family), f"{family.prefix}_release_v1")
    deletes |= dict.fromkeys(family.index_tables(), f"{family.prefix}_reindexed_v1")
    deletes[family.table_name("reads")] = f"{family.prefix}_erasable_v1"
    updates = {
        family.table_name("receipts"): f"{family.prefix}_forgotten_v1",
        family.table_name("reads"): f"{family.prefix}_seen_v1",
        family.table_name("ledger"): f"{family.prefix}_unsaid_v1",
        family.log_table: f"{family.prefix}_log_emptied_v1",
        family.notes_table: f"{family.prefix}_notes_emptied_v1",
    }
    return {
        "refuse_delete": deletes.get(table, refuse),
        "refuse_update": updates.get(table, refuse),
    }


def _belongings(family: Family) -> list[str]:
    """The tables whose rows belong to an entry and go with it."""
    tables = [family.table_name("embeddings"), family.table_name("lineage")]
    if family.spec.references.corroborations:
        tables.append(family.table_name("corroborations"))
    return [*tables, *(family.refs_table(c) for c in family.spec.references.canonical)]


def _write_grants(family: Family, table: str) -> str:
    """What the application may do beyond reading. Append-only tables get INSERT and no more."""
    if table in (*family.prints_tables(), family.notes_table, *family.index_tables()):
        # Not even that: whoever could add hints could bury one, notes are the other persona's, and
        # the word index is made of the entries by the keeper's functions.
        return "SELECT"
    log_end = ", log_position, log_hash" if family.log_table else ""
    updates = {
        family.table_name("memory"): f"({', '.join((*STATE, *_EMBEDDED))})",
        family.table_name("anchors"): f"(position, hash, at{log_end})",
        family.table_name("scopes"): "(closed_at, renewed_at)",
        family.table_name("corroborations"): "(withdrawn_at)",
        family.table_name("marks"): "(position, marked_at)",
        family.table_name("proposals"): (
            "(proposal_status, decision_reason, decided_at, decided_by, reason_salt)"
        ),
    }
    for canonical in family.spec.references.canonical:
        updates[family.contradictions_table(canonical)] = (
            "(status, resolution_notes, resolved_at, resolved_by, notes_salt)"
        )
    return f"INSERT, UPDATE {updates[table]}" if table in updates else "INSERT"
