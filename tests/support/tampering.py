"""Tampering with one anchor as only a superuser can: triggers off, one fault at a time.

Each fault is a function of a random generator and an open transaction; it returns what it did, the
kinds a verification may call it, and the positions it may name (None: any). Rows are put back
after each, from copies.
"""

# ruff: noqa: S608 - every name and value in the statements is this file's own
from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from idetic.audit.findings import ProblemKind
from idetic.spec.loader import load
from idetic.store.family import families, noun
from tests.support.chain import narrow_key

LEDGER = "worlds.world_agent_memory_ledger"
ANCHORS = "worlds.world_agent_memory_anchors"
MEMORY = "worlds.world_agent_memory"
RECEIPTS = "worlds.world_agent_memory_receipts"
ACTIONS = "worlds.world_agent_memory_actions"
LINEAGE = "worlds.world_agent_memory_lineage"
FAMILY = families(load("world_agent"))[0]
# Every table of the agent, as the catalog has them: what is new is tampered with by itself.
TABLES = tuple(f"worlds.{table}" for table in FAMILY.tables())
# What a verification cannot show, by table: all of it, or some columns. docs/explanation/audit.md
# has the same list.
UNSHOWN: dict[str, frozenset[str] | None] = {
    "embeddings": None,
    "profiles": None,
    "marks": None,
    # `reconcile` compares these with the entries.
    "segments": None,
    "words": None,
    "rule_prints": None,
    "scopes": frozenset({"renewed_at"}),
    "memory": frozenset({"lexemes", "embedding_id", "embed_attempts", "embed_error"}),
}

ALTERED, MISSING, REORDERED = ProblemKind.ALTERED, ProblemKind.MISSING, ProblemKind.REORDERED
INSERTED, CUT, FORKED = ProblemKind.INSERTED, ProblemKind.CUT, ProblemKind.FORKED

# What makes a column say something else, whatever it says.
_OTHER_ENUM = (
    "(SELECT e FROM unnest(enum_range(NULL::idetic.{0})) e WHERE e <> t.{1} "
    "ORDER BY random() LIMIT 1)"
)
LINK_FLIPS = {
    "position": ["t.position + 1000", "-t.position", "0"],
    "receipt_id": ["gen_random_uuid()"],
    "at": [
        "t.at + interval '1 microsecond'",
        "t.at - interval '1 day'",
        "'infinity'",
        "'-infinity'",
    ],
    "transition": ["t.transition || 'x'", "upper(t.transition)"],
    "decision": [_OTHER_ENUM.format("decision", "decision")],
    "memory_id": ["gen_random_uuid()", "CASE WHEN t.memory_id IS NULL THEN gen_random_uuid() END"],
    "actor_kind": [_OTHER_ENUM.format("principal", "actor_kind")],
    "actor": ["t.actor || ' '", "''"],
    "reason": ["t.reason || '.'", "reverse(t.reason) || 'é'", "''"],
    "state_from": ["coalesce(t.state_from, '') || 'x'"],
    "state_to": ["coalesce(t.state_to, '') || 'x'"],
    "detail": [
        "t.detail || '{\"x\": 1}'",
        "'[1.0]'",
        "'null'",
        't.detail || \'{"scope": "\\u001f"}\'',
    ],
    "prev_hash": ["set_byte(t.prev_hash, 3, get_byte(t.prev_hash, 3) # 1)", "''"],
    "hash": ["set_byte(t.hash, 30, get_byte(t.hash, 30) # 7)", "t.prev_hash", "''"],
    "org_id": ["gen_random_uuid()"],
    "anchor_id": ["gen_random_uuid()"],
}
ENTRY_FLIPS = {
    "body_text": ["t.body_text || ' '", "'Nothing of the kind.'"],
    "envelope": ['t.envelope || \'{"topic": "other"}\''],
    "content_hash": ["set_byte(t.content_hash, 0, get_byte(t.content_hash, 0) # 1)"],
    "digest_salt": ["set_byte(t.digest_salt, 0, get_byte(t.digest_salt, 0) # 1)", "NULL"],
    "claim_value": ["coalesce(t.claim_value, '') || 'x'"],
    "created_by": ["'operator:nobody'"],
    "created_at": ["t.created_at - interval '1 microsecond'"],
    "origin": [_OTHER_ENUM.format("origin", "origin")],
    "trust": ["abs(t.trust - 1)", "CASE t.trust WHEN 100 THEN 0 ELSE 100 END"],
    # The other way round no row could stand: a transient one has a session.
    "tier": ["CASE t.tier WHEN 'session' THEN 'persistent' ELSE t.tier END"],
    "typology": [_OTHER_ENUM.format("typology", "typology")],
    "provenance": [
        "coalesce(t.provenance, '{}') || '{\"world_model_version\": \"x\"}'",
        "coalesce(t.provenance, '{}') || '{\"made_up\": \"x\"}'",
        "'[1.0]'",
        "NULL",
    ],
    "archived_at": ["CASE WHEN t.archived_at IS NULL THEN now() END"],
    "candidate": ["NOT t.candidate"],
    "exempt_at": ["CASE WHEN t.exempt_at IS NULL THEN now() END"],
    "meta_at": ["now()"],
    "core_at": ["CASE WHEN t.core_at IS NULL THEN now() END"],
    "superseded_at": ["t.superseded_at - interval '1 day'"],
    "memory_id": ["gen_random_uuid()"],
}
ANCHOR_FLIPS = {
    "position": ["t.position + 1", "t.position - 1", "0"],
    "hash": ["set_byte(t.hash, 0, get_byte(t.hash, 0) # 1)"],
    "at": ["t.at + interval '1 microsecond'", "'infinity'"],
    "anchor_id": ["gen_random_uuid()"],
    "domain_id": ["gen_random_uuid()"],
}
# A link's own hash made right again for what it says now.
_REHASH = f"""UPDATE {LEDGER} t SET hash = sha256(t.prev_hash || idetic.link_content_v1(
    t.position, t.receipt_id, t.at, t.transition, t.decision, t.memory_id, t.actor_kind, t.actor,
    t.reason, t.state_from, t.state_to, t.detail)) WHERE {{here}} AND position = %(p)s"""


