"""What a chain's hashes are over, computed here from the rows alone.

The database has functions for the same. They are not asked: whoever can rewrite rows can replace a
function too. docs/reference/schema.md has the definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

# As jsonb prints scalars: a blank after each comma, no letter escaped.
_text = json.JSONEncoder(ensure_ascii=False).encode


class Link(NamedTuple):
    """One row of a ledger, each column as the text that goes into its hash."""

    position: int
    receipt_id: str
    at: str
    transition: str
    decision: str
    memory_id: str | None
    actor_kind: str
    actor: str
    reason: str
    state_from: str | None
    state_to: str | None
    detail: str
    prev_hash: bytes
    hash: bytes


def genesis_hash(family: str, anchor: Iterable[object]) -> bytes:
    """What a chain starts from: its family and its anchor, so that it cannot be moved."""
    values = [str(value) if isinstance(value, UUID) else value for value in anchor]
    return hashlib.sha256(_text([family, values]).encode()).digest()


def link_hash(prev: bytes, link: Link, position: int | None = None) -> bytes:
    """The hash that a link must carry after `prev`; at another position, if one is given."""
    stands = link.position if position is None else position
    words = _text([*link[3:11]])[1:-1]
    content = f"[{stands}, {_text(link.receipt_id)}, {link.at}, {words}, {link.detail}]"
    return hashlib.sha256(prev + content.encode()).digest()
