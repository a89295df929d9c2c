"""What is worked out from an entry's content when it is written: its salted hash, its link."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from idetic.ids import random_bytes
from idetic.model import Origin, Tier, Typology

# Made once: json.dumps with any option makes a new encoder for every call.
canonical_json = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode
plain_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def content_hash(body: str, envelope: Mapping[str, Any]) -> tuple[str, str]:
    """Salt and hash of what an entry says; the ledger keeps the hash for good.

    Salted: erasing the body must not leave a hash that anyone can guess a phone number from.
    """
    salt = random_bytes(16)
    content = f"{body}\x00{canonical_json(envelope)}"
    return salt.hex(), hashlib.sha256(salt + content.encode()).hexdigest()


def provenance_hash(salt: bytes, provenance: Mapping[str, Any]) -> str:
    """The salted hash of an entry's contextual provenance."""
    return hashlib.sha256(salt + canonical_json(dict(provenance)).encode()).hexdigest()


def link_detail(
    origin: Origin,
    trust: int,
    cell: tuple[Tier, Typology],
    provenance: Mapping[str, Any],
    salt: str,
    digest: str,
) -> dict[str, Any]:
    """What the link that adds an entry says about it; `verify` compares the entry with this.

    Provenance is the caller's text, and erasure must not find it in a chain that never changes:
    so it is hashed, with the entry's own salt.
    """
    told: dict[str, Any] = {
        "content_hash": digest,
        "origin": origin.value,
        "trust": trust,
        "cell": f"{cell[0].value}/{cell[1].value}",
    }
    if provenance:
        told["provenance_hash"] = provenance_hash(bytes.fromhex(salt), provenance)
    return told


def call_digest(chosen: Mapping[str, Any]) -> str:
    """The digest of everything a caller chose, which an idempotency key stands for."""
    return hashlib.sha256(canonical_json(chosen).encode()).hexdigest()