@dataclass(frozen=True)
class Fault:
    """One fault that was made."""

    what: str
    kinds: frozenset[ProblemKind]
    positions: frozenset[int] | None = None
    needs_head: bool = False


class Tamperer:
    """A superuser's hands on one anchor."""

    def __init__(self, dsn: str, anchor: dict[str, Any]):
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.connection.execute("SET session_replication_role = replica")
        tenant, value = next(iter(anchor.items()))
        narrow = narrow_key([*anchor.values()])
        values = f"t.{tenant} = '{value}' AND t.anchor_id = '{narrow}'"
        self.here = values
        for table in TABLES:
            self.run(f"CREATE TEMP TABLE {_copy(table)} AS SELECT * FROM {table}")
        self.length: int = self.one(f"SELECT max(position) FROM {LEDGER} t WHERE {values}")

    def run(self, statement: str, **values: Any) -> psycopg.Cursor[Any]:
        return self.connection.execute(statement.encode(), values)

    def one(self, statement: str, **values: Any) -> Any:
        row = self.run(statement, **values).fetchone()
        assert row is not None
        return row[0]

    def restore(self) -> None:
        """Everything as it was: also what a fault moved to another anchor."""
        with self.connection.transaction():
            for table in TABLES:
                self.run(f"DELETE FROM {table}")
                self.run(f"INSERT INTO {table} SELECT * FROM {_copy(table)}")

    def flip(self, table: str, column: str, value: str, **where: Any) -> int:
        key = next(iter(where))
        return self.run(
            f"UPDATE {table} t SET {column} = {value} WHERE {self.here} AND t.{key} = %({key})s "
            f"AND t.{column} IS DISTINCT FROM ({value})",
            **where,
        ).rowcount


def _copy(table: str) -> str:
    return "kept_" + table.removeprefix("worlds.")


Make = Callable[[Tamperer, random.Random], Fault | None]


def flip_link(hands: Tamperer, rng: random.Random) -> Fault | None:
    column = rng.choice(sorted(LINK_FLIPS))
    value, position = rng.choice(LINK_FLIPS[column]), rng.randint(1, hands.length)
    if not hands.flip(LEDGER, column, value, position=position):
        return None
    moved = column in ("position", "org_id", "anchor_id")
    kinds = {MISSING, CUT, INSERTED} if moved else {ALTERED}
    return Fault(f"{column} of link {position} = {value}", frozenset(kinds), frozenset({position}))


