"""Names for what the spec points at outside the family: the anchor's root, canonical tables."""

from __future__ import annotations

from psycopg import sql

from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Canonical, GuardRole
from idetic.store.family import Family, Names
from idetic.store.templates import raw

_EMPTY = raw("")
_CONSTRAINTS = (
    *("refs_pkey", "refs_once", "refs_memory", "refs_version", "refs_canonical"),
    *("contradictions_notes", "contradictions_pkey", "contradictions_memory"),
    *("contradictions_canonical", "prints_pkey"),
)


def qualified(table: str) -> sql.Identifier:
    """`schema.table` as an identifier."""
    return sql.Identifier(*table.split(".", 1))


def pointed_at(spec: MemorySpec) -> list[str]:
    """Every table outside the family that the spec points at, once each."""
    tables = [spec.anchor.root.table] if spec.anchor.root else []
    for canonical in spec.references.canonical:
        tables += [canonical.table, *([canonical.versions] if canonical.versions else [])]
    return list(dict.fromkeys(tables))


def root_names(spec: MemorySpec) -> Names:
    """The anchor's root: a column on every entry, looked up once per write; or nothing."""
    root = spec.anchor.root
    if root is None:
        empty = ("def", "fk", "declare", "lookup", "target", "column", "value")
        names: Names = {f"root_{name}": _EMPTY for name in empty}
        return names | {"anchors_root": _EMPTY, "root_or_null": raw("NULL::uuid")}
    family = Family(spec)
    keys = [sql.Identifier(k) for k in family.keys]
    anchor = raw(", ").join(keys)
    key = sql.Identifier(root.key)
    same = raw(" AND ").join(
        raw("c.{} = {}").format(sql.Identifier(k), sql.Identifier(f"p_{k}")) for k in family.keys
    )
    missing = raw(
        "IF NOT FOUND THEN RAISE EXCEPTION 'idetic.anchor_not_found: no {noun} for this anchor' "
        "USING ERRCODE = 'ID005', DETAIL = {detail}; END IF;"
    ).format(noun=raw(root.noun), detail=sql.Literal(f"{root.noun} {root.table}"))
    table = qualified(root.table)
    return {
        "root_def": raw("{} uuid NOT NULL,").format(key),
        "root_fk": raw(
            "CONSTRAINT {} FOREIGN KEY ({}, {}) REFERENCES {} ({}, {}) ON DELETE RESTRICT,"
        ).format(sql.Identifier(f"{family.name}_memory_root"), anchor, key, table, anchor, key),
        "root_or_null": raw("root_key"),
        "root_declare": raw("root_key uuid;"),
        "root_lookup": raw("SELECT c.{} INTO root_key FROM {} c WHERE {}; {}").format(
            key, table, same, missing
        ),
        "anchors_root": raw(", a.{}").format(key),
        "root_target": raw(", root_key"),
        "root_column": raw("{}, ").format(key),
        "root_value": raw("root_key, "),
    }


def canonical_names(family: Family, canonical: Canonical) -> Names:
    """Everything the templates may say about one canonical noun."""
    if canonical.noun not in family.nouns:
        family.nouns[canonical.noun] = _composed(family, canonical)
    return dict(family.nouns[canonical.noun])


def _composed(family: Family, canonical: Canonical) -> Names:
    prefix = f"{family.name}_{canonical.noun}"
    names: Names = {
        "noun": sql.Literal(canonical.noun),
        "noun_text": raw(canonical.noun),
        "canonical": qualified(canonical.table),
        "canonical_text": sql.Literal(canonical.table),
        "canonical_schema": sql.Identifier(canonical.table.split(".", 1)[0]),
        "canonical_id": sql.Identifier(canonical.key),
        "canonical_body": sql.Identifier(canonical.body or canonical.key),
        "refs": family.qualified(family.refs_table(canonical)),
        "contradictions": family.qualified(family.contradictions_table(canonical)),
        "shadow": family.qualified(f"{prefix}_shadow_v1"),
        "guard": family.qualified(f"{prefix}_guard_v1"),
        "suspects": family.qualified(f"{prefix}_suspects_v1"),
        "restated": family.qualified(f"{prefix}_restated_v1"),
        "prints_table": family.qualified(family.prints_table(canonical)),
        "print_row": family.qualified(f"{prefix}_print_v1"),
        "t_print": sql.Identifier(f"{family.name}_print"),
        "primary": sql.Literal(family.spec.leak_defence.guard is GuardRole.PRIMARY),
        "contradiction_turn": family.qualified(f"{prefix}_contradiction_turn_v1"),
        "t_guard": sql.Identifier(f"{canonical.noun}_shadow_guard"),
        "v_canonical": family.qualified(f"{family.name}_memory_with_{canonical.noun}"),
        "i_shadow": sql.Identifier(f"{prefix}_shadow_idx"),
        "i_refs_canonical": sql.Identifier(f"{prefix}_refs_canonical_idx"),
        "i_contradictions_memory": sql.Identifier(f"{prefix}_contradictions_memory_idx"),
        "i_contradictions_open": sql.Identifier(f"{prefix}_contradictions_open_idx"),
    }
    for part in _CONSTRAINTS:
        names[f"c_{part}"] = sql.Identifier(f"{prefix}_{part}")
    return (
        names
        | _version_names(family, canonical)
        | _scope_names(family, canonical)
        | _view(canonical)
    )


