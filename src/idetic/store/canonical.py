"""Names for what the spec points at outside the family: the anchor's root, canonical tables."""

from __future__ import annotations

from psycopg import sql

from idetic.spec.memory_spec import GuardRole, MemorySpec
from idetic.spec.primitives import Canonical
from idetic.store.family import Family
from idetic.store.scope import quoted


def qualified(table: str) -> str:
    """`schema.table` as SQL."""
    return sql.Identifier(*table.split(".", 1)).as_string(None)


def pointed_at(spec: MemorySpec) -> list[str]:
    """Every table outside the family that the spec points at, once each."""
    tables = [spec.anchor.root.table] if spec.anchor.root else []
    for canonical in spec.references.canonical:
        tables += [canonical.table, *([canonical.versions] if canonical.versions else [])]
    return list(dict.fromkeys(tables))


def root_names(spec: MemorySpec) -> dict[str, str]:
    """The anchor's root: a column on every entry, looked up once per anchor."""
    root = spec.anchor.root
    if root is None:
        return {}
    return {
        "root": qualified(root.table),
        "root_text": root.table,
        "root_id": quoted(root.key),
        "root_noun": root.noun,
    }


def canonical_names(family: Family, canonical: Canonical) -> dict[str, str]:
    """What the SQL files may name of one canonical noun."""
    names = {
        "noun": canonical.noun,
        "canonical": qualified(canonical.table),
        "canonical_text": canonical.table,
        "canonical_schema": quoted(canonical.table.split(".", 1)[0]),
        "canonical_id": quoted(canonical.key),
        "primary": str(family.spec.leak_defence.guard is GuardRole.PRIMARY).lower(),
    }
    for name, column in (
        ("canonical_body", canonical.body),
        ("canonical_strength", canonical.strength),
        ("canonical_version", canonical.version if canonical.versions else None),
        ("canonical_scope", canonical.scope if family.spec.anchor.root else None),
    ):
        if column:
            names[name] = quoted(column)
    if canonical.versions:
        names["canonical_versions"] = qualified(canonical.versions)
    return names
