"""How content goes and rows stay: what the strip function empties, what the retention view asks."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql
from psycopg.sql import Composable

from idetic.model import Tier
from idetic.spec.typology import ScopeEnd
from idetic.store import templates
from idetic.store.canonical import canonical_names
from idetic.store.family import Family, Names
from idetic.store.scope import anchor_equals
from idetic.store.templates import raw

# What an entry says, in every form it is kept in; the rest of the row is its identity and life.
PAYLOAD = (
    *("body_text", "envelope", "claim_subject", "claim_attribute", "claim_value", "lexemes"),
    *("substance", "digest_salt", "embedding_id"),
)


def notes(family: Family) -> dict[str, tuple[str, ...]]:
    """The tables whose rows belong to an entry and hold free text, with the columns it is in."""
    found: dict[str, tuple[str, ...]] = {}
    if family.spec.references.corroborations:
        found[family.table_name("corroborations")] = ("notes",)
    for canonical in family.spec.references.canonical:
        if canonical.contradictions:
            found[family.contradictions_table(canonical)] = ("resolution_notes", "previous_notes")
    return found


def _notes_names(family: Family, table: str) -> Names:
    columns = [sql.Identifier(column) for column in notes(family)[table]]
    return {
        "table": family.qualified(table),
        "no_notes": raw(", ").join(raw("{} = NULL").format(column) for column in columns),
        "notes": raw(", ").join(raw("m.{}").format(column) for column in columns),
    }


def keeper_grants(family: Family, table: str) -> str:
    """What the keeper's functions may do with a table: drop with a scope, empty, never rewrite."""
    if table == family.table_name("memory"):
        return f"SELECT, DELETE, UPDATE ({', '.join(PAYLOAD)})"
    if table == family.table_name("actions"):
        return "SELECT"
    if table == family.table_name("corroborations"):
        return f"SELECT, DELETE, UPDATE ({', '.join(notes(family)[table])})"
    if table == family.table_name("receipts"):
        return "SELECT, UPDATE (request_digest, idempotency_key)"
    if table in notes(family):
        return f"SELECT, UPDATE ({', '.join(notes(family)[table])})"
    return "SELECT, DELETE"


def strip_names(family: Family, names: Names) -> Names:
    """What the strip function is put together from."""
    text = raw(templates.read("family/strip_notes.sql"))
    return {
        "payload": raw(", ").join(map(sql.Literal, PAYLOAD)),
        "strip_notes": raw("\n").join(
            text.format(**(names | _notes_names(family, table))) for table in notes(family)
        ),
    }


def row_id(family: Family, table: str) -> str:
    """The column that identifies a row of a table with notes."""
    own = table == family.table_name("corroborations")
    return "corroboration_id" if own else "contradiction_id"


def erase_names(family: Family, names: Names) -> Names:
    """What the erase function is put together from: the tables that hold notes about entries."""
    parts: dict[str, list[Composable]] = {"erase_counted": [], "erase_notes": []}
    for table in notes(family):
        more = _notes_names(family, table) | {
            "table_text": sql.Literal(noun(family, table)),
            "row_id": sql.Identifier(row_id(family, table)),
        }
        for part, texts in parts.items():
            template = raw(templates.read(f"family/{part}.sql"))
            texts.append(template.format(**(names | more)))
    return {part: raw("").join(texts) for part, texts in parts.items()}


def noun(family: Family, table: str) -> str:
    """What a table of a family is called within it: `ledger`, `rule_contradictions`."""
    if table == family.table_name("memory"):
        return "memory"
    return table.removeprefix(f"{family.name}_").removeprefix("memory_")


def retention_names(family: Family, names: Names) -> Names:
    """What the retention view asks: what else rests on an entry, and what goes with its scope."""
    spec = family.spec
    text = raw(templates.read("family/contradicted.sql"))
    same = {"anchor_m_is_c": anchor_equals(family.keys, "m", "c")}
    contradicted = (
        text.format(**(names | same | canonical_names(family, canonical)))
        for canonical in spec.references.canonical
        if canonical.contradictions
    )
    cells = list(_dropped_cells(family))
    among = raw("(m.tier, m.typology) IN ({})").format(raw(", ").join(cells))
    return {
        "contradicted": raw("\n").join(contradicted),
        "goes_with_scope": among if cells else raw("false"),
    }


def _dropped_cells(family: Family) -> Iterator[Composable]:
    spec = family.spec
    for tier, typology in spec.typology.cells():
        ends = spec.lifecycle_of(tier, typology).at_scope_end
        if tier is not Tier.PERSISTENT and ends is ScopeEnd.DROP:
            yield raw("({}, {})").format(sql.Literal(tier.value), sql.Literal(typology.value))