def _version_names(family: Family, canonical: Canonical) -> Names:
    if not canonical.versions or not canonical.version:
        empty = ("canonical_version_def", "canonical_version_fk", "pin_column", "pin_value")
        return {**dict.fromkeys(empty, _EMPTY), "pin_select": raw("NULL::integer")}
    pinned = sql.Identifier(f"{canonical.noun}_version")
    version = sql.Identifier(canonical.version)
    tenant, key = sql.Identifier(family.keys[0]), sql.Identifier(canonical.key)
    return {
        "canonical_version_def": raw("{} integer NOT NULL,").format(pinned),
        "canonical_version_fk": raw(
            "CONSTRAINT {} FOREIGN KEY ({}, {}, {}) REFERENCES {} ({}, {}, {}) ON DELETE RESTRICT,"
        ).format(
            sql.Identifier(f"{family.name}_{canonical.noun}_refs_version"),
            *(tenant, key, pinned),
            qualified(canonical.versions),
            *(tenant, key, version),
        ),
        "pin_column": raw("{}, ").format(pinned),
        "pin_value": raw("coalesce(ref.version, pin), "),
        "pin_select": raw("c.{}").format(version),
    }


def _scope_names(family: Family, canonical: Canonical) -> Names:
    """How the guard narrows its look-up: by the anchor's root where the canonical table has it."""
    root = family.spec.anchor.root
    tenant = sql.Identifier(family.keys[0])
    if not canonical.scope or root is None:
        empty = (
            "shadow_scope_param",
            "shadow_scope_is",
            "shadow_scope_new",
            "shadow_scope_root",
            "shadow_scope_value",
            "ref_scope_is",
        )
        none = dict.fromkeys(("print_scope_new", "print_scope_c", "print_scope_p"), raw("''"))
        body = sql.Identifier(canonical.body or canonical.key)
        return {
            **dict.fromkeys(empty, _EMPTY),
            **none,
            "print_columns": body,
            "shadow_lead": tenant,
        }
    column = sql.Identifier(canonical.scope)
    return {
        "print_columns": raw("{}, {}").format(
            sql.Identifier(canonical.body or canonical.key), column
        ),
        "print_scope_new": raw("NEW.{}::text").format(column),
        "print_scope_c": raw("c.{}::text").format(column),
        "print_scope_p": raw("p_root::text"),
        "shadow_scope_param": raw("p_root uuid,"),
        "shadow_scope_is": raw("AND c.{} = p_root").format(column),
        "shadow_scope_new": raw("NEW.{},").format(sql.Identifier(root.key)),
        "shadow_scope_root": raw("root_key,"),
        "shadow_scope_value": raw("p_root,"),
        "ref_scope_is": raw("AND c.{} = root_key").format(column),
        "shadow_lead": raw("{}, {}").format(tenant, column),
    }


def _view(canonical: Canonical) -> Names:
    parts = [
        raw("c.{} AS {}, ").format(sql.Identifier(c), sql.Identifier(f"{canonical.noun}_{c}"))
        for c in (canonical.body, canonical.strength)
        if c
    ]
    if canonical.versions and canonical.version:
        parts.append(
            raw("r.{} AS pinned_version, c.{} AS current_version, ").format(
                sql.Identifier(f"{canonical.noun}_version"), sql.Identifier(canonical.version)
            )
        )
    versioned = bool(canonical.versions and canonical.version)
    return {
        "view_columns": raw("").join(parts),
        # The same columns as a query on the view asks for them, where the noun has them.
        "seen_text": _seen(canonical.body and f"{canonical.noun}_{canonical.body}"),
        "seen_strength": _seen(canonical.strength and f"{canonical.noun}_{canonical.strength}"),
        "seen_pinned": _seen("pinned_version" if versioned else None, "integer"),
        "seen_version": _seen("current_version" if versioned else None, "integer"),
    }


def _seen(column: str | None, kind: str = "text") -> sql.Composable:
    name = sql.Identifier("v", column) if column else raw("NULL")
    return raw("{}::{}").format(name, raw(kind))