def rewrite_link(hands: Tamperer, rng: random.Random) -> Fault:
    """Altered, with its own hash made right: only what follows can tell."""
    position = rng.randint(1, hands.length)
    hands.flip(LEDGER, "reason", "t.reason || '!'", position=position)
    hands.run(_REHASH.format(here=hands.here), p=position)
    named = frozenset({position, position + 1})
    return Fault(f"link {position} rewritten", frozenset({FORKED, ALTERED}), named)


def delete_link(hands: Tamperer, rng: random.Random) -> Fault:
    position, close = rng.randint(1, hands.length - 2), rng.random() < 0.5
    hands.run(f"DELETE FROM {LEDGER} t WHERE {hands.here} AND position = %(p)s", p=position)
    if close:
        _renumber(hands, position, -1)
    how = "and the rest renumbered" if close else ""
    return Fault(f"link {position} deleted {how}", frozenset({MISSING}), frozenset({position}))


def _renumber(hands: Tamperer, after: int, by: int) -> None:
    # Twice, by way of negative positions: the primary key is checked row by row.
    hands.run(f"UPDATE {LEDGER} t SET position = -(position + %(by)s) "
              f"WHERE {hands.here} AND position > %(p)s", p=after, by=by)  # fmt: skip
    hands.run(f"UPDATE {LEDGER} t SET position = -position WHERE {hands.here} AND position < 0")


def swap_links(hands: Tamperer, rng: random.Random) -> Fault:
    one, other = sorted(rng.sample(range(1, hands.length + 1), 2))
    if rng.random() < 0.4:
        other = one + 1
    for old, new in ((one, -1), (other, one), (-1, other)):
        hands.run(f"UPDATE {LEDGER} t SET position = %(new)s "
                  f"WHERE {hands.here} AND position = %(old)s", new=new, old=old)  # fmt: skip
    return Fault(
        f"links {one} and {other} swapped", frozenset({REORDERED}), frozenset({one, other})
    )


def insert_link(hands: Tamperer, rng: random.Random) -> Fault:
    """A link of the attacker's own, with a right hash: in between, at the end, or before all."""
    position = rng.choice([rng.randint(1, hands.length - 1), hands.length, -1])
    if 0 < position < hands.length:
        _renumber(hands, position, 1)
    source = max(position, 1)
    hands.run(f"""INSERT INTO {LEDGER} SELECT t.org_id, t.anchor_id, %(p)s + 1, gen_random_uuid(),
        t.at, 'archived', 'UPDATE', NULL, 'operator', 'eve', 'nothing', NULL, NULL, '{{}}', t.hash,
        t.hash FROM {LEDGER} t WHERE {hands.here} AND t.position = %(s)s""",
        p=position, s=source)  # fmt: skip
    hands.run(_REHASH.format(here=hands.here), p=position + 1)
    return Fault(f"link inserted at {position + 1}", frozenset({INSERTED}),
                 frozenset({position + 1}))  # fmt: skip


def cut_tail(hands: Tamperer, rng: random.Random) -> Fault:
    """With the anchor's row put right only an exported head can tell; else the row does."""
    left, hidden = rng.randint(hands.length - 12, hands.length - 1), rng.random() < 0.6
    hands.run(f"DELETE FROM {LEDGER} t WHERE {hands.here} AND position > %(p)s", p=left)
    if hidden:
        hands.run(f"""UPDATE {ANCHORS} t SET position = l.position, hash = l.hash, at = l.at
            FROM {LEDGER} l WHERE {hands.here} AND l.org_id = t.org_id AND l.anchor_id = t.anchor_id
            AND l.position = %(p)s""", p=left)  # fmt: skip
    how = "and the end moved" if hidden else ""
    return Fault(f"cut after {left} {how}", frozenset({CUT}), frozenset({left + 1}), hidden)


