"""The ledger's hash chain, recomputed in Python from nothing but its rows.

This is what an auditor with an export would write. It shares no code with the product: it
follows the definition in the core migration: each hash is over the one before and
PostgreSQL's text form of a JSON array.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads

from idetic.store.family import Family

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ESCAPES = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"'}
_ESCAPES |= {"\\": "\\\\"}

Row = Mapping[str, Any]


def jsonb_text(value: object) -> str:
    """A value as `jsonb::text` prints it."""
    match value:
        case None | bool():
            text = json.dumps(value)
        case int():
            text = str(value)
        case Decimal():
            text = format(value, "f")
        case str() | UUID():
            text = _string(str(value))
        case Mapping():
            keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            text = "{" + ", ".join(f"{_string(k)}: {jsonb_text(value[k])}" for k in keys) + "}"
        case Sequence():
            text = "[" + ", ".join(map(jsonb_text, value)) + "]"
        case _:
            raise AssertionError(f"no jsonb form for a {type(value).__name__}")
    return text


def _string(text: str) -> str:
    return '"' + "".join(map(_character, text)) + '"'


def _character(char: str) -> str:
    return _ESCAPES.get(char) or (f"\\u{ord(char):04x}" if char < " " else char)


def genesis_hash(family: str, anchor: Sequence[object]) -> bytes:
    """What a chain starts from."""
    return hashlib.sha256(jsonb_text([family, list(anchor)]).encode()).digest()


def link_hash(prev: bytes, row: Row) -> bytes:
    """The hash that a ledger row must carry, given the one before it."""
    fields = [
        *(row["position"], row["receipt_id"], (row["at"] - _EPOCH) // timedelta(microseconds=1)),
        *(row["transition"], row["decision"], row["memory_id"], row["actor_kind"], row["actor"]),
        *(row["reason"], row["state_from"], row["state_to"], row["detail"]),
    ]
    return hashlib.sha256(prev + jsonb_text(fields).encode()).digest()


def narrow_key(anchor: Sequence[object]) -> UUID:
    """Under which the rows of an anchor stand, beside its tenant: a UUID of version 8."""
    made = hashlib.sha256("\x1f".join(map(str, anchor)).encode()).digest()[:16]
    number = int.from_bytes(made, "big") & ~(0xF000 << 64 | 0xC000 << 48)
    return UUID(int=number | 0x8000 << 64 | 0x8000 << 48)


@dataclass(frozen=True)
class Chain:
    """One anchor's ledger."""

    family: str
    anchor: tuple[object, ...]
    rows: tuple[Row, ...]

    def faults(self) -> list[str]:
        """Everything that is wrong with it: every link is checked, not only the ends."""
        found = []
        prev, at = genesis_hash(self.family, self.anchor), None
        unsaid: list[bytes] = []
        for expected, row in enumerate(self.rows, start=1):
            own = link_hash(row["prev_hash"], row)
            if row["position"] != expected:
                found.append(f"position {row['position']} stands where {expected} belongs")
            if row["prev_hash"] != prev:
                found.append(f"position {row['position']} does not follow the one before")
            if row["hash"] != own and row["reason"] == "[erased]":
                unsaid.append(own)
            elif row["hash"] != own:
                found.append(f"position {row['position']} was changed")
            if at is not None and row["at"] < at:
                found.append(f"position {row['position']} is earlier than the one before")
            prev, at = row["hash"], row["at"]
        if _witness(unsaid) != self._erasures_say():
            found.append("reasons were emptied, and no erasure says so of just these links")
        return found

    def _erasures_say(self) -> tuple[int, str]:
        """What the last erasure says is left of the links whose reasons were emptied."""
        told = [r["detail"]["unsaid"] for r in self.rows if "unsaid" in r["detail"]]
        return (told[-1]["links"], told[-1]["sha256"]) if told else _witness([])


def _witness(unsaid: Sequence[bytes]) -> tuple[int, str]:
    """How many links lost their reason, and one hash over what is left of them."""
    return len(unsaid), hashlib.sha256(b"".join(unsaid)).hexdigest()


def read_chain(
    connection: psycopg.Connection[Any], schema: str, family: str, anchor: Mapping[str, object]
) -> Chain:
    """One anchor's chain, as the connection's role sees it."""
    set_json_loads(partial(json.loads, parse_float=Decimal), connection)
    tenant, value = next(iter(anchor.items()))
    rows = sql.SQL("SELECT * FROM {} WHERE {} = {} AND anchor_id = {} ORDER BY position").format(
        sql.Identifier(schema, f"{family}_memory_ledger"),
        *(sql.Identifier(tenant), sql.Literal(value), sql.Literal(narrow_key([*anchor.values()]))),
    )
    cursor = connection.cursor(row_factory=dict_row)
    cursor.execute(rows)
    return Chain(f"{schema}.{family}", tuple(anchor.values()), tuple(cursor.fetchall()))


def chain_faults(admin_dsn: str, agent: Any, **anchor: object) -> list[str]:
    """The faults of one anchor's chain in a database; an empty list is a chain that verifies."""
    family = Family(agent.spec)
    with psycopg.connect(admin_dsn) as connection:
        return read_chain(connection, family.schema, family.name, anchor).faults()
