"""The schema compiler: a spec in, a list of database objects out. No I/O.

The templates in `sql/family` say what is built; this says with which names, for which cells,
canonical nouns and tables. Two compilations of one spec are equal to the letter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from psycopg import sql
from psycopg.sql import Composable

from idetic.spec.memory_spec import MemorySpec
from idetic.store import scope, templates
from idetic.store.canonical import canonical_names, qualified, root_names
from idetic.store.family import Family, Names
from idetic.store.templates import raw

_STATE = (
    "invalid_at, archived_at, superseded_at, superseded_by, invalidated_at, deleted_at, "
    "exempt_at, candidate, embedding_id"
)

_LEDGER = (
    "position, receipt_id, at, transition, decision, memory_id, actor_kind, actor, reason, "
    "state_from, state_to, detail, prev_hash, hash"
)

# The links an admission may leave: (transition, decision, entry, reason, from, to, detail).
_LINK_PARTS = ("transition", "decision", "entry", "reason", "state_from", "state_to", "detail")
_LINKS = {
    name: dict(zip(_LINK_PARTS, parts, strict=True))
    for name, parts in {
        "add": (
            *("item.transition", "'ADD'", "item.memory", "'new'", "NULL", "'current'"),
            "item.detail",
        ),
        "link_superseded": (
            *("'superseded'", "'UPDATE'", "known.old_id", "'a later statement of the same claim'"),
            *("'current'", "'superseded'", "jsonb_build_object('superseded_by', item.memory)"),
        ),
        "supersede": (
            *("item.transition", "'UPDATE'", "item.memory", "'supersedes an earlier statement'"),
            *("NULL", "'current'", "item.detail || jsonb_build_object('supersedes', known.old_id)"),
        ),
        "link_known": (
            "CASE known.decision WHEN 'REJECT' THEN 'refused' ELSE item.transition END",
            *("known.decision", "known.same_id", "known.reason", "known.state", "known.state"),
            "known.detail",
        ),
    }.items()
}


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

    @property
    def digest(self) -> str:
        """Changes when the definition does; a comment is not part of it."""
        code = re.sub(r"--.*$", "", self.ddl, flags=re.MULTILINE)
        return hashlib.sha256(" ".join(code.split()).encode()).hexdigest()


def compile_spec(spec: MemorySpec, extensions: Extensions | None = None) -> list[DatabaseObject]:
    """Every object of the agent's family, in an order that can be executed."""
    family = Family(spec)
    extensions = extensions or Extensions()
    names = family.names() | _common_names(family, extensions) | root_names(spec)
    return [
        *_pointed_at(family, names),
        *_render("memory.sql", names, family),
        *_cells(family, names),
        *_render("ledger.sql", names, family),
        *(_render("corroborations.sql", names, family) if spec.references.corroborations else ()),
        *_canonicals(family, names),
        *_provenance(family, names),
        *_render("immutable.sql", names | _provenance_names(family), family),
        *_append_only(family, names),
        *_render("gateway.sql", names, family),
        *_render("admit.sql", names | _admit_names(family, names, extensions), family),
        *_render("turn.sql", names | {"remember_call_key": _remember(names)}, family),
        *_render("views.sql", names, family),
        *_access(family, names),
    ]


def _render(path: str, names: Names, family: Family, **titles: str) -> Iterator[DatabaseObject]:
    titles = {"family": family.name, "schema_name": family.schema, **titles}
    for block in templates.blocks(f"family/{path}"):
        kind, name = block.title.format(**titles).split(" ", 1)
        ddl = raw(block.text).format(**names).as_string(None)
        yield DatabaseObject(kind, name, ddl, block.runs_as)


def _common_names(family: Family, extensions: Extensions) -> Names:
    vector = sql.Identifier(extensions.vector)
    names: Names = {
        "vector": raw("{}.halfvec").format(vector),
        "vector_ops": raw("{}.halfvec_ip_ops").format(vector),
        "provenance_text": sql.Literal(", ".join(family.spec.anchor.provenance) or "none"),
        "trgm_schema": sql.Identifier(extensions.trgm),
        "body_text_max": sql.Literal(family.spec.backend.body_text_max),
        "note": family.qualified(f"{family.name}_note"),
        "note_text": sql.Literal(f"{family.schema}.{family.name}_note"),
    }
    for constraint in (
        "memory_pkey memory_superseded_by memory_root memory_consistent actions_pkey "
        "actions_memory embeddings_pkey embeddings_profile embeddings_memory scopes_pkey "
        "scopes_session scopes_tier ledger_pkey anchors_pkey receipts_pkey receipts_ledger "
        "corroborations_notes corroborations_pkey corroborations_source corroborations_memory "
        "profiles_pkey reads_pkey"
    ).split():
        names[f"c_{constraint}"] = sql.Identifier(f"{family.name}_{constraint}")
    for index in "current claim actions_memory ledger_entry reads_session reads_memory".split():
        names[f"i_{index}"] = sql.Identifier(f"{family.name}_{index}_idx")
    return names


def _cells(family: Family, names: Names) -> Iterator[DatabaseObject]:
    for tier, typology in family.spec.typology.cells():
        cell = f"{tier.value}_{typology.value}"
        more: Names = {
            "i_hnsw": sql.Identifier(f"{family.name}_hnsw_{cell}"),
            "tier": sql.Literal(tier.value),
            "typology": sql.Literal(typology.value),
        }
        yield from _render("embeddings_cell.sql", names | more, family, cell_name=cell)


