"""What is worked out from an entry's content when it is written: its salted hash, its link."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from idetic.ids import random_bytes
from idetic.model import Origin, Tier, Typology

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Half of a SHA-256: nobody finds another row with the same in it.
_DIGITS = 32
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


def notes_hash(salt: bytes, notes: str) -> str:
    """The salted hash of a note about an entry."""
    return hashlib.sha256(salt + notes.encode()).hexdigest()


def row_digest(kind: str, values: Mapping[str, Any]) -> str:
    """The digest of a row beside an entry, as the link that makes the row carries it.

    Over plain values: moments in microseconds of UTC, ids as text. Whoever verifies makes it anew
    from the row.
    """
    told = {name: _plain(value) for name, value in values.items()}
    return hashlib.sha256(f"{kind}\x00{canonical_json(told)}".encode()).hexdigest()[:_DIGITS]


def _plain(value: Any) -> Any:
    """A value as it enters a digest, the same from Python and from a row of the database."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, UUID):
        return str(value)
    return dict(value) if isinstance(value, Mapping) else value


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
        "origin": origin,
        "trust": trust,
        "cell": f"{cell[0]}/{cell[1]}",
    }
    if provenance:
        told["provenance_hash"] = provenance_hash(bytes.fromhex(salt), provenance)
    return told


def key_hash(salt: bytes, key: str, digest: str) -> str:
    """The salted hash of an idempotency key and its request, for the link they stand for."""
    return hashlib.sha256(salt + key.encode() + bytes.fromhex(digest)).hexdigest()


def placed(version: int, session: UUID | None, interaction: UUID | None) -> dict[str, Any]:
    """Where an entry is written, and by which version of the spec, for the link that adds it."""
    told: dict[str, Any] = {"spec": version}
    if session is not None:
        told["session"] = str(session)
    if interaction is not None:
        told["interaction"] = str(interaction)
    return told


def call_digest(chosen: Mapping[str, Any]) -> str:
    """The digest of everything a caller chose, which an idempotency key stands for."""
    return hashlib.sha256(canonical_json(chosen).encode()).hexdigest()
