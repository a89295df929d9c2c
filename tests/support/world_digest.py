"""What a demo world holds, told without ids, hashes and the day on which it was loaded.

Two loads into two databases must tell the same. Tables are named one by one, so that whoever adds
one decides whether it belongs here.
"""

# ruff: noqa: S608 - names of tables, put in by this file alone

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

_FAMILY = "worlds.world_agent_memory"
_KEYS = f"(SELECT org_id, anchor_id, domain_id FROM {_FAMILY}_anchors) k"
_WHERE = f"JOIN {_KEYS} USING (org_id, anchor_id) JOIN worlds.worlds w USING (org_id, domain_id)"
_ENTRY = f"JOIN {_FAMILY} m USING (org_id, anchor_id, memory_id) {_WHERE}"
_HERE = "org_id = ANY(%(o)s)"
_TOLD = {
    "rules": f"""SELECT w.name, v.created_at - %(b)s, v.version, v.source_strength, v.body_text
        FROM worlds.rule_versions v JOIN worlds.rules r USING (org_id, rule_id)
        JOIN worlds.worlds w ON w.org_id = r.org_id AND w.world_id = r.world_id
        WHERE v.{_HERE}""",
    "chain": f"""SELECT w.name, position, at - %(b)s, transition, decision, reason, actor_kind,
        actor, state_from, state_to FROM {_FAMILY}_ledger {_WHERE} WHERE {_HERE}""",
    "entries": f"""SELECT w.name, m.created_at - %(b)s, tier, typology, body_text, envelope::text,
        origin, trust, candidate, created_by, valid_at - %(b)s, invalid_at - %(b)s,
        archived_at - %(b)s, superseded_at - %(b)s, invalidated_at - %(b)s, deleted_at - %(b)s,
        exempt_at - %(b)s, meta_at - %(b)s
        FROM {_FAMILY} m {_WHERE} WHERE {_HERE}""",
    "corroborations": f"""SELECT w.name, m.body_text, c.corroborated_at - %(b)s, c.source_type,
        c.corroborated_by, c.notes, c.withdrawn_at - %(b)s
        FROM {_FAMILY}_corroborations c {_ENTRY} WHERE c.{_HERE}""",
    "contradictions": f"""SELECT w.name, m.body_text, c.observed_at - %(b)s,
        c.status, c.resolution_notes, c.resolved_at - %(b)s
        FROM worlds.world_agent_rule_contradictions c {_ENTRY} WHERE c.{_HERE}""",
    "reads": f"""SELECT w.name, m.body_text, r.read_at - %(b)s, r.read_by
        FROM {_FAMILY}_reads r {_ENTRY} WHERE r.{_HERE}""",
    "actions": f"""SELECT w.name, a.action_kind, a.linked_at - %(b)s, a.linked_by, m.body_text
        FROM {_FAMILY}_actions a {_ENTRY} WHERE a.{_HERE}""",
} | {
    f"{persona} {table}": query.format(family=f"persona_{persona}.persona_agent_{persona}")
    for persona in ("actor", "subconscious")
    for table, query in {
        "log": """SELECT position, ts - %(b)s, kind, visibility, content, metadata::text
            FROM {family}_log WHERE tenant_id = ANY(%(t)s)""",
        "ltm": """SELECT l.position, m.body_text, m.importance FROM {family}_memory m
            JOIN {family}_log l USING (tenant_id, anchor_id, event_id)
            WHERE m.tenant_id = ANY(%(t)s) AND m.archived_at IS NULL""",
        "stm": """SELECT m.valid_at - %(b)s, m.body_text FROM {family}_memory m
            WHERE m.tenant_id = ANY(%(t)s) AND m.loop_id IS NOT NULL AND m.archived_at IS NULL""",
    }.items()
}


def told(
    connection: psycopg.Connection[Any], organisations: Sequence[Any], begins: datetime
) -> dict[str, list[list[str]]]:
    """Everything that two loads have in common, by table."""
    tenants = [str(each) for each in organisations]
    values = {"o": list(organisations), "t": tenants, "b": begins}
    return {
        name: sorted([str(value) for value in row] for row in connection.execute(query, values))
        for name, query in _TOLD.items()
    }


def digest(content: dict[str, list[list[str]]]) -> str:
    """One number for all of it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
