"""What Citus asks of a distributed table: each rule in words, with what to do if it is broken."""

from __future__ import annotations

from dataclasses import dataclass

from idetic.store.distribution import BrokenRule


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what is the matter where it is broken, and how to mend it."""

    message: str
    remedy: str


RULES = {
    "missing": Rule(
        "It is not there, although a spec that this database holds asks for it.",
        "Restore it from a backup, or apply the spec to a new database.",
    ),
    "tenant_column": Rule(
        "It has no column {tenant}, and foreign keys tie it to tables that are distributed by it.",
        "Add the column to the table and to the keys, make it a reference table on Citus "
        "(`SELECT create_reference_table(…)`), or drop the foreign key.",
    ),
    "tenant_type": Rule(
        "{tenant} is {about}; tables that lie together have one exact type, here {type}.",
        "ALTER TABLE {table} ALTER COLUMN {tenant} TYPE {type}.",
    ),
    "tenant_null": Rule(
        "{tenant} may be null, and a row without a tenant belongs to no shard.",
        "ALTER TABLE {table} ALTER COLUMN {tenant} SET NOT NULL.",
    ),
    "tenant_generated": Rule(
        "{tenant} is a generated column, which cannot decide where a row goes.",
        "ALTER TABLE {table} ALTER COLUMN {tenant} DROP EXPRESSION.",
    ),
    "primary_key": Rule(
        "It has no primary key.", "Give it one that begins with {tenant}, and a name."
    ),
    "key_lead": Rule(
        "The key {about} does not begin with {tenant}; across shards nobody would watch it.",
        "Make it anew with {tenant} as its first column.",
    ),
    "foreign_lead": Rule(
        "The foreign key {about} does not begin with {tenant} on both sides.",
        "Make it anew over {tenant} and the id, and a unique key to refer to if there is none.",
    ),
    "foreign_action": Rule(
        "The foreign key {about} sets null or a default, cascades an update, or is deferrable.",
        "Make it anew: ON DELETE RESTRICT or CASCADE, nothing ON UPDATE, not deferrable.",
    ),
    "policy_subquery": Rule(
        "The policy {about} holds a subquery.",
        "Write it with columns and current_setting() alone.",
    ),
    "trigger_always": Rule(
        "The trigger {about} is enabled ALWAYS, so it would fire once more where shards are moved.",
        "ALTER TABLE {table} ENABLE TRIGGER {about}.",
    ),
    "cycle": Rule(
        "Foreign keys lead from it back to it, by way of {about}: no order suits them all.",
        "Drop one of these foreign keys, distribute, and add it again.",
    ),
    "placed": Rule(
        "Citus has it already, but not by {tenant} in the group of the others.",
        "Look at it in `citus_tables`; `SELECT undistribute_table(…)`, then call again.",
    ),
}


def breach(rule: str, table: str, tenant: str, kind: str, about: str = "") -> BrokenRule:
    """One broken rule, in words."""
    said = {"table": table, "tenant": tenant, "type": kind, "about": about}
    words = RULES[rule]
    return BrokenRule(table, rule, words.message.format(**said), words.remedy.format(**said))
