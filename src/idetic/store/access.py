"""Who may do what with each table of a family: grants, policies, and what may ever change."""

from __future__ import annotations

from idetic.store import scope
from idetic.store.family import Family
from idetic.store.payload_stripping import PAYLOAD, note_columns

# What may change of an entry; everything else about it is written once.
STATE = (
    *("valid_at", "invalid_at", "archived_at", "superseded_at", "invalidated_at", "deleted_at"),
    *("exempt_at", "meta_at", "superseded_by", "candidate"),
)


# What becomes of giving it a vector.
_EMBEDDED = ("embedding_id", "embed_attempts", "embed_error")


def table_names(family: Family, table: str) -> dict[str, str]:
    """What the SQL files may say of one table; what does not apply to it has no name."""
    names = {
        "table": family.qualified(table).as_string(None),
        "table_name": table,
        **_refusals(family, table),
        "write_grants": write_grants(family, table),
        **_policies(family, table),
    }
    memory, anchors, scopes, marks = map(
        family.table_name, ("memory", "anchors", "scopes", "marks")
    )
    if "UPDATE" not in names["write_grants"]:
        names["written_once"] = ""
    if table != memory:
        names["kept"] = ""
    if table == memory:
        names["guard"] = ""
    if table in (anchors, scopes, marks):
        names["worker"] = ""
    return names | _definers(family, table)


def _policies(family: Family, table: str) -> dict[str, str]:
    """What row-level security shows and takes of a table."""
    spec = family.spec
    keys = spec.anchor.keys
    if _of_tenant(family, table):
        own = scope.tenant_policy(spec.agent, keys[0])
        return {"policy_using": own, "policy_check": own}
    if table == family.table_name("anchors"):
        return {
            "policy_using": scope.keys_policy(spec.agent, keys, reading=True),
            "policy_check": scope.keys_policy(spec.agent, keys, reading=False),
        }
    return {
        "policy_using": scope.anchor_policy(spec.agent, keys, f"{family.prefix}_visible_v1"),
        "policy_check": scope.anchor_policy(spec.agent, keys, None),
    }


def _of_tenant(family: Family, table: str) -> bool:
    """A profile is a tenant's, whatever the rest of the anchor; canonical rows are too."""
    return table in (family.table_name("profiles"), *family.prints_tables())


def _definers(family: Family, table: str) -> dict[str, str]:
    """What the definer functions may do with a table, for those that touch it."""
    found = {}
    if not _of_tenant(family, table):
        found["mover_grants"] = _mover_grants(family, table)
    touched = map(family.table_name, ("memory", "actions", "reads", "receipts"))
    emptied = (family.log_table, family.notes_table)
    if table in (*touched, *emptied, *belongings(family), *note_columns(family)):
        found["keeper_grants"] = _keeper_grants(family, table)
    return found


def _mover_grants(family: Family, table: str) -> str:
    """What the mover's functions may do with a table: fill it, and say what replaced what."""
    if table == family.table_name("anchors"):
        return "SELECT"
    memory = table == family.table_name("memory")
    return f"SELECT, INSERT{', UPDATE (superseded_at, superseded_by)' if memory else ''}"


def _keeper_grants(family: Family, table: str) -> str:
    """What the keeper's functions may do with a table: drop with a scope, empty, never rewrite."""
    emptied = {
        table: f"UPDATE ({', '.join(columns)})" for table, columns in note_columns(family).items()
    }
    grants: dict[str | None, str] = {
        **{table: f"SELECT, {updates}" for table, updates in emptied.items()},
        family.table_name("memory"): f"SELECT, DELETE, UPDATE ({', '.join(PAYLOAD)})",
        family.table_name("actions"): "SELECT",
        family.table_name("receipts"): "SELECT, UPDATE (request_digest, idempotency_key)",
        family.log_table: "SELECT, UPDATE (content, metadata, salt)",
        family.notes_table: "SELECT, UPDATE (body)",
    }
    corroborations = family.table_name("corroborations")
    if corroborations in emptied:
        grants[corroborations] = f"SELECT, DELETE, {emptied[corroborations]}"
    return grants.get(table, "SELECT, DELETE")


def _refusals(family: Family, table: str) -> dict[str, str]:
    """Which trigger functions refuse changes to a table; some let an erasure by."""
    refuse = "idetic.refuse_change_v1"
    deletes = dict.fromkeys(belongings(family), f"{family.prefix}_release_v1")
    deletes[family.table_name("reads")] = f"{family.prefix}_erasable_v1"
    updates = {
        family.table_name("receipts"): f"{family.prefix}_forgotten_v1",
        family.log_table: f"{family.prefix}_log_emptied_v1",
        family.notes_table: f"{family.prefix}_notes_emptied_v1",
    }
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
    if table in (*family.prints_tables(), family.notes_table):
        # Not even that: whoever could add hints could bury one, and notes are the other persona's.
        return "SELECT"
    updates = {
        family.table_name("memory"): f"({', '.join((*STATE, *_EMBEDDED))})",
        family.table_name("anchors"): f"(position, hash, at{_log_end(family)})",
        family.table_name("scopes"): "(closed_at, renewed_at)",
        family.table_name("corroborations"): "(withdrawn_at)",
        family.table_name("marks"): "(position, marked_at)",
    }
    for canonical in family.spec.references.canonical:
        updates[family.contradictions_table(canonical)] = (
            "(status, resolution_notes, resolved_at, resolved_by)"
        )
    return f"INSERT, UPDATE {updates[table]}" if table in updates else "INSERT"


def _log_end(family: Family) -> str:
    return ", log_position, log_hash" if family.log_table else ""
