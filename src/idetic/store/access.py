"""Who may do what with each table of a family: grants, policies, and what may ever change."""

from __future__ import annotations

from idetic.store import scope
from idetic.store.disposal import keeper_grants, notes
from idetic.store.family import Family, Names
from idetic.store.templates import raw

# What may change of an entry, by its type; everything else about it is written once.
STATE = {
    **dict.fromkeys(
        ("valid_at", "invalid_at", "archived_at", "superseded_at", "invalidated_at", "deleted_at",
         "exempt_at", "meta_at"),
        "timestamptz",
    ),
    "superseded_by": "uuid",
    "candidate": "boolean",
}  # fmt: skip


def access_names(family: Family, table: str) -> Names:
    """The names that the access templates of one table need."""
    spec = family.spec
    # A profile is a tenant's, whatever the rest of the anchor; canonical rows are too.
    own = table in (family.table_name("profiles"), *family.prints_tables())
    keys = spec.anchor.keys[:1] if own else spec.anchor.keys
    return {
        "table": family.qualified(table),
        "write_grants": raw(write_grants(family, table)),
        "keeper_grants": raw(keeper_grants(family, table)),
        "mover_grants": raw(mover_grants(family, table)),
        "policy_using": scope.policy(spec.agent, keys, reading=True),
        "policy_check": scope.policy(spec.agent, keys, reading=False),
    }


def access_templates(family: Family, table: str) -> list[str]:
    """Which templates apply to a table: the application's always, the other roles' as needed."""
    found = ["access.sql"]
    if table not in (family.table_name("profiles"), *family.prints_tables()):
        found.append("access_mover.sql")
    memory, actions = map(family.table_name, ("memory", "actions"))
    reads, receipts = map(family.table_name, ("reads", "receipts"))
    if table in (memory, actions, reads, receipts, *belongings(family), *notes(family)):
        found.append("access_keeper.sql")
    if table == memory:
        found.append("access_guard.sql")
    if table in map(family.table_name, ("anchors", "scopes", "marks")):
        found.append("access_worker.sql")
    return found


def mover_grants(family: Family, table: str) -> str:
    """What the mover's functions may do with a table: fill it, and say what replaced what."""
    if table == family.table_name("anchors"):
        return "SELECT"
    memory = table == family.table_name("memory")
    return f"SELECT, INSERT{', UPDATE (superseded_at, superseded_by)' if memory else ''}"


def refusals(family: Family, names: Names, table: str) -> Names:
    """Which trigger functions refuse changes to a table; some let an erasure by."""
    refuse = raw("idetic.refuse_change_v1")
    deletes = dict.fromkeys(belongings(family), names["release"])
    deletes[family.table_name("reads")] = names["erasable"]
    updates = {family.table_name("receipts"): names["forgotten"]}
    return {
        "refuse_delete": deletes.get(table, refuse),
        "refuse_update": updates.get(table, refuse),
    }


def belongings(family: Family) -> list[str]:
    """The tables whose rows belong to an entry and go with it."""
    tables = [family.table_name("embeddings"), family.table_name("lineage")]
    if family.spec.references.corroborations:
        tables.append(family.table_name("corroborations"))
    return [*tables, *(family.refs_table(c) for c in family.spec.references.canonical)]


def write_grants(family: Family, table: str) -> str:
    """What the application may do beyond reading. Append-only tables get INSERT and no more."""
    if table in family.prints_tables():
        # Not even that: whoever could add hints could bury one.
        return "SELECT"
    updates = {
        family.table_name("memory"): f"({', '.join(STATE)}, embedding_id)",
        family.table_name("anchors"): "(position, hash, at)",
        family.table_name("scopes"): "(closed_at, renewed_at)",
        family.table_name("corroborations"): "(withdrawn_at)",
        family.table_name("marks"): "(position, marked_at)",
    }
    for canonical in family.spec.references.canonical:
        updates[family.contradictions_table(canonical)] = (
            "(status, resolution_notes, resolved_at, resolved_by)"
        )
    return f"INSERT, UPDATE {updates[table]}" if table in updates else "INSERT"