def flip_anchor(hands: Tamperer, rng: random.Random) -> Fault | None:
    column = rng.choice([*sorted(ANCHOR_FLIPS), "all"])
    if column == "all":
        hands.run(f"DELETE FROM {ANCHORS} t WHERE {hands.here}")
        return Fault("the anchor's row deleted", frozenset({MISSING}))
    value = rng.choice(ANCHOR_FLIPS[column])
    hands.run(f"UPDATE {ANCHORS} t SET {column} = {value} WHERE {hands.here}")
    kinds = {MISSING} if column.endswith("_id") else {ALTERED, CUT, INSERTED}
    return Fault(f"{column} of the anchor's row = {value}", frozenset(kinds))


def change_entry(hands: Tamperer, rng: random.Random) -> Fault | None:
    ids = hands.run(f"SELECT memory_id FROM {MEMORY} t WHERE {hands.here} ORDER BY 1").fetchall()
    (entry,) = rng.choice(ids)
    column = rng.choice([*sorted(ENTRY_FLIPS), "all"])
    if column == "all":
        hands.run(f"DELETE FROM {MEMORY} t WHERE {hands.here} AND memory_id = %(e)s", e=entry)
        return Fault(f"entry {entry} deleted", frozenset({MISSING}))
    value = rng.choice(ENTRY_FLIPS[column])
    if not hands.flip(MEMORY, column, value, memory_id=entry):
        return None
    kinds = {INSERTED} if column == "memory_id" else {ALTERED}
    return Fault(f"{column} of entry {entry} = {value}", frozenset(kinds))


def forge_lineage(hands: Tamperer, rng: random.Random) -> Fault | None:
    """A source of an entry, said to have been another than it was."""
    ids = hands.run(f"SELECT source_id FROM {LINEAGE} t WHERE {hands.here} ORDER BY 1").fetchall()
    (source,) = rng.choice(ids)
    column = rng.choice(("origin", "trust"))
    value = rng.choice(ENTRY_FLIPS[column])
    if not hands.flip(LINEAGE, column, value, source_id=source):
        return None
    return Fault(f"{column} of source {source} = {value}", frozenset({ALTERED}))


def loosen(hands: Tamperer, rng: random.Random) -> Fault:
    """What points from beside the chain: an idempotency key, an action."""
    which = rng.choice(("receipt", "action gone", "action made up"))
    if which == "receipt":
        hands.run(f"UPDATE {RECEIPTS} t SET position = position + 5000 WHERE {hands.here}")
    elif which == "action gone":
        hands.run(f"DELETE FROM {ACTIONS} t WHERE {hands.here}")
    else:
        hands.run(f"UPDATE {ACTIONS} t SET action_id = gen_random_uuid() WHERE {hands.here}")
    return Fault(which, frozenset({MISSING, INSERTED}))


# --- any column of any table, from the catalog --------------------------------------------------

