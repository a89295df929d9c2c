"""The tables of an import: which move, in which order, and what their rows are made of."""

from __future__ import annotations

from idetic.store.family import Family
from idetic.store.payload_stripping import noun

# What others point at goes first. The anchor's row is the anchor itself, and the profiles are the
# tenant's: neither moves as a row. Prints are made of the canonical content that is there.
_FIRST = ("scopes", "ledger", "memory")
_STAYS = ("anchors", "profiles")


def moved(family: Family) -> list[str]:
    """The tables whose rows are an anchor's memory, in the order in which they can be filled."""
    first = [family.log_table] if family.log_table else []
    first += [family.table_name(table) for table in _FIRST]
    stays = [family.table_name(table) for table in _STAYS] + family.prints_tables()
    return first + [table for table in family.tables() if table not in (*first, *stays)]


def left_out(family: Family, table: str) -> set[str]:
    """Columns that are not part of a moved row: the anchor's, and what is derived or apart."""
    found = {family.keys[0], "anchor_id"}
    if table == family.table_name("memory"):
        found |= {"lexemes", "superseded_at", "superseded_by", "embed_attempts", "embed_error"}
        root = family.spec.anchor.root
        found |= {root.key} if root else set()
    if table == family.table_name("embeddings"):
        found.add("profile_id")
    return found


def take_function(family: Family, table: str) -> str:
    """The function that fills one table."""
    return f"{family.prefix}_take_{noun(family, table)}_v1"