def _pointed_at(family: Family, names: Names) -> Iterator[DatabaseObject]:
    """Every table outside the family that the spec points at."""
    root = family.spec.anchor.root
    tables = [root.table] if root else []
    for canonical in family.spec.references.canonical:
        tables += [canonical.table, *([canonical.versions] if canonical.versions else [])]
    for table in dict.fromkeys(tables):
        more: Names = {
            "table": qualified(table),
            "table_schema": sql.Identifier(table.split(".", 1)[0]),
            "table_text": sql.Literal(table),
        }
        yield from _render("canonical_access.sql", names | more, family, table_name=table)


def _append_only(family: Family, names: Names) -> Iterator[DatabaseObject]:
    """Everything but entries, scopes, chain ends and contradictions is written once."""
    for table in family.tables():
        if "UPDATE" in _write_grants(family, table):
            continue
        removable = table == family.table_name("embeddings") or table.endswith(
            ("_refs", "_corroborations")
        )
        more: Names = {
            "table": family.qualified(table),
            "refuse_delete": raw("refuse_removal_v1" if removable else "refuse_change_v1"),
        }
        yield from _render("append_only.sql", names | more, family, table_name=table)


def _canonicals(family: Family, names: Names) -> Iterator[DatabaseObject]:
    for canonical in family.spec.references.canonical:
        more = names | canonical_names(family, canonical)
        titles = {"noun": canonical.noun, "canonical_name": canonical.table}
        yield from _render("refs.sql", more, family, **titles)
        if canonical.contradictions:
            yield from _render("contradictions.sql", more, family, **titles)
        if canonical.body:
            yield from _render("guard.sql", more, family, **titles)
        yield from _render("canonical_view.sql", more, family, **titles)


def _provenance(family: Family, names: Names) -> Iterator[DatabaseObject]:
    tables = [family.table_name("memory")]
    for canonical in family.spec.references.canonical:
        tables.append(family.refs_table(canonical))
        if canonical.contradictions:
            tables.append(family.contradictions_table(canonical))
    for column in family.spec.anchor.provenance:
        for table in tables:
            more: Names = {"table": family.qualified(table), "column": sql.Identifier(column)}
            titles = {"table_name": table, "column_name": column}
            yield from _render("provenance.sql", names | more, family, **titles)


def _admit_names(family: Family, names: Names, extensions: Extensions) -> Names:
    provenance = family.spec.anchor.provenance
    names = names | _provenance_names(family)
    names |= {
        "ledger_columns": raw(_LEDGER),
        "items": raw(templates.read("family/items.sql")),
        "provenance_values": _provenance_values(provenance, "item.provenance"),
        "provenance_refs": _provenance_values(provenance, "p_provenance"),
    }
    names["insert_memory"] = raw(templates.read("family/insert_memory.sql")).format(**names)
    lane = raw(templates.read("family/plain_lane.sql")).format(**names)
    return {
        **names,
        "plain_lane": raw("") if extensions.citus else lane,
        "careful_guard": _per_canonical(family, names, "careful_guard.sql", guarded=True),
        "insert_refs": _per_canonical(family, names, "insert_refs.sql", guarded=False),
        **{name: _link(names, **parts) for name, parts in _LINKS.items()},
    }


def _link(names: Names, **parts: str) -> Composable:
    """The statements that append one link, in one of the forms the admit function needs.

    Where the link tells of a new entry, row and link go in with one statement: starting a
    statement costs more than the insert.
    """
    before: Composable = raw("")
    if parts["entry"] == "item.memory":
        before = raw("WITH entry AS ({})").format(names["insert_memory"])
    values = {name: raw(text) for name, text in parts.items()} | {"before": before}
    return raw(templates.read("family/insert_link.sql")).format(**(names | values))


def _provenance_names(family: Family) -> Names:
    columns = (raw("{}, ").format(sql.Identifier(p)) for p in family.spec.anchor.provenance)
    return {"provenance_columns": raw("").join(columns)}


def _provenance_values(provenance: tuple[str, ...], source: str) -> Composable:
    values = (raw(f"{source} ->> {{}}, ").format(sql.Literal(p)) for p in provenance)
    return raw("").join(values)


def _remember(names: Names) -> Composable:
    """Keep an idempotency key beside the ledger row that it stands for."""
    return raw(templates.read("family/remember_key.sql")).format(
        **{k: names[k] for k in ("receipts", "anchor", "anchor_p")}
    )


def _per_canonical(family: Family, names: Names, path: str, *, guarded: bool) -> Composable:
    template = templates.read(f"family/{path}")
    return raw("\n").join(
        raw(template).format(**(names | canonical_names(family, c)))
        for c in family.spec.references.canonical
        if c.body or not guarded
    )


def _access(family: Family, names: Names) -> Iterator[DatabaseObject]:
    spec = family.spec
    for table in family.tables():
        # A profile is a tenant's, whatever the rest of the anchor.
        own = table == family.table_name("profiles")
        keys = spec.anchor.keys[:1] if own else spec.anchor.keys
        more: Names = {
            "table": family.qualified(table),
            "write_grants": raw(_write_grants(family, table)),
            "policy_using": scope.policy(spec.agent, keys, reading=True),
            "policy_check": scope.policy(spec.agent, keys, reading=False),
        }
        yield from _render("access.sql", names | more, family, table_name=table)


def _write_grants(family: Family, table: str) -> str:
    """What the application may do beyond reading. Append-only tables get INSERT and no more."""
    updates = {
        family.table_name("memory"): f"({_STATE})",
        family.table_name("anchors"): "(position, hash, at)",
        family.table_name("scopes"): "(closed_at)",
    }
    for canonical in family.spec.references.canonical:
        updates[family.contradictions_table(canonical)] = "(status, resolution_notes)"
    return f"INSERT, UPDATE {updates[table]}" if table in updates else "INSERT"