_COLUMNS = """
SELECT a.attname::text, t.typname::text, t.typtype::text, NOT a.attnotnull, b.typname::text,
       format_type(a.atttypid, NULL)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = t.typbasetype
WHERE a.attrelid = %(table)s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
_OTHERS = {
    "uuid": "gen_random_uuid()",
    "text": "coalesce(t.{0}, '') || 'x'",
    "int2": "coalesce(t.{0}, 0) - 1",
    "int4": "coalesce(t.{0}, 0) + 1",
    "int8": "coalesce(t.{0}, 0) + 1",
    "float4": "coalesce(t.{0}, 0) + 0.5",
    "bool": "NOT t.{0}",
    "timestamptz": "coalesce(t.{0}, now()) - interval '1 minute'",
    "jsonb": """coalesce(t.{0}, '{{}}') || '{{"made_up": "x"}}'""",
    "bytea": "coalesce(t.{0}, '') || '\\x01'::bytea",
}


@dataclass(frozen=True)
class Change:
    """One way to change a row: a column set to something else, the row gone, or a new one."""

    table: str
    column: str
    value: str

    @property
    def noun(self) -> str:
        return noun(FAMILY, self.table.removeprefix("worlds."))

    @property
    def shown(self) -> bool:
        """Whether a verification can show it, by the list of what cannot be."""
        hidden = UNSHOWN.get(self.noun, frozenset())
        return hidden is not None and self.column not in hidden


def changes(hands: Tamperer) -> list[Change]:
    """Every single change of a row that the catalog knows of."""
    made: list[Change] = []
    for table in TABLES:
        made += [Change(table, "*", "gone"), Change(table, "*", "new")]
        for column, name, kind, nullable, base, whole in hands.run(
            _COLUMNS, table=table
        ).fetchall():
            if kind == "e":
                other = (f"(SELECT e FROM unnest(enum_range(NULL::{whole})) e WHERE "
                         f"e IS DISTINCT FROM t.{column} ORDER BY random() LIMIT 1)")  # fmt: skip
                made.append(Change(table, column, other))
            elif (base or name) in _OTHERS:
                made.append(Change(table, column, _OTHERS[base or name].format(column)))
            if nullable:
                made.append(Change(table, column, "NULL"))
    return made


def make_change(hands: Tamperer, change: Change, rng: random.Random) -> bool:
    """Make one change to one row; False where no row of the anchor allows it."""
    table, column, value = change.table, change.column, change.value
    told = " AND t.witness IS NOT NULL" if table.endswith("_reads") else ""
    if (change.noun, column, value) == ("memory", "provenance", "NULL"):
        told = " AND t.provenance <> '{}'"  # no provenance is written in both ways
    rows = hands.run(f"SELECT t.ctid::text FROM {table} t WHERE {_where(hands, table)}{told} "
                     "ORDER BY 1").fetchall()  # fmt: skip
    rng.shuffle(rows)
    for (row,) in rows[:5]:
        try:
            if value == "gone":
                done = hands.run(f"DELETE FROM {table} t WHERE ctid = '{row}'").rowcount
            elif value == "new":
                done = _copied(hands, table, row)
            else:
                done = hands.run(f"UPDATE {table} t SET {column} = {value} WHERE t.ctid = '{row}' "
                                 f"AND t.{column} IS DISTINCT FROM ({value})").rowcount  # fmt: skip
        except psycopg.Error:
            continue  # a constraint that holds without triggers too
        if done:
            return True
    return False


def _where(hands: Tamperer, table: str) -> str:
    return "true" if table.endswith(("_profiles", "_prints")) else hands.here


# What makes a copied row another one, by table; of the others a copy has a new id of its own.
_NEW_IDS = {"lineage": "source_id", "actions": "action_id", "receipts": "idempotency_key",
            "ledger": "position", "scopes": "scope_id"}  # fmt: skip


def _copied(hands: Tamperer, table: str, row: str) -> int:
    """The row once more, under another id."""
    columns = [(name, base or kind) for name, kind, _, _, base, _ in
               hands.run(_COLUMNS, table=table).fetchall()]  # fmt: skip
    called = noun(FAMILY, table.removeprefix("worlds."))
    own = _NEW_IDS.get(called, next((c for c, k in columns if k == "uuid" and c not in (
        "org_id", "anchor_id")), "kind"))  # fmt: skip
    kinds = dict(columns)
    given = {own: _OTHERS[kinds[own]].format(own)}
    if called == "scopes":
        given["session_id"] = "t.session_id"
    if called.endswith("_refs"):
        given["memory_id"] = "gen_random_uuid()"
    if called == "corroborations":
        given["source_ref"] = "gen_random_uuid()"
    values = ", ".join(given.get(name, f"t.{name}") for name, _ in columns)
    names = ", ".join(name for name, _ in columns)
    return hands.run(f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} t "
                     f"WHERE t.ctid = '{row}'").rowcount  # fmt: skip


def change_row(hands: Tamperer, rng: random.Random) -> Fault | None:
    """Any change that the catalog knows of and a verification can show."""
    change = rng.choice([one for one in changes(hands) if one.shown])
    if not make_change(hands, change, rng):
        return None
    return Fault(f"{change.noun}.{change.column} = {change.value}", frozenset(ProblemKind))


FAULTS: tuple[tuple[Make, int], ...] = (
    (flip_link, 40), (rewrite_link, 8), (delete_link, 10), (swap_links, 10), (insert_link, 8),
    (cut_tail, 10), (flip_anchor, 5), (change_entry, 16), (forge_lineage, 3), (loosen, 3),
    (change_row, 150),
)  # fmt: skip
