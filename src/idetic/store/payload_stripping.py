"""How content goes and rows stay: what an entry says, and where else something is said about it."""

from __future__ import annotations

from idetic.store.family import Family

# What an entry says, in every form it is kept in; the rest of the row is its identity and life.
# `emptied` in sql/family/triggers.sql names the same.
PAYLOAD = (
    *("body_text", "envelope", "claim_subject", "claim_attribute", "claim_value", "lexemes"),
    *("digest_salt", "embedding_id"),
)


def note_columns(family: Family) -> dict[str, tuple[str, ...]]:
    """The tables whose rows belong to an entry and hold free text, with the columns it is in."""
    found: dict[str, tuple[str, ...]] = {}
    if family.spec.references.corroborations:
        found[family.table_name("corroborations")] = ("notes",)
    for canonical in family.spec.references.canonical:
        if canonical.contradictions:
            found[family.contradictions_table(canonical)] = ("resolution_notes", "previous_notes")
    return found


def noted_names(family: Family, table: str) -> dict[str, str]:
    """What the SQL files may say of a table with notes."""
    columns = note_columns(family)[table]
    return {
        "table": family.qualified(table).as_string(None),
        "noted": noun(family, table),
        "row_id": row_id(family, table),
        "no_notes": ", ".join(f"{column} = NULL" for column in columns),
        "notes": ", ".join(f"m.{column}" for column in columns),
    }


def row_id(family: Family, table: str) -> str:
    """The column that identifies a row of a table with notes."""
    own = table == family.table_name("corroborations")
    return "corroboration_id" if own else "contradiction_id"


def noun(family: Family, table: str) -> str:
    """What a table of a family is called within it: `ledger`, `rule_contradictions`."""
    if table == family.table_name("memory"):
        return "memory"
    return table.removeprefix(f"{family.name}_").removeprefix("memory_")
