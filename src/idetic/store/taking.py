"""How an export comes in: which tables move, in which order, and what their rows are made of."""

from __future__ import annotations

from psycopg import sql
from psycopg.sql import Composable

from idetic.store import templates
from idetic.store.disposal import noun
from idetic.store.family import Family, Names
from idetic.store.fragments import per_canonical
from idetic.store.templates import raw

# What others point at goes first. The anchor's row is the anchor itself, and the profiles are the
# tenant's: neither moves as a row. Prints are made of the canonical content that is there.
_FIRST = ("scopes", "ledger", "memory")
_STAYS = ("anchors", "profiles")


def moved(family: Family) -> list[str]:
    """The tables whose rows are an anchor's memory, in the order in which they can be filled."""
    first = [family.table_name(table) for table in _FIRST]
    stays = [family.table_name(table) for table in _STAYS] + family.prints_tables()
    return first + [table for table in family.tables() if table not in (*first, *stays)]


def left_out(family: Family, table: str) -> set[str]:
    """Columns that are not part of a moved row: the anchor's, and what is derived or apart."""
    found = set(family.keys)
    if table == family.table_name("memory"):
        found |= {"lexemes", "superseded_at", "superseded_by"}
        root = family.spec.anchor.root
        found |= {root.key} if root else set()
    if table == family.table_name("embeddings"):
        found.add("profile_id")
    return found


def take_names(family: Family, names: Names, table: str) -> Names:
    """What the function that fills one table is put together from."""
    made: list[Composable] = [
        raw("made.{} := {};").format(sql.Identifier(key), sql.Identifier(f"p_{key}"))
        for key in family.keys
    ]
    root = family.spec.anchor.root
    if table == family.table_name("memory"):
        made.append(raw("made.lexemes := to_tsvector('pg_catalog.english', made.body_text);"))
        if root is not None:
            made.append(raw("made.{0} := stands.{0};").format(sql.Identifier(root.key)))
    if table == family.table_name("embeddings"):
        made.append(raw(templates.read("family/take_vector.sql")))
    return {
        "take": take_function(family, table),
        "table": family.qualified(table),
        "take_checks": _checks(names),
        "made_of_anchor": raw("\n        ").join(made),
    }


def taken_names(family: Family, names: Names) -> Names:
    """What the function that ends it is put together from: the guard, over what came."""
    root = family.spec.anchor.root
    found = raw("root_key := stands.{};").format(sql.Identifier(root.key)) if root else raw("")
    return {
        "take_checks": _checks(names),
        "taken_root": found,
        "taken_locks": per_canonical(family, names, "taken_lock.sql", guarded=True),
        "settle_guard": per_canonical(family, names, "settle_guard.sql", guarded=True),
    }


def take_function(family: Family, table: str) -> sql.Identifier:
    """The function that fills one table."""
    return family.qualified(f"{family.name}_take_{noun(family, table)}_v1")


def _checks(names: Names) -> Composable:
    return raw(templates.read("family/take_checks.sql")).format(**names)
